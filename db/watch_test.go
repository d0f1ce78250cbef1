package db_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/db/dbtest"
)

// TestWatchReportsOtherSessions: a loop that rests is woken by the commit of another session.
func TestWatchReportsOtherSessions(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	watch := db.NewWatch(pool, slog.New(slog.DiscardHandler))
	run(t, watch)
	turn := watch.Turn()
	rested := make(chan bool, 1)
	go func() { rested <- turn.Rest(t.Context(), nil, time.Hour, 2*time.Hour) }()
	require.Eventually(t, func() bool { return watch.Resting() == 1 }, 10*time.Second, time.Millisecond)
	select {
	case <-rested:
		t.Fatal("a change ends the rest before the minimum")
	default:
	}
	soon := watch.Turn()
	exec(t, pool, "UPDATE event_feed_state SET removed = removed")
	require.False(t, soon.Rest(t.Context(), nil, time.Millisecond, time.Hour), "the change ends the rest")
}

// TestTurnMissesNoChange: a change during a poll ends the idle period that follows.
func TestTurnMissesNoChange(t *testing.T) {
	t.Parallel()
	watch := dbtest.NewWatch(t)
	turn := watch.Turn()
	watch.Announce()
	require.False(t, turn.Rest(t.Context(), nil, time.Millisecond, time.Hour))
	wake := make(chan struct{}, 1)
	wake <- struct{}{}
	require.True(t, turn.Rest(t.Context(), wake, time.Hour, time.Hour), "a wake-up does not wait for the minimum")
	require.False(t, watch.Turn().Rest(t.Context(), nil, time.Hour, time.Millisecond), "what is due does not wait for the minimum")
	var none *db.Watch
	require.False(t, none.Turn().Rest(t.Context(), nil, time.Millisecond, time.Hour), "without a watch, loops look at their interval")
}

// TestWatchAfterFailure: what ended while the database did not respond is unknown, so loops look.
func TestWatchAfterFailure(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	watch := db.NewWatch(pool, slog.New(slog.DiscardHandler))
	exec(t, pool, "ALTER TABLE leases RENAME TO away")
	run(t, watch)
	turn := watch.Turn()
	exec(t, pool, "ALTER TABLE away RENAME TO leases")
	require.False(t, turn.Rest(t.Context(), nil, time.Millisecond, time.Hour))
}

// run runs a watch until the test ends.
func run(t *testing.T, watch *db.Watch) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = watch.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

func exec(t *testing.T, pool *pgxpool.Pool, sql string) {
	t.Helper()
	_, err := pool.Exec(t.Context(), sql)
	require.NoError(t, err)
}

// TestRenewalsAreKnown: the transactions that renewed a lease last are those that the watch ignores.
func TestRenewalsAreKnown(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	watch := db.NewWatch(pool, slog.New(slog.DiscardHandler))
	for _, sql := range []string{
		"INSERT INTO leases (name, holder, term, address, expires_at) VALUES ('test', 'a', 1, 'http://a', now())",
		"UPDATE leases SET expires_at = now()",
		"INSERT INTO river_leader (elected_at, expires_at, leader_id) VALUES (now(), now(), 'a')",
		"UPDATE river_leader SET expires_at = now()",
	} {
		var id int64
		require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), sql); err != nil {
				return err
			}
			return tx.QueryRow(t.Context(), "SELECT pg_current_xact_id()::text::bigint").Scan(&id)
		}))
		renewals, err := watch.Renewals(t.Context())
		require.NoError(t, err)
		require.Contains(t, renewals, uint32(id), sql)
	}
}
