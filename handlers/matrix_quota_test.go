package handlers_test

import (
	"net/http"
	"slices"

	"github.com/flowforge/flowforge/access/auth"
)

// quotaMatrix are the rows of limits. Users who may read a level read its limits; changes need a
// permission at the level above.
func quotaMatrix() []row {
	const ok, invalid, absent = http.StatusOK, http.StatusUnprocessableEntity, http.StatusNotFound
	rows := []row{
		page("/admin/quotas", "/admin/quotas", auth.QuotaRead), page("/admin/quotas.csv", "/admin/quotas.csv", auth.QuotaRead),
		page("/admin/quotas/stream", "/admin/quotas/stream", auth.QuotaRead),
		page("/admin/cluster", "/admin/cluster", auth.QuotaRead).at(installation).object(),
		page("/admin/cluster/stream", "/admin/cluster/stream", auth.QuotaRead).at(installation).object(),
		page("/teams/mine", "/teams/mine", auth.QuotaRead).answers(http.StatusSeeOther),
		page("/teams/{id}", "/teams/{project}", auth.QuotaRead).object(),
		page("/teams/{id}/stream", "/teams/{project}/stream", auth.QuotaRead).object(),
		form("/admin/quotas/{id}", "/admin/quotas/{project}", "do=save&weight=none", auth.QuotaWrite, invalid).at(team).seenAt(project).object(),
		form("/admin/quotas/{id}/preview", "/admin/quotas/{project}/preview", "weight=2", auth.QuotaWrite, ok).at(team).seenAt(project).object(),
		read("/quotas", "/quotas", auth.QuotaRead), read("/quota", "/quota", auth.QuotaRead).at(installation).object(),
	}
	edit := func(path, at string, here, above level) []row {
		may := auth.QuotaWrite
		if path == "/departments/{id}" { // the fixture has none, and a team is none: users who may read the team see that
			may, above = auth.QuotaRead, here
		}
		r := []row{
			read(path+"/quota", at+"/quota", auth.QuotaRead).at(here).object(),
			write("PUT", path+"/quota", at+"/quota", `{"limit": {"litres": 1}}`, may, invalid).at(above).seenAt(here).object(),
			write("POST", path+"/quota/preview", at+"/quota/preview", `{}`, may, ok).at(above).seenAt(here).object(),
		}
		if may == auth.QuotaRead {
			for i := range r {
				r[i] = r[i].answers(absent)
			}
		}
		return r
	}
	return slices.Concat(rows,
		edit("/tenants/{id}", "/tenants/{tenant}", tenant, installation), edit("/departments/{id}", "/departments/{team}", team, tenant),
		edit("/teams/{id}", "/teams/{team}", team, tenant), edit("/projects/{id}", "/projects/{project}", project, team),
		[]row{
			write("PUT", "/quota", "/quota", `{"limit": {"litres": 1}}`, auth.QuotaWrite, invalid).at(installation).object(),
			write("POST", "/quota/preview", "/quota/preview", `{}`, auth.QuotaWrite, ok).at(installation).object(),
		})
}
