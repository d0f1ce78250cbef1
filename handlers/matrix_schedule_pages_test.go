package handlers_test

import (
	"net/http"

	"github.com/flowforge/flowforge/access/auth"
)

// schedulePageRows are about the pages of a schedule of another person.
func schedulePageRows() []row {
	const moved, absent = http.StatusSeeOther, http.StatusNotFound
	return []row{
		page("/schedules", "/schedules", auth.ExecutionRead), page("/schedules/{schedule}", "/schedules/{schedule}", auth.ExecutionRead).object(),
		form("/schedules/{schedule}/pause", "/schedules/{schedule}/pause", "back=list", auth.ExecutionCancelAny, moved).object(),
		form("/schedules/{schedule}/resume", "/schedules/{schedule}/resume", "missed=catch_up", auth.ExecutionCancelAny, moved).object(),
		form("/schedules/{schedule}/run", "/schedules/{schedule}/run", "", auth.ExecutionCancelAny, moved).object(),
		form("/schedules/{schedule}/delete", "/schedules/01900000-0000-7000-8000-00000000dead/delete", "", "", absent),
	}
}
