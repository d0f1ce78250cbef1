package execution_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/protect"
)

func TestWorkflowRetryBudgetDelays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launch(`
name: thrifty
version: 1.0.0
retry_budget: {retries: 2, window: 3s}
operators:
  - {name: a, type: shell, code: {script: "exit 1"}, retry: {limit: 2, initial_delay: 10ms, jitter: 0, fail_fast: false}}
  - {name: b, type: shell, code: {script: "exit 1"}, retry: {limit: 2, initial_delay: 10ms, jitter: 0, fail_fast: false}}
`, nil)
	require.Eventually(t, func() bool {
		waits := 0
		for _, name := range []string{"a", "b"} {
			if n := b.node(id, name); n.State == dag.Retrying && n.Reason != nil && n.Reason.Code == "RETRY_BUDGET" {
				require.Contains(t, n.Reason.Message, "2 retries in 3s")
				require.NotNil(t, n.RetryAt)
				waits++
			}
		}
		return waits > 0
	}, 5*time.Second, 10*time.Millisecond)
	_, budgets, err := b.engine.Protection.RetryBudgets(b.ctx)
	require.NoError(t, err)
	require.Len(t, budgets, 1)
	require.Zero(t, budgets[0].Left)
	b.finish(id)
	var queued []time.Time
	for _, name := range []string{"a", "b"} {
		n := b.node(id, name)
		require.Equal(t, 3, n.Attempt, "no retry is skipped")
		for _, a := range n.Attempts[1:] {
			queued = append(queued, a.QueuedAt)
		}
	}
	require.Len(t, queued, 4)
	span := latest(queued).Sub(earliest(queued))
	require.GreaterOrEqual(t, span, 2900*time.Millisecond, "the third retry starts one window after the first")
}

func latest(times []time.Time) time.Time {
	out := times[0]
	for _, t := range times {
		if t.After(out) {
			out = t
		}
	}
	return out
}

func earliest(times []time.Time) time.Time {
	out := times[0]
	for _, t := range times {
		if t.Before(out) {
			out = t
		}
	}
	return out
}

func TestTenantRetryBudget(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.engine.Protection.SetTenantBudget(b.ctx, protect.BucketRule{Retries: 0, Per: time.Minute, Burst: -1}, 0, "")
	require.Len(t, apperr.FieldsOf(err), 2)
	set, err := b.engine.Protection.SetTenantBudget(b.ctx, protect.BucketRule{Retries: 1, Per: time.Hour, Burst: 1}, 0, "storms")
	require.NoError(t, err)
	require.EqualValues(t, 1, set.Version)
	require.Equal(t, 1, set.Left)
	_, err = b.engine.Protection.SetTenantBudget(b.ctx, protect.BucketRule{Retries: 9, Per: time.Hour, Burst: 1}, 0, "")
	require.True(t, apperr.Is(err, apperr.Conflict), "an older version is refused")

	id := b.launch(`
name: expensive
version: 1.0.0
operators: [{name: a, type: shell, code: {script: "exit 1"}, retry: {limit: 2, initial_delay: 10ms, jitter: 0}}]
`, nil)
	n := b.reasonOf(id, "a", "RETRY_BUDGET")
	require.Equal(t, dag.Retrying, n.State)
	require.Equal(t, 2, n.Attempt, "the first retry was within the budget")
	require.Greater(t, time.Until(*n.RetryAt), 30*time.Minute)
	budget, _, err := b.engine.Protection.RetryBudgets(b.ctx)
	require.NoError(t, err)
	require.Zero(t, budget.Left)
	require.EqualValues(t, 1, budget.Delayed)
	// Raising the budget starts the waiting retries.
	_, err = b.engine.Protection.SetTenantBudget(b.ctx, protect.BucketRule{}, budget.Version, "over")
	require.NoError(t, err)
	require.Equal(t, query.Failed, b.finish(id).Status)
	require.Equal(t, 3, b.node(id, "a").Attempt)
}

func TestDeadLettersAreRequeuedAndDismissed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dir := t.TempDir()
	id := b.launch(fmt.Sprintf(`
name: letters
version: 1.0.0
operators:
  - {name: bad, type: shell, code: {script: "test -e %s/works"}, retry: {fail_fast: false}}
  - {name: worse, type: shell, code: {script: "exit 2"}, retry: {fail_fast: false}}
  - {name: long, type: shell, code: {script: "while ! test -e %s/end; do sleep 0.05; done"}}
`, dir, dir), nil)
	b.until(id, "two failed", func(e query.Execution) bool { return e.Counts.Failed == 2 && e.Counts.Running == 1 })
	page, err := b.engine.DeadLetters.List(b.ctx, execution.DeadLetterFilter{Execution: id})
	require.NoError(t, err)
	require.Len(t, page.DeadLetters, 2)
	byNode := map[string]execution.DeadLetter{}
	for _, l := range page.DeadLetters {
		byNode[l.Node] = l
	}
	require.NoError(t, os.WriteFile(dir+"/works", nil, 0o600))
	in, err := b.engine.DeadLetters.Requeue(b.ctx, byNode["bad"].ID, "it works again")
	require.NoError(t, err)
	require.Equal(t, id, in)
	b.until(id, "the node succeeded", func(e query.Execution) bool { return e.Counts.Succeeded == 1 })
	_, err = b.engine.DeadLetters.Get(b.ctx, byNode["bad"].ID)
	require.True(t, apperr.Is(err, apperr.NotFound))
	require.NoError(t, b.engine.DeadLetters.Dismiss(b.ctx, byNode["worse"].ID, "known"))
	require.True(t, apperr.Is(b.engine.DeadLetters.Dismiss(b.ctx, byNode["worse"].ID, "twice"), apperr.NotFound))
	require.NoError(t, os.WriteFile(dir+"/end", nil, 0o600))
	b.finish(id)
	page, err = b.engine.DeadLetters.List(b.ctx, execution.DeadLetterFilter{})
	require.NoError(t, err)
	require.Empty(t, page.DeadLetters)
	require.Zero(t, page.Open)
	var n int
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT count(*) FROM audit_log WHERE object_kind = 'dead_letter'").Scan(&n))
	require.Equal(t, 2, n)
}

// TestDismissAll: the dead letters that the caller saw are dismissed, of one class or of all.
func TestDismissAll(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.finish(b.launch(`
name: letters
version: 1.0.0
operators:
  - {name: one, type: shell, code: {script: "exit 2"}, retry: {fail_fast: false}}
  - {name: two, type: shell, code: {script: "exit 2"}, retry: {fail_fast: false}}
  - {name: large, type: shell, code: {script: "exit 137"}, retry: {fail_fast: false}}
`, nil))
	list := func(class protect.Class, open, matching int) []execution.DeadLetter {
		page, err := b.engine.DeadLetters.List(b.ctx, execution.DeadLetterFilter{Class: class})
		require.NoError(t, err)
		require.Equal(t, []int{open, matching, matching}, []int{page.Open, page.Matching, len(page.DeadLetters)})
		return page.DeadLetters
	}
	dismiss := func(class protect.Class, newest uuid.UUID) {
		n, err := b.engine.DeadLetters.DismissAll(b.ctx, class, newest, "known")
		require.NoError(t, err)
		require.Equal(t, 1, n)
	}
	dismiss(protect.OutOfMemory, list("", 3, 3)[0].ID)
	list(protect.OutOfMemory, 2, 0)
	left := list("", 2, 2)
	dismiss("", left[1].ID)
	require.Equal(t, left[0].ID, list("", 1, 1)[0].ID, "a newer one stays")
	_, err := b.engine.DeadLetters.DismissAll(b.ctx, "unknown", left[0].ID, "")
	require.Equal(t, "class", apperr.FieldsOf(err)[0].Path)
	_, err = b.engine.DeadLetters.List(b.ctx, execution.DeadLetterFilter{Class: "unknown"})
	require.Equal(t, "class", apperr.FieldsOf(err)[0].Path)
	var n int
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT count(*) FROM audit_log WHERE action = 'dead_letter.dismissed' AND reason = 'known'").Scan(&n))
	require.Equal(t, 2, n)
}

// deadDelivery launches an execution, and gives up the job that reports its end.
func deadDelivery(t *testing.T, b *testBundle) (uuid.UUID, int64) {
	t.Helper()
	id := b.launch("name: told\nversion: 1.0.0\noperators: [{name: a, type: noop}]", nil)
	b.finish(id)
	require.Eventually(t, func() bool {
		var done int
		require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT count(*) FROM river_job WHERE kind = 'finished' AND state = 'completed'").Scan(&done))
		return done == 1
	}, 10*time.Second, 20*time.Millisecond)
	var job int64
	require.NoError(t, b.pool.QueryRow(b.ctx, `UPDATE river_job SET state = 'discarded', attempt = max_attempts,
		errors = ARRAY['{"at": "2026-01-01T00:00:00Z", "attempt": 25, "error": "no receiver", "trace": ""}'::jsonb]
		WHERE kind = 'finished' RETURNING id`).Scan(&job))
	return id, job
}

func TestDeadDeliveryIsDismissed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, job := deadDelivery(t, b)
	require.NoError(t, b.engine.DeadLetters.DismissDelivery(b.ctx, job, "the receiver is gone"))
	list, err := b.engine.DeadLetters.Deliveries(b.ctx)
	require.NoError(t, err)
	require.Empty(t, list)
	require.True(t, apperr.Is(b.engine.DeadLetters.DismissDelivery(b.ctx, job, ""), apperr.NotFound))
	require.True(t, apperr.Is(b.engine.DeadLetters.Redeliver(b.ctx, job, ""), apperr.NotFound))
	var reason string
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT reason FROM audit_log WHERE action = 'delivery.dismiss'").Scan(&reason))
	require.Equal(t, "the receiver is gone", reason)
}

func TestDeadDeliveryIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, job := deadDelivery(t, b)
	list, err := b.engine.DeadLetters.Deliveries(b.ctx)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, "no receiver", list[0].Error)
	require.Equal(t, id, list[0].Execution)
	require.NoError(t, b.engine.DeadLetters.Redeliver(b.ctx, job, "it is back"))
	require.Eventually(t, func() bool {
		var state string
		require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT state::text FROM river_job WHERE id = $1", job).Scan(&state))
		return state == "completed"
	}, 10*time.Second, 20*time.Millisecond)
	require.True(t, apperr.Is(b.engine.DeadLetters.Redeliver(b.ctx, job, ""), apperr.NotFound))
}
