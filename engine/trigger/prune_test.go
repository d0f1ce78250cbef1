package trigger_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

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
