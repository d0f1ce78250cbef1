package execution_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/retention"
	"github.com/flowforge/flowforge/engine/workflow"
)

// rows counts the rows of an execution in a table.
func (b *testBundle) rows(table string, id uuid.UUID) (n int) {
	b.t.Helper()
	require.NoError(b.t, b.pool.QueryRow(b.ctx, "SELECT count(*) FROM "+table+" WHERE execution_id = $1", id).Scan(&n))
	return n
}

// Artifacts of a cache hit outlive the execution that produced them: its rows and its
// results in the cache are deleted, its artifacts are kept as long as the execution that
// reused them.
func TestResultsFromTheCacheOutliveTheirExecution(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.keepFiles()
	ran := filepath.Join(t.TempDir(), "ran")
	b.register(cached(ran, "true"))
	hour := time.Hour
	kept := workflow.TTL{Completion: &hour}
	first := b.again(execution.LaunchRequest{Workflow: "cached", TTL: kept})
	second := b.again(execution.LaunchRequest{Workflow: "cached"})
	b.untilEndDelivered()
	train := b.node(second.ID, "train")
	require.Equal(t, &query.Origin{Execution: first.ID, Node: "train", Use: query.OriginCached}, train.Origin)
	require.Equal(t, 1, lines(t, ran))
	require.Equal(t, 1, b.rows("cached_results", first.ID))

	ahead, err := b.sweeper(time.Now().Add(50*time.Hour)).Sweep(b.ctx, true)
	require.NoError(t, err)
	require.EqualValues(t, 1, ahead.Executions)
	_, err = b.engine.Get(b.ctx, first.ID)
	require.NoError(t, err, "a dry run removes nothing")

	r := b.sweep(time.Now().Add(50 * time.Hour))
	require.EqualValues(t, 1, r.Executions)
	require.EqualValues(t, 1, r.Artifacts, "data of load, which the second produced again")
	for _, table := range []string{"nodes", "attempts", "events", "cached_results"} {
		require.Zero(t, b.rows(table, first.ID), table)
	}
	id := uuid.MustParse(second.Outputs["model"].(map[string]any)["$artifact"].(string))
	a, err := b.artifacts.Get(b.ctx, id)
	require.NoError(t, err)
	require.Equal(t, first.ID, a.ExecutionID)
	b.hasBytes(a.SHA256)
	origin := b.node(second.ID, "train").Origin
	require.Equal(t, &query.Origin{Execution: first.ID, Use: query.OriginCached}, origin, "its name was deleted with it")

	third := b.again(execution.LaunchRequest{Workflow: "cached", TTL: kept})
	require.Equal(t, 2, lines(t, ran), "the cached result was deleted, so it ran again")
	require.Equal(t, dag.Succeeded, b.node(third.ID, "train").State)
	b.untilEndDelivered()
	_, err = b.pool.Exec(b.ctx, "UPDATE executions SET expires_at = now() WHERE id = $1", second.ID)
	require.NoError(t, err)
	r = b.sweep(time.Now().Add(50 * time.Hour))
	require.EqualValues(t, 2, r.Executions)
	_, err = b.artifacts.Get(b.ctx, id)
	require.Error(t, err, "it has no references left")
	require.Positive(t, r.Blobs)
	_, err = b.artifacts.Store().Stat(b.ctx, a.SHA256)
	require.Error(t, err, "nor the bytes")
}

func TestSweepsComeByThemselves(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now := time.Now().Add(50 * time.Hour)
	swept := retention.New(retention.Config{
		Pool: b.pool, Store: b.artifacts.Store().(artifact.Remover), Free: b.quotas.Storage.Free, Now: func() time.Time { return now }, Logger: testLogger(t),
	})
	count := func() (n int) {
		require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT count(*) FROM sweeps WHERE NOT dry_run").Scan(&n))
		return n
	}
	require.NoError(t, swept.SweepWhenDue(b.ctx, time.Hour))
	require.NoError(t, swept.SweepWhenDue(b.ctx, time.Hour))
	require.Equal(t, 1, count(), "the second was not due")
	now = now.Add(time.Hour)
	require.NoError(t, swept.SweepWhenDue(b.ctx, time.Hour))
	require.Equal(t, 2, count())
}
