package index_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/index"
)

// used counts the statements of a connection.
type used struct {
	driver.Conn

	statements *atomic.Int64
}

func (u used) Query(ctx context.Context, query string, args ...any) (driver.Rows, error) {
	u.statements.Add(1)
	return u.Conn.Query(ctx, query, args...)
}

func (u used) QueryRow(ctx context.Context, query string, args ...any) driver.Row {
	u.statements.Add(1)
	return u.Conn.QueryRow(ctx, query, args...)
}

func (u used) Exec(ctx context.Context, query string, args ...any) error {
	u.statements.Add(1)
	return u.Conn.Exec(ctx, query, args...)
}

func (u used) Ping(ctx context.Context) error {
	u.statements.Add(1)
	return u.Conn.Ping(ctx)
}

// TestLooksWithoutChangesDoNotUseClickHouse: they would start an engine that rests.
func TestLooksWithoutChangesDoNotUseClickHouse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var looks, statements atomic.Int64
	service := index.New(index.Config{
		Pool: b.pool,
		Now:  func() time.Time { return time.Now().Add(time.Duration(looks.Load()) * time.Hour) }, // the table is checked every minute
		Conn: func() (driver.Conn, error) {
			looks.Add(1)
			conn, err := b.telemetry.Conn()
			return used{conn, &statements}, err
		},
	})
	running, stop := context.WithCancel(b.ctx)
	done := make(chan error, 1)
	go func() { done <- service.Run(running) }()
	defer func() {
		stop()
		require.NoError(t, <-done)
	}()
	require.Eventually(t, func() bool { return looks.Load() > 1 }, 30*time.Second, time.Millisecond)
	first := statements.Load()
	require.Positive(t, first, "the first look checks the table")
	require.Eventually(t, func() bool { return looks.Load() > 3 }, 30*time.Second, time.Millisecond)
	require.Equal(t, first, statements.Load())
	b.run(auth.LocalProject, map[string]any{"lr": 1})
	require.Eventually(t, func() bool { return statements.Load() > first }, 30*time.Second, time.Millisecond)
}

// TestSearchesWithoutChangesOnlyRead: no statement of a search only checks ClickHouse.
func TestSearchesWithoutChangesOnlyRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(auth.LocalProject, map[string]any{"lr": 1})
	var statements atomic.Int64
	service := index.New(index.Config{Pool: b.pool, Now: time.Now, Conn: func() (driver.Conn, error) {
		conn, err := b.telemetry.Conn()
		return used{conn, &statements}, err
	}})
	find := func() {
		t.Helper()
		found, err := service.Find(b.ctx, index.Query{Where: "inputs.lr = 1"})
		require.NoError(t, err)
		require.Len(t, found.Rows, 1)
	}
	find()
	statements.Store(0)
	find()
	require.EqualValues(t, 1, statements.Load())
}

// TestPassesDoNotWaitForSearches: searches that use all of their connections do not keep the index from
// coming up to date.
func TestPassesDoNotWaitForSearches(t *testing.T) {
	t.Parallel()
	b := setup(t)
	searches, err := b.telemetry.Conn()
	require.NoError(t, err)
	for range searches.Stats().MaxOpenConns {
		held, err := searches.PrepareBatch(b.ctx, "INSERT INTO logs (message)") // keeps a connection
		require.NoError(t, err)
		t.Cleanup(func() { _ = held.Abort() })
	}
	id := b.run(auth.LocalProject, map[string]any{"lr": 0.1})
	service := index.New(index.Config{Pool: b.pool, Conn: b.telemetry.Conn, Background: b.telemetry.Background, Now: time.Now})
	running, stop := context.WithCancel(b.ctx)
	done := make(chan error, 1)
	go func() { done <- service.Run(running) }()
	defer func() {
		stop()
		require.NoError(t, <-done)
	}()
	background, err := b.telemetry.Background()
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		var n uint64
		err := background.QueryRow(b.ctx, "SELECT count() FROM execution_values WHERE execution_id = ?", id).Scan(&n)
		return err == nil && n == 1
	}, 30*time.Second, 10*time.Millisecond)
}
