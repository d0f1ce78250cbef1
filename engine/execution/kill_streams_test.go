package execution_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// streamDoc has a writer that fails once while it is read, and a reader that only ends with
// the writer's second attempt. Nothing streams here: the runner of these tests only runs
// commands.
func streamDoc(dir string) string {
	return fmt.Sprintf(`
name: kill
version: 1.0.0
operators:
  - name: make
    type: shell
    retry: {limit: 1, initial_delay: 10ms, jitter: 0}
    outputs: [{name: rows, type: "Optional<File>", storage: streaming}]
    code: {script: 'echo "$TASK $NODE" >> %[1]s/runs; ran() { until [ "$(grep -c " read" %[1]s/runs)" -ge $1 ]; do sleep 0.01; done; }; case $TASK in *.1) ran 1; exit 1;; esac; ran 2; touch %[1]s/made'}
  - name: read
    type: shell
    inputs: [{name: rows, from: make.rows}]
    code: {script: 'echo "$TASK $NODE" >> %[1]s/runs; until [ -e %[1]s/made ]; do sleep 0.02; done'}
  - {name: last, type: noop, depends_on: [read]}
`, dir)
}

// TestKillPointsOfStreams crashes the server while a reader begins with its writer, is
// stopped because the writer failed, and is restarted with it.
func TestKillPointsOfStreams(t *testing.T) {
	t.Parallel()
	for _, point := range []string{
		"flush.written:2", "flush.written:3", "flush.written:4", "flush.written:5", "flush.written:6",
		"flush.committed:3", "flush.committed:4", "flush.committed:5", "flush.committed:6",
		"flush.effects:3", "flush.effects:5", "stop.begin:1", "stop.done:1", "stop.begin>flush.written:1", "stop.begin>flush.committed:1",
		"deliver.posted:2", "deliver.posted:3", "deliver.answer:2",
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			b := setupKill(t)
			b.register(streamDoc(b.dir))
			b.crashAt(point)
			b.waitAll(1, time.Minute)
			b.checkAll("SUCCEEDED", nil)
			runs := map[string]int{}
			for _, line := range readLines(t, b.dir+"/runs") {
				runs[line]++
				require.Equal(t, 1, runs[line], "the attempt ran more than once: %s", line)
			}
			var tries string
			require.NoError(t, b.pool.QueryRow(b.ctx, `SELECT string_agg(name || ' ' || retries, ', ' ORDER BY node_index) FROM nodes`).Scan(&tries))
			require.Equal(t, "make 1, read 0, last 0", tries, "a reader that restarts with its writer spends no retry")
			var early int
			require.NoError(t, b.pool.QueryRow(b.ctx, `SELECT count(*) FROM events r JOIN events w USING (execution_id)
				WHERE r.kind = 'node.succeeded' AND r.node_index = 1 AND w.kind = 'node.succeeded' AND w.node_index = 0 AND r.seq < w.seq`).Scan(&early))
			require.Zero(t, early, "the reader succeeded before its writer")
		})
	}
}
