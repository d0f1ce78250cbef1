package execution_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/retention"
	"github.com/flowforge/flowforge/engine/workflow"
)

// sweeper removes expired data of b at a future time.
func (b *testBundle) sweeper(at time.Time) *retention.Service {
	b.t.Helper()
	return retention.New(retention.Config{
		Pool: b.pool, Store: b.artifacts.Store().(artifact.Remover), Free: b.quotas.Storage.Free, Now: func() time.Time { return at }, Logger: testLogger(b.t),
	})
}

func (b *testBundle) sweep(at time.Time) retention.Report {
	b.t.Helper()
	r, err := b.sweeper(at).Sweep(b.ctx, false)
	require.NoError(b.t, err)
	require.Empty(b.t, r.Error)
	return r
}

// untilEndDelivered waits until the end of an execution was delivered.
func (b *testBundle) untilEndDelivered() {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		var n int
		require.NoError(b.t, b.pool.QueryRow(b.ctx, `SELECT count(*) FROM river_job WHERE kind = 'finished' AND state NOT IN ('completed', 'cancelled', 'discarded')`).Scan(&n))
		return n == 0
	}, 20*time.Second, 20*time.Millisecond)
}

func TestRetentionOfADefinition(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	b := setup(t, func(c *execution.Config) { c.Retention = workflow.TTL{Completion: &day} })
	for _, test := range []struct {
		name, ttl, script string
		kept              time.Duration
	}{
		{"good", "ttl: {after_completion: 1h, after_success: 5m}\n", "true", 5 * time.Minute},
		{"bad", "ttl: {after_completion: 1h, after_success: 5m}\n", "false", time.Hour},
		{"silent", "", "true", day},
	} {
		e := b.finish(b.launch("name: "+test.name+"\nversion: 1.0.0\n"+test.ttl+"operators: [{name: a, type: shell, code: {script: '"+test.script+"'}}]\n", nil))
		e, err := b.engine.Get(b.ctx, e.ID)
		require.NoError(t, err)
		require.NotNil(t, e.ExpiresAt, test.name)
		require.Equal(t, test.kept, e.ExpiresAt.Sub(*e.FinishedAt), test.name)
	}
}

func TestReusedResultsOutliveTheirExecution(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.keepFiles()
	flag := filepath.Join(t.TempDir(), "flag")
	first := b.finish(b.launch(chain(flag)+"ttl: {after_failure: 1h}\n", nil))
	require.Equal(t, query.Failed, first.Status)
	touch(t, flag)
	next := b.resume(execution.ResumeRequest{Of: first.ID})
	require.Equal(t, query.Succeeded, next.Status)
	b.untilEndDelivered()

	r := b.sweep(time.Now().Add(50 * time.Hour))
	require.EqualValues(t, 1, r.Executions)
	require.Zero(t, r.Artifacts)
	_, err := b.engine.Get(b.ctx, first.ID)
	require.Error(t, err)
	id := uuid.MustParse(next.Outputs["data"].(map[string]any)["$artifact"].(string))
	a, err := b.artifacts.Get(b.ctx, id)
	require.NoError(t, err)
	b.hasBytes(a.SHA256)
	_, _, err = b.engine.Resumption.Resume(b.ctx, execution.ResumeRequest{Of: first.ID})
	require.Error(t, err)
}

func TestInputsHoldTheArtifactsThatTheyName(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.keepFiles()
	first := b.finish(b.launch("name: make\nversion: 1.0.0\nttl: 1h\noutputs: [{name: data, type: File, from: a.data}]\noperators: [{name: a, type: shell, outputs: [{name: data, type: File}], code: {script: 'echo bytes'}}]\n", nil))
	const use = "name: use\nversion: 1.0.0\ninputs: [{name: data, type: File}]\noperators: [{name: a, type: noop, inputs: [{name: data, from: inputs.data}]}]\n"
	second := b.finish(b.launch(use, map[string]any{"data": first.Outputs["data"]}))
	b.untilEndDelivered()
	r := b.sweep(time.Now().Add(50 * time.Hour))
	require.EqualValues(t, 1, r.Executions)
	require.Zero(t, r.Artifacts)
	_, err := b.artifacts.Get(b.ctx, uuid.MustParse(first.Outputs["data"].(map[string]any)["$artifact"].(string)))
	require.NoError(t, err, "%s refers to it", second.ID)
}
