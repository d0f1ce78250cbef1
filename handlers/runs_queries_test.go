package handlers_test

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/argo"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers"
)

// TestRunsCostTheSameQueries: the number of queries of a request depends neither on the number
// of tasks of an execution nor on the number of listed executions.
func TestRunsCostTheSameQueries(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.start(t)
	launch := func(name string, tasks int) string {
		document := fmt.Sprintf("name: %s\nversion: 1.0.0\noperators:\n", name)
		for i := range tasks {
			document += fmt.Sprintf("  - {name: task%d, type: noop}\n", i)
		}
		b.register(t, document)
		e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: name, Inputs: map[string]any{}})
		require.NoError(t, err)
		b.until(t, e.ID, ended)
		return e.ID.String()
	}
	small, large := launch("runs.small", 1), launch("runs.large", 12)
	for i := range 6 {
		launch(fmt.Sprintf("runs.other%d", i), 1)
	}
	// queries counts the queries of a GET by a server whose caches are empty. The engine queries
	// too, so the smallest of several counts is taken.
	queries := func(path string) int64 {
		least := int64(math.MaxInt64)
		for range 5 {
			d := b.deps
			d.Workflows = workflow.NewService(b.pool, b.catalogue, b.artifacts, time.Now)
			d.Workflows.ReadWith(argo.Format{})
			server := httptest.NewServer(handlers.New(d))
			c := &caller{server: server.URL, header: b.admin.header}
			c.get(t, "/api/v1/types") // fills the caches of the sign-in
			before := b.pool.Stat().AcquireCount()
			require.Equal(t, http.StatusOK, c.get(t, path).status)
			least = min(least, b.pool.Stat().AcquireCount()-before)
			server.Close()
		}
		return least
	}
	for i := range 12 {
		b.appendLog(t, uuid.MustParse(large), fmt.Sprintf("task%d", i), 0, 1)
	}
	b.appendLog(t, uuid.MustParse(small), "task0", 0, 1)
	const noise = 3 // queries of the engine; a query per row adds 5 or more
	require.InDelta(t, queries("/api/v1/workflows/"+small), queries("/api/v1/workflows/"+large), noise, "one query per task")
	require.InDelta(t, queries("/api/v1/workflows/"+small+"/tasks"), queries("/api/v1/workflows/"+large+"/tasks"), noise, "one query per task")
	require.InDelta(t, queries("/api/v1/workflows?status=SUCCEEDED&limit=3"), queries("/api/v1/workflows?status=SUCCEEDED&limit=8"), noise, "one query per execution")
	require.InDelta(t, queries("/api/v1/workflows/"+small+"/logs"), queries("/api/v1/workflows/"+large+"/logs"), noise, "one query per task with lines")
}
