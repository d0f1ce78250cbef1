package handlers_test

import (
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
)

// tenancyRows are about the places of the local tenant, its members, the users
// of the installation and the audit log. Values that are refused show who may send
// them without a trace for the rows after.
func tenancyRows() []row {
	return slices.Concat(
		placeRows("/tenants", auth.LocalTenant, tenant, installation),
		placeRows("/teams", auth.LocalTeam, team, tenant),
		placeRows("/projects", auth.LocalProject, project, team),
		departmentRows(), serviceAccountRows(), userRows(), adminRows(), adminNodeRows(),
	)
}

const nobodyID = "01900000-0000-7000-8000-0000000000ff"

// placeRows are about a place at a level, whose own changes are asked of the
// level above.
func placeRows(path string, id uuid.UUID, here, above level) []row {
	const ok, absent, invalid, conflict = http.StatusOK, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusConflict
	one, at := path+"/{id}", path+"/"+id.String()
	parent := map[level]string{installation: "", tenant: `"parent_id": "` + auth.LocalTenant.String() + `", `, team: `"parent_id": "` + auth.LocalTeam.String() + `", `}[above]
	rows := []row{
		read(path, path, ""), read(one, at, auth.TenancyRead).at(here).object(),
		write("POST", path, path, `{`+parent+`"name": "a/b"}`, auth.TenancyWrite, invalid).at(above).object(),
		write("PATCH", one, at, `{}`, auth.TenancyWrite, ok).at(above).seenAt(here).object(),
		write("POST", one+"/archive", at+"/archive", "", auth.TenancyWrite, conflict).at(above).seenAt(here).object(),
		write("POST", one+"/restore", at+"/restore", "{}", auth.TenancyWrite, ok).at(above).seenAt(here).object(),
		read(one+"/members", at+"/members", auth.MemberRead).at(here).object(),
		read(one+"/group-roles", at+"/group-roles", auth.MemberRead).at(here).object(),
	}
	for _, r := range []row{
		write("POST", one+"/members", at+"/members", `{"user_id": "`+nobodyID+`", "role": "Viewer"}`, auth.MemberWrite, invalid),
		write("PATCH", one+"/members/{member_id}", at+"/members/"+nobodyID, `{"role": "Viewer"}`, auth.MemberWrite, absent),
		write("DELETE", one+"/members/{member_id}", at+"/members/"+nobodyID, "", auth.MemberWrite, absent),
		write("POST", one+"/group-roles", at+"/group-roles", `{"provider": " ", "group": " ", "role": "Viewer"}`, auth.MemberWrite, invalid),
		write("DELETE", one+"/group-roles/{group_role_id}", at+"/group-roles/"+nobodyID, "", auth.MemberWrite, absent),
	} {
		rows = append(rows, r.at(here).object())
	}
	return rows
}

// departmentRows: the fixture has no department, and a team is none.
func departmentRows() []row {
	const absent = http.StatusNotFound
	at := "/departments/" + auth.LocalTeam.String()
	rows := []row{
		read("/departments", "/departments", ""),
		write("POST", "/departments", "/departments", `{"parent_id": "`+auth.LocalTenant.String()+`", "name": "a/b"}`, auth.TenancyWrite, http.StatusUnprocessableEntity).at(tenant).object(),
	}
	for _, r := range []row{
		read("", "", ""), read("/members", "/members", ""), read("/group-roles", "/group-roles", ""),
		write("PATCH", "", "", "{}", "", absent), write("POST", "/archive", "/archive", "", "", absent), write("POST", "/restore", "/restore", "", "", absent),
		write("POST", "/members", "/members", `{"role": "Viewer"}`, "", absent),
		write("PATCH", "/members/{member_id}", "/members/"+nobodyID, `{"role": "Viewer"}`, "", absent),
		write("DELETE", "/members/{member_id}", "/members/"+nobodyID, "", "", absent),
		write("POST", "/group-roles", "/group-roles", `{"provider": "a", "group": "b", "role": "Viewer"}`, "", absent),
		write("DELETE", "/group-roles/{group_role_id}", "/group-roles/"+nobodyID, "", "", absent),
	} {
		const prefix = "/api/v1"
		method, route := r.method(), r.route[len(r.method())+1+len(prefix):]
		r.route = method + " " + prefix + "/departments/{id}" + route
		r.path = prefix + at + r.path[len(prefix):]
		r.ok = absent
		rows = append(rows, r)
	}
	return rows
}

func serviceAccountRows() []row {
	const path = "/projects/{id}/service-accounts"
	at := "/projects/" + auth.LocalProject.String() + "/service-accounts"
	return []row{
		read(path, at, auth.MemberRead).object(),
		write("POST", path, at, `{"name": "a/b", "role": "Viewer"}`, auth.MemberWrite, http.StatusUnprocessableEntity).object(),
		write("POST", path+"/{account_id}/disable", at+"/"+nobodyID+"/disable", "", auth.MemberWrite, http.StatusNotFound).object(),
		write("POST", path+"/{account_id}/enable", at+"/"+nobodyID+"/enable", "", auth.MemberWrite, http.StatusNotFound).object(),
	}
}

// userRows are about users and the audit log.
func userRows() []row {
	const conflict = http.StatusConflict
	me := auth.LocalAdmin.String()
	rows := []row{
		read("/audit", "/audit?action=team", auth.AuditRead).at(project), read("/audit/export", "/audit/export?format=csv", auth.AuditRead).at(project),
		page("/admin/audit", "/admin/audit?actor=admin", auth.AuditRead).at(project),
		page("/admin/audit/export", "/admin/audit/export?format=jsonl", auth.AuditRead).at(project),
	}
	for _, r := range []row{
		read("/users", "/users", auth.Administer), read("/users/{user_id}", "/users/"+me, auth.Administer),
		write("PATCH", "/users/{user_id}", "/users/"+me, `{"disabled": true}`, auth.Administer, conflict),
		page("/admin/users", "/admin/users?q=a", auth.Administer), page("/admin/users/{id}", "/admin/users/"+me, auth.Administer),
		form("/admin/users/{id}/{change}", "/admin/users/"+me+"/disable", "", auth.Administer, conflict),
	} {
		rows = append(rows, r.at(installation))
	}
	return rows
}

// adminRows are the tree and what makes something in it.
func adminRows() []row {
	return []row{
		page("/admin", "/admin", ""),
		form("/admin/nodes", "/admin/nodes", "kind=project&name=&parent="+auth.LocalTeam.String(), auth.TenancyWrite, http.StatusUnprocessableEntity).at(team).object(),
	}
}

// adminNodeRows are the forms of the page of the local project.
func adminNodeRows() []row {
	const moved, absent, invalid, conflict = http.StatusSeeOther, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusConflict
	const path = "/admin/nodes/{id}"
	at := "/admin/nodes/" + auth.LocalProject.String()
	return []row{
		page(path, at, auth.TenancyRead).object(),
		form(path, at, "name=", auth.TenancyWrite, invalid).at(team).seenAt(project).object(),
		form(path+"/archive", at+"/archive", "confirm=yes", auth.TenancyWrite, conflict).at(team).seenAt(project).object(),
		form(path+"/restore", at+"/restore", "", auth.TenancyWrite, moved).at(team).seenAt(project).object(),
		form(path+"/members", at+"/members", "email=&role=Viewer", auth.MemberWrite, invalid).object(),
		form(path+"/members/{member}", at+"/members/"+nobodyID, "role=Viewer", auth.MemberWrite, absent).object(),
		form(path+"/members/{member}/remove", at+"/members/"+nobodyID+"/remove", "", auth.MemberWrite, absent).object(),
		form(path+"/groups", at+"/groups", "provider=&group=&role=Viewer", auth.MemberWrite, invalid).object(),
		form(path+"/groups/{group}/remove", at+"/groups/"+nobodyID+"/remove", "", auth.MemberWrite, absent).object(),
		form(path+"/accounts", at+"/accounts", "name=&role=Viewer", auth.MemberWrite, invalid).object(),
		form(path+"/accounts/{account}/disable", at+"/accounts/"+nobodyID+"/disable", "", auth.MemberWrite, absent).object(),
		form(path+"/accounts/{account}/enable", at+"/accounts/"+nobodyID+"/enable", "", auth.MemberWrite, absent).object(),
	}
}
