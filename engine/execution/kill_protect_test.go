package execution_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestKillPointsOfProtection crashes the server while an operator fails until its breaker
// opens, runs a trial and succeeds, its retries wait for a budget, and a node becomes a dead
// letter: everything is counted once.
func TestKillPointsOfProtection(t *testing.T) {
	t.Parallel()
	for _, point := range []string{
		"flush.written:2", "flush.written:3", "flush.written:4", "flush.written:5", "flush.written:6",
		"flush.committed:3", "flush.committed:4", "flush.committed:5", "flush.effects:4",
		"budget.taken:1", "budget.taken:2", "deliver.posted:2", "deliver.answer:2",
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			b := setupKill(t)
			b.register(fmt.Sprintf(`
name: kill
version: 1.0.0
retry_budget: {retries: 1, window: 1s}
operators:
  - name: moody
    type: shell
    code: {script: 'echo "$TASK $NODE" >> %[1]s/runs; case $TASK in *.1|*.2) exit 1;; esac'}
    retry: {limit: 3, initial_delay: 10ms, jitter: 0}
    breaker: {failures: 2, window: 1m, open_for: 1s}
  - {name: dead, type: shell, code: {script: 'echo "$TASK $NODE" >> %[1]s/runs; exit 4'}, allow_failure: true, retry: {fail_fast: false}}
  - {name: last, type: noop, depends_on: [moody, dead.Completed]}
`, b.dir))
			b.crashAt(point)
			b.waitAll(1, time.Minute)
			b.checkAll("SUCCEEDED", map[string]int{"moody": 3, "dead": 1})
			text := func(query string) (s string) {
				t.Helper()
				require.NoError(t, b.pool.QueryRow(b.ctx, query).Scan(&s))
				return s
			}
			// An attempt that was never submitted may count as lost; then the next one
			// closes the breaker.
			last := text("SELECT attempt::text FROM nodes WHERE name = 'moody'")
			require.Equal(t, "breaker.opened 2, breaker.trial 2, breaker.closed "+last,
				text("SELECT string_agg(kind || ' ' || attempt, ', ' ORDER BY seq) FROM events WHERE kind LIKE 'breaker.%'"))
			require.Equal(t, "0", text(`SELECT count(*)::text FROM attempts a JOIN nodes n USING (execution_id, node_index)
				WHERE n.name = 'moody' AND a.attempt BETWEEN 3 AND n.attempt - 1 AND (a.started_at IS NOT NULL OR a.outcome NOT IN ('INTERRUPTED', 'LOST'))`))
			require.Equal(t, "2", text("SELECT retries::text FROM nodes WHERE name = 'moody'"))
			require.Equal(t, "closed 0 0", text("SELECT state || ' ' || cardinality(failures) || ' ' || opened FROM circuit_breakers"))
			require.Equal(t, "dead 1 user_error", text("SELECT string_agg(node || ' ' || attempt || ' ' || class, ', ') FROM dead_letters"))
			first, second := text("SELECT min(queued_at)::text FROM attempts WHERE attempt = 2"), text("SELECT max(queued_at)::text FROM attempts WHERE attempt = 3")
			require.Greater(t, second, first)
		})
	}
}
