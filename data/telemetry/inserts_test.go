package telemetry

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInsertsDoNotWaitForReaders: readers that use all of their connections neither delay records nor
// make ClickHouse seem to be down.
func TestInsertsDoNotWaitForReaders(t *testing.T) {
	b := setup(t, nil)
	b.flushed(t)
	for range b.store.conn.Stats().MaxOpenConns {
		held, err := b.store.conn.PrepareBatch(b.ctx, "INSERT INTO logs (message)") // keeps a connection
		require.NoError(t, err)
		t.Cleanup(func() { _ = held.Abort() })
	}
	b.append(t, b.line(1, nil))
	b.flushed(t)
	require.Equal(t, StateUp, b.Status().ClickHouse)
}
