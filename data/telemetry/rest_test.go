package telemetry

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestEngineRests: an engine that rests is available. Checks do not start it, readers and new
// lines do, and nothing is lost or missing.
func TestEngineRests(t *testing.T) {
	t.Parallel()
	engine := ownEngine(t, 300*time.Millisecond)
	b := setup(t, func(c *Config) {
		c.ClickHouseURL, c.Transport, c.Await, c.Check = engine.URL(), engine.Transport, engine.Await, engine.Check
	})
	rests := func() {
		t.Helper()
		eventually(t, "the engine rests", func() bool { return engine.PID() == 0 })
	}
	b.append(t, b.lines(1, 100)...)
	b.flushed(t)
	require.NoError(t, b.AppendMetrics(b.ctx, []Point{b.point(1, 2)}))
	b.flushed(t)
	up := b.Status()
	require.Equal(t, StateUp, up.ClickHouse)

	for round := range int64(3) {
		rests()
		require.NoError(t, b.Ready(b.ctx))
		require.NoError(t, b.flush(b.ctx), "as the loop does when there is nothing to insert")
		require.Zero(t, engine.PID(), "a check started the engine")

		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				page, err := b.Logs(b.ctx, LogQuery{ExecutionID: b.execution, Limit: 1000})
				if err != nil || page.Partial || len(page.Lines) != int(100+round) {
					t.Errorf("%d lines, partial %v, %v", len(page.Lines), page.Partial, err)
				}
				series, err := b.Series(b.ctx, MetricQuery{ExecutionID: b.execution})
				if err != nil || len(series) != 1 {
					t.Errorf("%d series, %v", len(series), err)
				}
			})
		}
		readers.Wait()

		rests()
		b.append(t, b.lines(101+round, 101+round)...)
		b.flushed(t)
	}
	var n uint64
	require.NoError(t, b.store.conn.QueryRow(b.ctx, "SELECT count() FROM logs").Scan(&n))
	require.EqualValues(t, 103, n)
	require.Equal(t, up.Since, b.Status().Since, "it was never down")
}
