package trigger_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/trigger"
)

// TestPruningReadsTheNewestRows: it runs after each delivery, so it must not read all that are kept.
func TestPruningReadsTheNewestRows(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tr := b.put(webhook(trigger.GitHub))
	const kept = 20_000
	// The ID of the single row is of 2024.
	insert := `INSERT INTO trigger_deliveries (id, trigger_id, key, subject, outcome, reason, message, depth, at)
		SELECT ($2 || lpad(to_hex(i), 12, '0'))::uuid, $1, 'seeded/' || $2 || i, 'push', 'SKIPPED', '', '', 1, now() FROM generate_series(1, $3::integer) i`
	now := uuid.Must(uuid.NewV7()).String()[:24]
	for start, n := range map[string]int{now: kept, "01900000-0000-7000-8000-": 1} {
		_, err := b.pool.Exec(b.ctx, insert, tr.ID, start, n)
		require.NoError(t, err)
	}
	_, err := b.pool.Exec(b.ctx, "ANALYZE trigger_deliveries")
	require.NoError(t, err)
	var read int
	err = db.Tx(b.ctx, b.pool, func(tx pgx.Tx, q *db.Queries) error {
		if err := q.PruneDeliveries(b.ctx, trigger.KeptPayload, tr.ID, b.now.Add(-trigger.KeepFor), 200); err != nil {
			return err
		}
		return tx.QueryRow(b.ctx, "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'trigger_deliveries'").Scan(&read)
	})
	require.NoError(t, err)
	require.Positive(t, read)
	require.Less(t, read, 1000)
	var left int
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT count(*) FROM trigger_deliveries").Scan(&left))
	require.Equal(t, kept, left)
}

// TestBusyTriggersAreReadByOutcome: most deliveries of a busy trigger neither launch nor fail, so what is read
// about the others must not read them.
func TestBusyTriggersAreReadByOutcome(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tr := b.put(webhook(trigger.GitHub))
	const kept = 20_000
	now := uuid.Must(uuid.NewV7()).String()[:24]
	_, err := b.pool.Exec(b.ctx, `INSERT INTO trigger_deliveries (id, trigger_id, key, subject, outcome, reason, message, execution_id, depth, at)
		SELECT ($2 || lpad(to_hex(i), 12, '0'))::uuid, $1, 'seeded/' || i, 'push', CASE i WHEN 1 THEN 'LAUNCHED' ELSE 'SKIPPED' END, '', '', CASE i WHEN 1 THEN $1::uuid END, 1, now()
		FROM generate_series(1, $3::integer) i`, tr.ID, now, kept)
	require.NoError(t, err)
	_, err = b.pool.Exec(b.ctx, "ANALYZE trigger_deliveries")
	require.NoError(t, err)
	for name, read := range map[string]func(*db.Queries) error{
		"the last outcome": func(q *db.Queries) error {
			outcome, err := q.OutcomeBeforeDelivery(b.ctx, tr.ID, uuid.Max)
			require.Equal(t, "LAUNCHED", outcome)
			return err
		},
		"the launches of a week": func(q *db.Queries) error {
			counts, err := q.LaunchedByTriggers(b.ctx, auth.LocalProject, time.Now().Add(-7*24*time.Hour))
			require.Equal(t, []db.LaunchedByTriggersRow{{TriggerID: tr.ID, Launches: 1}}, counts)
			return err
		},
	} {
		var rows int
		err := db.Tx(b.ctx, b.pool, func(tx pgx.Tx, q *db.Queries) error {
			if err := read(q); err != nil {
				return err
			}
			return tx.QueryRow(b.ctx, "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'trigger_deliveries'").Scan(&rows)
		})
		require.NoError(t, err)
		require.Less(t, rows, 100, name)
	}
}
