package handlers_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/metaflow"
)

// sharedFlow registers the flow Shared in each of two projects.
func (f *matrixFixture) sharedFlow(t *testing.T) {
	t.Helper()
	for _, name := range []string{"developer", "other tenant", "key of an administrator for another tenant's project"} {
		got := f.callers[name].post(t, "/metaflow/flows/Shared", "{}")
		require.Contains(t, []int{http.StatusOK, http.StatusConflict}, got.status, got.body)
	}
}

// metaflowRun registers a flow with a run, a task and an artifact, and returns the flow.
func metaflowRun(t *testing.T, b *testBundle, prefix string) string {
	t.Helper()
	records, flow := b.deps.Metaflow, prefix+"Flow"
	_, err := records.CreateFlow(b.ctx, flow, nil)
	require.NoError(t, err)
	_, err = records.CreateRun(b.ctx, metaflow.NewRun{FlowID: flow, RunID: "matrix", UserName: "mia", SystemTags: []string{"user:mia", "metaflow_version:2.19.0"}})
	require.NoError(t, err)
	_, err = records.CreateStep(b.ctx, flow, "matrix", "start", "mia")
	require.NoError(t, err)
	_, err = records.CreateTask(b.ctx, flow, "matrix", "start", "t", "mia")
	require.NoError(t, err)
	_, err = records.AddArtifacts(b.ctx, flow, "matrix", "start", "t", []metaflow.NewArtifact{{Name: "x", Location: "s3://b/x"}})
	require.NoError(t, err)
	return flow
}

// metaflowPages are the pages of the same records.
func metaflowPages() []row {
	const list = "/executions/metaflow"
	const run, path = list + "/{flow}/{run}", list + "/{metaflow}/matrix"
	tags := row{route: "POST " + run + "/tags", path: path + "/tags", media: "application/x-www-form-urlencoded", body: "add=seen", action: auth.ExecutionLaunch, place: project, ok: http.StatusSeeOther, byToken: true}.object()
	// The datastore of the fixture has no files.
	absent := func(route, path string) row {
		r := page(route, path, auth.ExecutionRead)
		r.ok = http.StatusNotFound
		return r
	}
	return []row{
		tags, page(run, path, auth.ExecutionRead).object(), page(run+"/stream", path+"/stream", auth.ExecutionRead).object(),
		page(run+"/{step}/{task}", path+"/start/t", auth.ExecutionRead).object(), page(run+"/{step}/{task}/stream", path+"/start/t/stream", auth.ExecutionRead).object(),
		absent(run+"/{step}/{task}/log", path+"/start/t/log"), absent(run+"/{step}/{task}/artifacts/{name}", path+"/start/t/artifacts/x"),
		absent(run+"/{step}/{task}/cards/{file}", path+"/start/t/cards/default-1.html"),
		page(list+"/datastore", list+"/datastore", auth.ExecutionRead),
		{route: "POST " + list + "/datastore", path: list + "/datastore", media: "application/x-www-form-urlencoded", body: "kind=local", action: auth.TenancyWrite, place: project, ok: http.StatusSeeOther, byToken: true},
		page(list, list, auth.ExecutionRead), page(list+"/stream", list+"/stream?top=0", auth.ExecutionRead),
	}
}

// datastoreRows are the API of the datastore of Metaflow.
func datastoreRows() []row {
	const path = "/api/v1/metaflow/datastore"
	send := func(method, route string) row {
		return row{route: method + " " + route, path: route, media: "application/json", body: `{"kind": "local"}`, action: auth.TenancyWrite, place: project, ok: http.StatusOK, byToken: true}
	}
	return []row{
		{route: "GET " + path, path: path, action: auth.ExecutionRead, place: project, ok: http.StatusOK, byToken: true},
		send("PUT", path), send("POST", path+"/test"),
	}
}

// metaflowRows are what Metaflow's client calls. Attempts call it with their tokens, but that of the
// fixture runs no flow.
func metaflowRows() []row {
	rows := metaflowClientRows()
	for i := range rows {
		rows[i].ofTask = http.StatusForbidden
	}
	return rows
}

// metaflowClientRows are its requests. Another tenant's caller sees none of the records.
func metaflowClientRows() []row {
	const prefix, root = "/metaflow", "/metaflow/flows/{metaflow}"
	const flow, run, step, task = "/flows/{flow}", "/runs/{run}", "/steps/{step}", "/tasks/{task}"
	get := func(route, path string) row {
		return row{route: "GET " + prefix + flow + route, path: root + path, action: auth.ExecutionRead, place: project, ok: http.StatusOK, byToken: true}.object()
	}
	send := func(method, route, path, body string, ok int) row {
		return row{route: method + " " + prefix + flow + route, path: root + path, media: "application/json", body: body, action: auth.ExecutionLaunch, place: project, ok: ok, byToken: true}.object()
	}
	open := func(path string) row {
		return row{route: "GET " + prefix + path, path: prefix + path, guard: none, ok: http.StatusOK, byToken: true}
	}
	flows := get("", "")
	flows.route, flows.path, flows.names = "GET /metaflow/flows", "/metaflow/flows", false
	shared := send("POST", "", "", "{}", http.StatusConflict)
	shared.path, shared.names = "/metaflow/flows/Shared", false
	metadata := send("POST", run+step+task+"/metadata", "/runs/matrix/steps/start/tasks/t/metadata", `[{"field_name": "user", "value": "mia", "type": "user", "user_name": "mia"}]`, http.StatusOK)
	metadata.missing = http.StatusBadRequest // as in Metaflow's own service
	rows := []row{
		open("/ping"), open("/version"), open("/healthcheck"), flows,
		get("", ""), get("/runs", "/runs"), get(run, "/runs/matrix"), get(run+"/metadata", "/runs/matrix/metadata"), get(run+"/artifacts", "/runs/matrix/artifacts"),
		get(run+"/steps", "/runs/matrix/steps"), get(run+step, "/runs/matrix/steps/start"), get(run+step+"/tasks", "/runs/matrix/steps/start/tasks"),
		get(run+step+"/artifacts", "/runs/matrix/steps/start/artifacts"), get(run+step+"/filtered_tasks", "/runs/matrix/steps/start/filtered_tasks?pattern=x"),
	}
	const t, tasks = run + step + task, "/runs/matrix/steps/start/tasks/t"
	rows = append(rows, metaflowRecordRows()...)
	return append(rows,
		get(t, tasks), get(t+"/metadata", tasks+"/metadata"), get(t+"/artifacts", tasks+"/artifacts"), get(t+"/attempt/{attempt}/artifacts", tasks+"/attempt/0/artifacts"),
		get(t+"/artifacts/{name}", tasks+"/artifacts/x"), get(t+"/artifacts/{name}/attempt/{attempt}", tasks+"/artifacts/x/attempt/0"),
		send("POST", "/run", "/run", `{"run_number": "matrix", "user_name": "mia"}`, http.StatusConflict),
		send("POST", run+"/heartbeat", "/runs/matrix/heartbeat", "{}", http.StatusOK),
		send("PATCH", run+"/tag/mutate", "/runs/matrix/tag/mutate", `{"tags_to_add": ["a"], "tags_to_remove": []}`, http.StatusOK),
		send("POST", run+step+"/step", "/runs/matrix/steps/start/step", `{"user_name": "mia"}`, http.StatusConflict),
		send("POST", run+step+"/task", "/runs/matrix/steps/start/task", `{"task_id": "t", "user_name": "mia"}`, http.StatusConflict),
		send("POST", t+"/heartbeat", tasks+"/heartbeat", "{}", http.StatusOK),
		shared, metadata,
		send("POST", t+"/artifact", tasks+"/artifact", `[]`, http.StatusOK),
	)
}

// metaflowRecordRows are the routes of the design document, for records that do not exist: one
// caller's numbers are another's.
func metaflowRecordRows() []row {
	const none = "999999999"
	get := func(route, path string, ok int) row {
		return row{route: "GET /metaflow" + route, path: "/metaflow" + path, action: auth.ExecutionRead, place: project, ok: ok, byToken: true}
	}
	send := func(method, route, path, body string, ok int) row {
		return row{route: method + " /metaflow" + route, path: "/metaflow" + path, media: "application/json", body: body, action: auth.ExecutionLaunch, place: project, ok: ok, byToken: true}
	}
	const missing, run, task = http.StatusNotFound, "/runs/{run}", "/tasks/{task}"
	return []row{
		get("/search", "/search?flow=none", http.StatusOK), get("/flowforge/reused", "/flowforge/reused", http.StatusForbidden), get(run, "/runs/"+none, missing), get(run+"/steps", "/runs/"+none+"/steps", missing),
		get(run+"/steps/{step}", "/runs/"+none+"/steps/a", missing), get(run+"/steps/{step}/tasks", "/runs/"+none+"/steps/a/tasks", missing),
		get(run+"/artifacts", "/runs/"+none+"/artifacts", missing), get(task, "/tasks/"+none, missing), get(task+"/artifacts", "/tasks/"+none+"/artifacts", missing),
		get("/artifacts/{artifact}", "/artifacts/art_"+none, missing), get("/artifacts/by-hash/{sha256}", "/artifacts/by-hash/00", missing),
		send("POST", "/runs", "/runs", `{"flow_id": "Anyone"}`, http.StatusOK), send("POST", "/tasks", "/tasks", `{"run_id": "`+none+`", "step_name": "a"}`, missing),
		send("POST", "/artifacts", "/artifacts", `{"task_id": "`+none+`", "name": "a", "sha256": "abcd1234"}`, missing),
		send("PUT", run, "/runs/"+none, `{"status": "running"}`, missing), send("PUT", task, "/tasks/"+none, `{"status": "running"}`, missing),
	}
}
