package clickhouse_test

import (
	"context"
	"testing"
	"time"
)

// TestChecksMeetStops: a check that meets a stop does not report an engine that is down.
func TestChecksMeetStops(t *testing.T) {
	t.Parallel()
	engine, conn := startIdle(t, config(t, t.TempDir()), 20*time.Millisecond)
	for range 3 {
		mustExec(t, conn, "INSERT INTO n VALUES (1)")
		eventually(t, 20*time.Second, func() bool {
			if err := engine.Check(t.Context()); err != nil {
				t.Fatalf("a check: %v", err)
			}
			return engine.PID() == 0
		})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := engine.Check(ended); err != nil {
		t.Errorf("the check of a resting engine: %v", err)
	}
}
