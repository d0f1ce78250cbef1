package jobs_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/enginetest"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/jobs"
)

// TestClientDrivesDuringTerms: a client of other queues drives executions from Drive to StopDriving,
// again and again, and its other queues continue.
func TestClientDrivesDuringTerms(t *testing.T) {
	t.Parallel()
	e := enginetest.New(t)
	e.Register(`{name: quick, version: 1.0.0, operators: [{name: one, type: noop}]}`, `{name: gate, version: 1.0.0, operators: [{name: wait, type: approval}]}`)
	client := e.Start(jobs.WorkQueues()...)
	launch := func(workflow string) query.Execution {
		t.Helper()
		launched, _, err := e.Service.Launches.Launch(e.Ctx, execution.LaunchRequest{Workflow: workflow, Priority: query.Normal})
		require.NoError(t, err)
		return launched
	}
	until := func(x query.Execution, status query.State) {
		t.Helper()
		require.Eventually(t, func() bool {
			now, err := e.Service.Get(e.Ctx, x.ID)
			return err == nil && now.Status == status
		}, 30*time.Second, 5*time.Millisecond, status)
	}
	state := func(x query.Execution) (state string) {
		t.Helper()
		const job = "SELECT state::text FROM river_job WHERE queue = $1 AND args->>'execution_id' = $2 ORDER BY id DESC LIMIT 1"
		require.NoError(t, e.Pool.QueryRow(e.Ctx, job, execution.QueueAdvance, x.ID.String()).Scan(&state))
		return state
	}

	gated := launch("gate")
	for term := range int64(2) {
		x := launch("quick")
		require.Equal(t, "available", state(x), "outside a term, nothing is driven")
		require.NoError(t, e.Service.Driver.TakeOver(e.Ctx, 0))
		require.NoError(t, client.Drive(e.Ctx))
		until(x, query.Succeeded)
		until(gated, query.Running)
		require.NoError(t, client.StopDriving(e.Ctx), "term %d", term)
		until(launch("quick"), query.Pending)
	}
	require.NoError(t, e.Service.Driver.TakeOver(e.Ctx, 0))
	require.NoError(t, client.Drive(e.Ctx))
	require.NoError(t, e.Service.Commands.Cancel(e.Ctx, gated.ID, "no longer needed"))
	until(gated, query.Cancelled)
}

// TestADriveEndsWithItsTerm: a drive that cannot save its state in time ends with the term. It costs no
// attempt, and the next term drives the execution.
func TestADriveEndsWithItsTerm(t *testing.T) {
	t.Parallel()
	e := enginetest.New(t)
	e.Register(`{name: quick, version: 1.0.0, operators: [{name: one, type: noop}]}`)
	client := e.Start(jobs.WorkQueues()...)
	launched, _, err := e.Service.Launches.Launch(e.Ctx, execution.LaunchRequest{Workflow: "quick", Priority: query.Normal})
	require.NoError(t, err)
	lock, err := e.Pool.Begin(e.Ctx)
	require.NoError(t, err)
	defer func() { _ = lock.Rollback(e.Ctx) }()
	_, err = lock.Exec(e.Ctx, "LOCK TABLE nodes IN SHARE MODE")
	require.NoError(t, err)
	require.NoError(t, e.Service.Driver.TakeOver(e.Ctx, 0))
	require.NoError(t, client.Drive(e.Ctx))
	require.Eventually(t, func() bool {
		var waits bool
		const waiting = "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'nodes'::regclass AND NOT granted)"
		return e.Pool.QueryRow(e.Ctx, waiting).Scan(&waits) == nil && waits
	}, 30*time.Second, 5*time.Millisecond)

	stopping, cancel := context.WithTimeout(e.Ctx, 10*time.Second)
	defer cancel()
	require.NoError(t, client.StopDriving(stopping), "the drive ends before the stop times out")
	require.Eventually(t, func() bool {
		var unharmed bool
		const job = "SELECT state = 'available' AND attempt = 0 AND errors IS NULL FROM river_job WHERE queue = $1 AND args->>'execution_id' = $2 ORDER BY id LIMIT 1"
		return e.Pool.QueryRow(e.Ctx, job, execution.QueueAdvance, launched.ID.String()).Scan(&unharmed) == nil && unharmed
	}, 10*time.Second, 5*time.Millisecond)

	require.NoError(t, lock.Rollback(e.Ctx))
	require.NoError(t, e.Service.Driver.TakeOver(e.Ctx, 0))
	require.NoError(t, client.Drive(e.Ctx))
	require.Eventually(t, func() bool {
		now, err := e.Service.Get(e.Ctx, launched.ID)
		return err == nil && now.Status == query.Succeeded
	}, 30*time.Second, 5*time.Millisecond)
}
