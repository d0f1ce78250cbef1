package execution_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// cached has a node that records each run as a line in the file ran.
func cached(ran, cache string) string {
	return fmt.Sprintf(`
name: cached
version: 1.0.0
inputs: [{name: lr, type: Float, default: 0.1}, {name: note, type: Text, default: none}, {name: seed, type: Integer, default: 1}]
outputs: [{name: model, type: File, from: train.model}]
operators:
  - {name: load, type: shell, inputs: [{name: seed, from: inputs.seed}], outputs: [{name: data, type: File}], code: {script: 'echo bytes'}}
  - {name: train, type: shell, cache: %s, inputs: [{name: lr, from: inputs.lr}, {name: note, from: inputs.note}, {name: data, from: load.data}], outputs: [{name: model, type: File}],
     code: {script: 'echo run >> %s; echo "model of $INPUTS" | sed "s/none//"'}}
`, cache, ran)
}

// again launches the registered workflow again.
func (b *testBundle) again(r execution.LaunchRequest) query.Execution {
	b.t.Helper()
	if r.Priority == 0 {
		r.Priority = query.Normal
	}
	e, _, err := b.engine.Launches.Launch(b.ctx, r)
	require.NoError(b.t, err, "%v", apperr.FieldsOf(err))
	e = b.finish(e.ID)
	require.Equal(b.t, query.Succeeded, e.Status, "%+v", e.Error)
	return e
}

func lines(t *testing.T, path string) int {
	t.Helper()
	if _, err := os.Stat(path); os.IsNotExist(err) {
		return 0
	}
	return len(readLines(t, path))
}

func TestCacheTakesEqualResults(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.keepFiles()
	ran := filepath.Join(t.TempDir(), "ran")
	b.register(cached(ran, "{ignore_inputs: [note]}"))
	first := b.again(execution.LaunchRequest{Workflow: "cached"})
	require.Equal(t, 1, lines(t, ran))
	require.Equal(t, &query.CacheNote{Found: query.CacheMiss, Why: "No result of this node is cached yet."}, b.node(first.ID, "train").Cache)

	// Another artifact with the same bytes, and an input that has no effect.
	second := b.again(execution.LaunchRequest{Workflow: "cached", Inputs: map[string]any{"note": "other", "seed": json.Number("2")}})
	require.Equal(t, 1, lines(t, ran))
	node := b.node(second.ID, "train")
	require.Equal(t, dag.Succeeded, node.State)
	require.Equal(t, &query.Origin{Execution: first.ID, Node: "train", Use: query.OriginCached}, node.Origin)
	require.Equal(t, query.CacheHit, node.Cache.Found)
	require.Equal(t, &first.ID, node.Cache.Execution)
	require.Equal(t, first.Outputs, second.Outputs, "the same artifact")
	require.Equal(t, []string{"load"}, b.ran(second.ID))

	third := b.again(execution.LaunchRequest{Workflow: "cached", Inputs: map[string]any{"lr": json.Number("0.2")}})
	require.Equal(t, 2, lines(t, ran))
	note := b.node(third.ID, "train").Cache
	require.Equal(t, query.CacheMiss, note.Found)
	require.Equal(t, []string{"lr 0.1 → 0.2"}, note.Changes)

	b.register(`{"name": "cached", "version": "1.1.0", "inputs": [{"name": "seed", "type": "Integer", "default": 1}], "operators": [
		{"name": "load", "type": "shell", "inputs": [{"name": "seed", "from": "inputs.seed"}], "outputs": [{"name": "data", "type": "File"}], "code": {"script": "echo bytes"}},
		{"name": "train", "type": "shell", "cache": true, "inputs": [{"name": "data", "from": "load.data"}], "code": {"script": "true"}}]}`)
	code := b.again(execution.LaunchRequest{Workflow: "cached", Version: "1.1.0"})
	require.Contains(t, b.node(code.ID, "train").Cache.Changes, "code changed")
}

func TestCacheIsSwitched(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.keepFiles()
	ran := filepath.Join(t.TempDir(), "ran")
	b.register(cached(ran, "true"))
	first := b.again(execution.LaunchRequest{Workflow: "cached"})
	off := b.again(execution.LaunchRequest{Workflow: "cached", Cache: execution.CacheUse{Mode: execution.CacheOff}})
	require.Equal(t, 2, lines(t, ran))
	require.Equal(t, query.CacheIgnored, b.node(off.ID, "train").Cache.Found)
	hit := b.again(execution.LaunchRequest{Workflow: "cached"})
	require.Equal(t, first.ID, b.node(hit.ID, "train").Origin.Execution, "a launch without the cache stores no result")

	refreshed := b.again(execution.LaunchRequest{Workflow: "cached", Cache: execution.CacheUse{Nodes: map[string]execution.CacheMode{"train": execution.CacheRefresh}}})
	require.Equal(t, 3, lines(t, ran))
	require.Equal(t, "This launch refreshes cached results.", b.node(refreshed.ID, "train").Cache.Why)
	hit = b.again(execution.LaunchRequest{Workflow: "cached"})
	require.Equal(t, refreshed.ID, b.node(hit.ID, "train").Origin.Execution)

	_, _, err := b.engine.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "cached", Priority: query.Normal, Cache: execution.CacheUse{Nodes: map[string]execution.CacheMode{"load": "off"}}})
	require.Equal(t, "cache.nodes.load", apperr.FieldsOf(err)[0].Path)
}

func TestCacheForgets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.keepFiles()
	ran := filepath.Join(t.TempDir(), "ran")
	b.register(cached(ran, "{ttl: 1h}"))
	first := b.again(execution.LaunchRequest{Workflow: "cached"})
	_, err := b.pool.Exec(b.ctx, "UPDATE nodes SET finished_at = finished_at - interval '2 hours' WHERE execution_id = $1", first.ID)
	require.NoError(t, err)
	second := b.again(execution.LaunchRequest{Workflow: "cached"})
	require.Equal(t, 2, lines(t, ran))
	require.Equal(t, "The earlier result has expired: it is older than 1h0m0s.", b.node(second.ID, "train").Cache.Why)

	// Its bytes are deleted: a miss without an error.
	_, err = b.pool.Exec(b.ctx, `DELETE FROM project_blobs WHERE sha256 IN (SELECT sha256 FROM artifacts WHERE execution_id = $1 AND node = 'train')`, second.ID)
	require.NoError(t, err)
	third := b.again(execution.LaunchRequest{Workflow: "cached"})
	require.Equal(t, 3, lines(t, ran))
	require.Equal(t, "Files of the earlier result were deleted.", b.node(third.ID, "train").Cache.Why)

	// The rows of the execution are gone.
	_, err = b.pool.Exec(b.ctx, `DELETE FROM nodes WHERE execution_id = $1`, third.ID)
	require.NoError(t, err)
	fourth := b.again(execution.LaunchRequest{Workflow: "cached"})
	require.Equal(t, 4, lines(t, ran))
	require.Equal(t, "The earlier result was deleted.", b.node(fourth.ID, "train").Cache.Why)
}

// equal computes the same in every item and waits for the file gate; it fails while the file
// bad exists.
func equal(ran, gate, bad string) string {
	return fmt.Sprintf(`
name: equal
version: 1.0.0
outputs: [{name: all, type: "List<Integer>", from: each.v}]
operators:
  - {name: each, type: shell, foreach: [7, 7, 7, 8], cache: true, inputs: [{name: x, type: Integer, from: item}], outputs: [{name: v, type: Integer}], retry: {fail_fast: false},
     code: {script: 'echo run >> %s; while ! test -e %s; do sleep 0.02; done; rm %s 2>/dev/null && exit 1; echo "$INPUTS" | sed "s/.*\"x\":\([0-9]*\).*/\1/"'}}
`, ran, gate, bad)
}

func TestEqualNodesAtOnceRunOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dir := t.TempDir()
	ran, gate, bad := filepath.Join(dir, "ran"), filepath.Join(dir, "gate"), filepath.Join(dir, "bad")
	b.register(equal(ran, gate, bad))
	var ids []uuid.UUID
	for range 3 {
		e, _, err := b.engine.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "equal", Priority: query.Normal})
		require.NoError(t, err)
		ids = append(ids, e.ID)
	}
	waiting := func(query.Execution) bool {
		var n int
		require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT count(*) FROM nodes WHERE execution_id = ANY ($1) AND state = 'READY' AND reason->>'code' = 'CACHE'", ids).Scan(&n))
		return n == 10
	}
	b.until(ids[0], "the waiting", waiting)
	touch(t, gate)
	for _, id := range ids {
		e := b.finish(id)
		require.Equal(t, query.Succeeded, e.Status, "%+v", e.Error)
		require.Equal(t, []any{json.Number("7"), json.Number("7"), json.Number("7"), json.Number("8")}, e.Outputs["all"])
	}
	require.Equal(t, 2, lines(t, ran), "7 once and 8 once, in any execution")
}

func TestWhoWaitedRunsWhenTheFirstFails(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dir := t.TempDir()
	ran, gate, bad := filepath.Join(dir, "ran"), filepath.Join(dir, "gate"), filepath.Join(dir, "bad")
	doc := fmt.Sprintf(`
name: one
version: 1.0.0
outputs: [{name: v, type: Integer, from: a.v}]
operators:
  - {name: a, type: shell, cache: true, outputs: [{name: v, type: Integer}], code: {script: 'echo run >> %s; while ! test -e %s; do sleep 0.02; done; rm %s 2>/dev/null && exit 1; echo 5'}}
`, ran, gate, bad)
	touch(t, bad)
	first := b.launch(doc, nil)
	b.until(first, "running", func(e query.Execution) bool { return e.Counts.Running == 1 })
	e, _, err := b.engine.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "one", Priority: query.Normal})
	require.NoError(t, err)
	b.until(e.ID, "waiting", func(query.Execution) bool {
		r := b.node(e.ID, "a").Reason
		return r != nil && r.Code == execution.ReasonCache
	})
	require.Contains(t, b.node(e.ID, "a").Reason.Message, "a of execution "+first.String())
	touch(t, gate)
	require.Equal(t, query.Failed, b.finish(first).Status)
	second := b.finish(e.ID)
	require.Equal(t, query.Succeeded, second.Status, "%+v", second.Error)
	require.Equal(t, 2, lines(t, ran))
	require.Equal(t, "The node that computed it did not succeed.", b.node(e.ID, "a").Cache.Why)
}

// TestKillPointsOfCache: when the server dies at any point between the claim of a key and
// the end of the node, the next one continues: no node waits forever, and none runs twice.
func TestKillPointsOfCache(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"cache.claimed:1", "cache.claimed:2", "flush.written:2", "flush.committed:2", "flush.committed:3", "flush.committed:4"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			b := setupKill(t)
			ran := filepath.Join(b.dir, "ran")
			gate := filepath.Join(b.dir, "gate")
			touch(t, gate)
			b.register(strings.Replace(equal(ran, gate, filepath.Join(b.dir, "bad")), "name: equal", "name: kill", 1))
			b.crashAt(point)
			b.waitAll(1, time.Minute)
			b.checkAll("SUCCEEDED", nil)
			require.Equal(t, 2, lines(t, ran))
			var succeeded int
			require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT count(*) FROM nodes WHERE state = 'SUCCEEDED'").Scan(&succeeded))
			require.Equal(t, 5, succeeded)
		})
	}
}

// TestClaimsDoNotWaitForBytes: other executions can look up the same result while a loop looks for its bytes,
// for which it requires another connection.
func TestClaimsDoNotWaitForBytes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.keepFiles()
	b.register(`{name: kept, version: 1.0.0, operators: [{name: make, type: shell, cache: true, outputs: [{name: model, type: File}], code: {script: echo model}}]}`)
	first := b.again(execution.LaunchRequest{Workflow: "kept"})
	tx, err := b.pool.Begin(b.ctx)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(b.ctx) }()
	_, err = tx.Exec(b.ctx, "LOCK TABLE artifacts IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	second, _, err := b.engine.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "kept", Priority: query.Normal})
	require.NoError(t, err)
	b.eventually("the loop looks for the bytes", `SELECT EXISTS (SELECT FROM pg_stat_activity
		WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%ArtifactHashes%')`)
	_, err = b.pool.Exec(b.ctx, "SELECT 1 FROM cached_results FOR UPDATE NOWAIT")
	require.NoError(t, err)
	require.NoError(t, tx.Rollback(b.ctx))
	require.Equal(t, query.Succeeded, b.finish(second.ID).Status)
	require.Equal(t, first.ID, b.node(second.ID, "make").Origin.Execution)
}
