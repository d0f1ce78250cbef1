package handlers_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/schedule"
)

// scheduleRows are about a schedule of another person, which no process fires.
func scheduleRows() []row {
	const ok, absent, invalid = http.StatusOK, http.StatusNotFound, http.StatusUnprocessableEntity
	const one = "/schedules/{schedule_id}"
	return []row{
		read("/schedules", "/schedules", auth.ExecutionRead), read(one, "/schedules/{schedule}", auth.ExecutionRead).object(),
		read(one+"/occurrences", "/schedules/{schedule}/occurrences", auth.ExecutionRead).object(),
		write("POST", "/schedules", "/schedules", `{"workflow": "{flow}", "name": "none"}`, auth.ExecutionLaunch, invalid).object(),
		write("POST", "/schedules/preview", "/schedules/preview", `{"cron": "@daily"}`, auth.ExecutionRead, ok),
		write("PUT", one, "/schedules/{schedule}", `{"workflow": "{flow}", "name": "none"}`, auth.ExecutionCancelAny, invalid).object(),
		write("POST", one+"/pause", "/schedules/{schedule}/pause", "", auth.ExecutionCancelAny, ok).object(),
		write("POST", one+"/resume", "/schedules/{schedule}/resume", `{}`, auth.ExecutionCancelAny, ok).object(),
		write("POST", one+"/run", "/schedules/{schedule}/run", "", auth.ExecutionCancelAny, ok).object(),
		write("PUT", "/workflows/{workflow_id}/schedules", "/workflows/{flow}/schedules", `{"schedules": []}`, auth.WorkflowWrite, ok).object(),
		read("/jobs", "/jobs", auth.ExecutionRead), read("/jobs/{job_id}", "/jobs/{schedule}", auth.ExecutionRead).object(),
		write("POST", "/jobs", "/jobs", `{"workflow": "{flow}", "name": "none", "schedule": "x"}`, auth.ExecutionLaunch, invalid).object(),
		write("DELETE", "/jobs/{job_id}", "/jobs/01900000-0000-7000-8000-00000000dead", "", "", absent),
		read("/calendars", "/calendars", auth.ExecutionRead), write("GET", "/calendars/{calendar}", "/calendars/none", "", auth.ExecutionRead, absent),
		write("PUT", "/calendars/{calendar}", "/calendars/matrix", `{"holidays": [{"date": "2027-01-01"}]}`, auth.ExecutionCancelAny, ok),
		write("DELETE", "/calendars/{calendar}", "/calendars/none", "", auth.ExecutionCancelAny, absent),
		write("DELETE", one, "/schedules/01900000-0000-7000-8000-00000000dead", "", "", absent),
	}
}

// matrixSchedule creates a schedule of the caller of ctx.
func matrixSchedule(ctx context.Context, t *testing.T, b *testBundle, workflow, name string) string {
	t.Helper()
	sc, err := b.deps.Schedules.Create(ctx, schedule.Spec{Workflow: workflow, Name: name, When: schedule.When{Expressions: []string{"@yearly"}}, Priority: -1})
	require.NoError(t, err, "%v", apperr.FieldsOf(err))
	return sc.ID.String()
}
