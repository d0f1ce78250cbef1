package handlers_test

import (
	"net/http"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// hidden returns the value of a hidden control of a page.
func hidden(t *testing.T, body, name string) string {
	t.Helper()
	found := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(body)
	require.NotNil(t, found, "no control %s in %s", name, body)
	return found[1]
}

// TestHolidayCalendarsAreEditedInTheBrowser: a form creates a calendar, an older form does not
// overwrite a newer one unnoticed, and a calendar in use is not deleted.
func TestHolidayCalendarsAreEditedInTheBrowser(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const list = "/schedules/calendars"
	require.Contains(t, b.admin.get(t, list).body, "No calendars yet")
	refused := b.admin.submit(t, list, "zone", "Europe/Berlin", "name", "germany", "weekend", "SUN", "holidays", "2026-12-25 Christmas\nEaster", "blackouts", "soon")
	require.Equal(t, http.StatusUnprocessableEntity, refused.status)
	for _, text := range []string{"&#34;Easter&#34; is not a holiday", "&#34;soon&#34; is not a blackout", "2026-12-25 Christmas\nEaster", "Europe/Berlin"} {
		require.Contains(t, refused.body, text)
	}
	created := b.admin.submit(t, list, "zone", "Europe/Berlin", "name", "germany", "weekend", "SUN", "holidays", "2026-12-25 Christmas", "blackouts", "2126-12-29 18:00 - 2127-01-02 08:00 Change freeze")
	require.Equal(t, http.StatusSeeOther, created.status, created.body)
	require.Contains(t, b.admin.get(t, created.header.Get("Location")).body, "The calendar was saved.")
	api := b.admin.get(t, "/api/v1/calendars/germany").object(t, http.StatusOK)
	require.Equal(t, []any{"SUN"}, api["weekend"])
	require.Equal(t, "2126-12-29T17:00:00Z", api["blackouts"].([]any)[0].(map[string]any)["starts_at"])
	again := b.admin.submit(t, list, "zone", "UTC", "name", "Germany")
	require.Equal(t, http.StatusUnprocessableEntity, again.status)
	require.Contains(t, again.body, "There is already a calendar")

	page := list + "/" + api["id"].(string)
	form := b.admin.get(t, page).body
	require.Contains(t, form, "2126-12-29 17:00 - 2127-01-02 07:00 Change freeze") // in UTC: no zone is known
	old := hidden(t, form, "based")
	first := b.admin.submit(t, page, "based", old, "zone", "UTC", "holidays", "2026-12-26")
	require.Equal(t, http.StatusSeeOther, first.status, first.body)
	second := b.admin.submit(t, page, "based", old, "zone", "UTC", "holidays", "2026-12-27")
	require.Equal(t, http.StatusConflict, second.status)
	require.Contains(t, second.body, "Another user has changed the calendar in the meantime.")
	require.Contains(t, second.body, "2026-12-27")
	third := b.admin.submit(t, page, "based", hidden(t, second.body, "based"), "zone", "UTC", "holidays", "2026-12-27")
	require.Equal(t, http.StatusSeeOther, third.status, third.body)
	require.NotContains(t, b.member.get(t, page).body, "Save changes")
	require.Equal(t, http.StatusForbidden, b.member.submit(t, page, "based", old, "zone", "UTC").status)

	b.register(t, "{name: nightly.load, version: 1.0.0, operators: [{name: one, type: noop}]}")
	scheduled := b.admin.post(t, "/api/v1/schedules", `{"workflow": "nightly.load", "name": "nightly", "cron": "0 3 * * *", "calendar": "germany"}`)
	require.Equal(t, http.StatusCreated, scheduled.status, scheduled.body)
	kept := b.admin.submit(t, page+"/delete")
	require.Equal(t, http.StatusConflict, kept.status)
	require.Contains(t, kept.body, "The schedule nightly uses the calendar germany.")
	id := scheduled.object(t, http.StatusCreated)["id"].(string)
	require.Contains(t, kept.body, "/schedules/"+id)
	require.Equal(t, http.StatusNoContent, b.admin.send(t, http.MethodDelete, "/api/v1/schedules/"+id, "", "").status)
	require.Equal(t, http.StatusSeeOther, b.admin.submit(t, page+"/delete").status)
	require.Equal(t, http.StatusNotFound, b.admin.get(t, page).status)
}
