package handlers_test

import (
	"net/http"

	"github.com/flowforge/flowforge/access/auth"
)

// waitingRows are about waiting nodes and their reasons.
func waitingRows() []row {
	const scheduler = "/flowforge.v1.SchedulerService/"
	call := func(method, body string, action auth.Action, ok int) row {
		return row{
			route: "POST " + scheduler + "*", path: scheduler + method, media: "application/json", body: body,
			action: action, place: project, ok: ok, byToken: true,
		}
	}
	return []row{
		page("/waiting", "/waiting", auth.ExecutionRead), page("/waiting/stream", "/waiting/stream", auth.ExecutionRead),
		page("/waiting", "/waiting?place={project}", auth.ExecutionRead).object(),
		page("/executions/{id}/nodes/{node}/stream", "/executions/{execution}/nodes/wait/stream", auth.ExecutionRead).object(),
		read("/queue", "/queue", auth.ExecutionRead),
		read("/queue", "/queue?place={project}", auth.ExecutionRead).object(),
		read("/executions/{execution_id}/why", "/executions/{execution}/why", auth.ExecutionRead).object(),
		read("/executions/{execution_id}/nodes/{node}/why", "/executions/{execution}/nodes/wait/why", auth.ExecutionRead).object(),
		read("/executions/{execution_id}/nodes/{node}/attempts", "/executions/{execution}/nodes/wait/attempts", auth.ExecutionRead).object(),
		read("/executions/{execution_id}/nodes/{node}/inputs", "/executions/{execution}/nodes/wait/inputs", auth.ExecutionRead).object(),
		read("/executions/{execution_id}/usage", "/executions/{execution}/usage", auth.ExecutionRead).object(),
		write("POST", "/executions", "/executions?dry_run=true", `{"workflow": "{flow id}"}`, auth.ExecutionLaunch, http.StatusOK).object(),
		call("GetQueueStatus", `{}`, auth.ExecutionRead, http.StatusOK),
		call("ScheduleTask", `{"task_id": "{execution}.0"}`, auth.ExecutionCancelAny, http.StatusOK).object(), // of another user
	}
}
