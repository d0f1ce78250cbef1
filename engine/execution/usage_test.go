package execution_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// learnt waits for the finished job of an execution.
func (b *testBundle) learnt(done <-chan uuid.UUID, id uuid.UUID) {
	b.t.Helper()
	timeout := time.After(30 * time.Second)
	for {
		select {
		case got := <-done:
			if got == id {
				return
			}
		case <-timeout:
			b.t.Fatal("the estimates were not updated from the execution")
		}
	}
}

func TestEndedAttemptsTeachEstimatesAndHours(t *testing.T) {
	t.Parallel()
	ended := make(chan uuid.UUID, 10)
	b := setup(t, func(c *execution.Config) {
		c.OnFinished = func(_ context.Context, id uuid.UUID) error { ended <- id; return nil }
	})
	doc := `
name: taught
version: 1.0.0
operators:
  - {name: long, type: shell, code: {script: 'sleep 1.1'}, resources: {cpu: 500m, memory: 64Mi}}
  - {name: quick, type: shell, code: {script: 'true'}}
  - {name: fails, type: shell, code: {script: 'exit 3'}, retry: {fail_fast: false}}
`
	id := b.launch(doc, nil)
	e := b.finish(id)
	b.learnt(ended, id)
	estimates := b.estimates(e.WorkflowID, "long")
	require.NotContains(t, estimates, "fails", "failed attempts do not count")
	require.Equal(t, 1, estimates["long"].Count)
	require.GreaterOrEqual(t, estimates["long"].P50, time.Second)
	require.Equal(t, estimates["long"].P10, estimates["long"].P90)

	u, err := b.engine.Usage.At(b.ctx, auth.LocalTeam, time.Now().Add(-time.Hour))
	require.NoError(t, err)
	require.Len(t, u.ByPerson, 1)
	require.Equal(t, "admin", u.ByPerson[0].Name)
	require.Equal(t, "taught", u.ByWorkflow[0].Name)
	require.Equal(t, 1, u.ByWorkflow[0].Executions)
	require.Greater(t, u.Total.CPU, 0.5*1.0/3600)
	require.Greater(t, u.Total.Memory, 0.0)
	hours, err := b.engine.Usage.HoursOf(b.ctx, id)
	require.NoError(t, err)
	require.InDelta(t, u.Total.CPU, hours.CPU, 1e-9)

	u, err = b.engine.Usage.At(b.ctx, auth.LocalTeam, time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.Empty(t, u.ByPerson, "nothing was used after that")

	stranger := auth.Subject{ID: uuid.New(), Role: auth.RoleUser}
	_, err = b.engine.Usage.At(auth.WithSubject(t.Context(), stranger), auth.LocalTeam, time.Now())
	require.True(t, apperr.Is(err, apperr.NotFound), "another tenant's levels are not found")
}

// estimates waits until the durations of the operator are stored: the finished job ends
// after it has notified its listeners.
func (b *testBundle) estimates(workflow uuid.UUID, operator string) map[string]query.Estimate {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		var count int
		err := b.pool.QueryRow(b.ctx, "SELECT count(*) FROM operator_durations WHERE workflow_id = $1 AND operator = $2", workflow, operator).Scan(&count)
		return err == nil && count == 1
	}, 30*time.Second, 10*time.Millisecond)
	estimates, err := b.engine.Expected(b.ctx, workflow)
	require.NoError(b.t, err)
	return estimates
}

func TestLatestFiftyDurationsAreKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launch("name: kept\nversion: 1.0.0\noperators: [{name: a, type: shell, code: {script: 'true'}}]", nil)
	e := b.finish(id)
	b.estimates(e.WorkflowID, "a")
	_, err := b.pool.Exec(b.ctx, "UPDATE operator_durations SET durations = array_fill(60000::bigint, ARRAY[50])")
	require.NoError(t, err)
	require.NoError(t, b.engine.Maintenance.Finished(b.ctx, id, nil))
	estimates, err := b.engine.Expected(b.ctx, e.WorkflowID)
	require.NoError(t, err)
	require.Equal(t, 50, estimates["a"].Count)
	require.Equal(t, time.Minute, estimates["a"].P50)
	var newest int64
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT durations[1] FROM operator_durations").Scan(&newest))
	require.Less(t, newest, int64(60000), "the latest is first")
}
