package telemetry

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
)

func TestRemoveTakesTheLinesAndPointsOfTheseExecutionsAlone(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	other := uuid.Must(uuid.NewV7())
	for _, id := range []uuid.UUID{b.execution, other} {
		require.NoError(t, b.AppendLogs(b.ctx, []LogLine{{ExecutionID: id, Node: "a", Attempt: 1, Stream: "stdout", Seq: 1, Time: time.Now(), Level: "INFO", Message: "hello"}}))
		require.NoError(t, b.AppendMetrics(b.ctx, []Point{{ExecutionID: id, Node: "a", Attempt: 1, Seq: 1, Name: "loss", Kind: Gauge, Value: 1, Time: time.Now()}}))
		require.NoError(t, b.AppendFacts(b.ctx, []Fact{{ExecutionID: id, FinishedAt: time.Now()}}))
	}
	require.NoError(t, b.flush(b.ctx))
	count := func(table string, id uuid.UUID) (n uint64) {
		require.NoError(t, b.store.conn.QueryRow(b.ctx, "SELECT count() FROM "+table+" WHERE execution_id = ?", id).Scan(&n))
		return n
	}
	require.EqualValues(t, 1, count("logs", b.execution))

	for range 2 { // again: nothing is left to do
		require.NoError(t, b.Remove(b.ctx, []uuid.UUID{b.execution}))
	}
	for _, table := range tables() {
		require.Zero(t, count(table, b.execution), table)
		require.EqualValues(t, 1, count(table, other), table)
	}
	require.EqualValues(t, 1, count("execution_facts", b.execution), "facts of executions are kept for reports")
}

func TestRemoveTakesWhatIsStillSpooled(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.FlushInterval = time.Hour })
	require.NoError(t, b.flush(b.ctx)) // the tables are there
	require.NoError(t, b.AppendLogs(b.ctx, []LogLine{{ExecutionID: b.execution, Node: "a", Attempt: 1, Stream: "stdout", Seq: 1, Time: time.Now(), Level: "INFO", Message: "late"}}))
	require.NoError(t, b.Remove(b.ctx, []uuid.UUID{b.execution}))
	require.NoError(t, b.flush(b.ctx))
	var n uint64
	require.NoError(t, b.store.conn.QueryRow(b.ctx, "SELECT count() FROM logs WHERE execution_id = ?", b.execution).Scan(&n))
	require.Zero(t, n)
}

func TestRemoveWaitsForClickHouse(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.ClickHouseURL = "http://127.0.0.1:1" })
	err := b.Remove(b.ctx, []uuid.UUID{b.execution})
	require.True(t, apperr.Is(err, apperr.Unavailable), "%v", err)
	require.True(t, apperr.Is(b.Remove(auth.WithSubject(t.Context(), auth.Subject{Role: auth.RoleUser}), nil), apperr.Forbidden))
}

// TestLinesByLevel: an overview counts lines by level and hour, and a line names its pod and its machine.
func TestLinesByLevel(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	lines := make([]LogLine, 5)
	for i := range lines {
		lines[i] = LogLine{ExecutionID: b.execution, NodeIndex: 2, Node: "a", Attempt: 1, Stream: "stdout", Seq: int64(i), Time: time.Now(), Level: []string{"INFO", "ERROR"}[i%2], Message: "x", Pod: "warm-1", Machine: "gpu-7"}
	}
	require.NoError(t, b.AppendLogs(b.ctx, lines))
	require.NoError(t, b.flush(b.ctx))
	for level, want := range map[string]uint64{"INFO": 3, "ERROR": 2} {
		var n uint64
		require.NoError(t, b.store.conn.QueryRow(b.ctx, "SELECT sum(count) FROM logs_by_level WHERE execution_id = ? AND level = ?", b.execution, level).Scan(&n))
		require.Equal(t, want, n, level)
	}
	var pod, node string
	require.NoError(t, b.store.conn.QueryRow(b.ctx, "SELECT any(pod_name), any(node_name) FROM logs WHERE execution_id = ?", b.execution).Scan(&pod, &node))
	require.Equal(t, []string{"warm-1", "gpu-7"}, []string{pod, node})
	page, err := b.Logs(b.ctx, LogQuery{ExecutionID: b.execution, Limit: 1})
	require.NoError(t, err)
	require.Equal(t, []string{"warm-1", "gpu-7"}, []string{page.Lines[0].Pod, page.Lines[0].Machine})
}
