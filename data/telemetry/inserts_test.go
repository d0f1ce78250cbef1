package telemetry

import (
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"
)

// hold uses all connections of a pool until the end of the test.
func (b *testBundle) hold(t *testing.T, pool driver.Conn) {
	t.Helper()
	for range pool.Stats().MaxOpenConns {
		held, err := pool.PrepareBatch(b.ctx, "INSERT INTO logs (message)") // keeps a connection
		require.NoError(t, err)
		t.Cleanup(func() { _ = held.Abort() })
	}
}

// TestInsertsDoNotWaitForReaders: readers that use all of their connections neither delay records nor
// make ClickHouse seem to be down.
func TestInsertsDoNotWaitForReaders(t *testing.T) {
	b := setup(t, nil)
	b.flushed(t)
	b.hold(t, b.store.conn)
	b.append(t, b.line(1, nil))
	b.flushed(t)
	require.Equal(t, StateUp, b.Status().ClickHouse)
}

// TestOtherTablesDoNotWaitForReaders: the index of executions is searched and brought up to date while
// open pages use all connections of readers.
func TestOtherTablesDoNotWaitForReaders(t *testing.T) {
	b := setup(t, nil)
	b.flushed(t)
	b.hold(t, b.store.conn)
	searches, err := b.Conn()
	require.NoError(t, err)
	require.NoError(t, searches.Exec(b.ctx, "SELECT 1"))
	b.hold(t, searches)
	background, err := b.Background()
	require.NoError(t, err)
	require.NoError(t, background.Exec(b.ctx, "SELECT 1"))
}
