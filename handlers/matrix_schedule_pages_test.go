package handlers_test

import (
	"net/http"

	"github.com/flowforge/flowforge/access/auth"
)

// schedulePageRows are about the pages of a schedule of another person.
func schedulePageRows() []row {
	const moved, absent, invalid = http.StatusSeeOther, http.StatusNotFound, http.StatusUnprocessableEntity
	const every = "schedule.name=changed&schedule.kind=every&schedule.every=6h&schedule.timezone=UTC"
	return []row{
		page("/schedules", "/schedules", auth.ExecutionRead), page("/schedules/{schedule}", "/schedules/{schedule}", auth.ExecutionRead).object(),
		page("/schedules/new", "/schedules/new", auth.WorkflowRead), page("/schedules/calendar", "/schedules/calendar", auth.ExecutionRead),
		page("/schedules/calendars", "/schedules/calendars", auth.ExecutionRead), page("/schedules/calendars/new", "/schedules/calendars/new", auth.ExecutionCancelAny),
		{route: "GET /schedules/calendars/{calendar}", path: "/schedules/calendars/none", action: auth.ExecutionRead, place: project, ok: absent},
		form("/schedules/calendars", "/schedules/calendars", "zone=UTC", auth.ExecutionCancelAny, invalid),
		form("/schedules/calendars/{calendar}", "/schedules/calendars/none", "zone=UTC", auth.ExecutionRead, absent),
		form("/schedules/calendars/{calendar}/delete", "/schedules/calendars/none/delete", "", auth.ExecutionRead, absent),
		page("/schedules/{schedule}/edit", "/schedules/{schedule}/edit", auth.ExecutionCancelAny).object(),
		page("/workflows/{name}/schedule", "/workflows/{flow}/schedule", auth.WorkflowRead).object(),
		form("/workflows/{name}/schedule", "/workflows/{flow}/schedule", "version=1.0.0&schedule.kind=cron", auth.ExecutionLaunch, invalid).object(),
		form("/schedules/{schedule}/edit", "/schedules/{schedule}/edit", every, auth.ExecutionCancelAny, moved).object(),
		form("/schedules/bulk", "/schedules/bulk", "action=pause&schedule={schedule}", auth.ExecutionCancelAny, moved).object(),
		form("/schedules/{schedule}/pause", "/schedules/{schedule}/pause", "back=list", auth.ExecutionCancelAny, moved).object(),
		form("/schedules/{schedule}/resume", "/schedules/{schedule}/resume", "missed=catch_up", auth.ExecutionCancelAny, moved).object(),
		form("/schedules/{schedule}/run", "/schedules/{schedule}/run", "", auth.ExecutionCancelAny, moved).object(),
		form("/schedules/{schedule}/delete", "/schedules/01900000-0000-7000-8000-00000000dead/delete", "", "", absent),
	}
}
