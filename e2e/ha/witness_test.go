package ha_test

import (
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// witnesses record in the database who writes what, by session and independent of the
// engine: transitions and renewals by a scheduler that does not hold the lease, after its
// current holder has taken it over.
const witnesses = `
CREATE TABLE ha_takeovers (term bigint PRIMARY KEY, holder text NOT NULL);
CREATE TABLE ha_moves (writer text NOT NULL);
CREATE TABLE ha_zombies (writer text NOT NULL, leader text NOT NULL, execution_id uuid NOT NULL, what text NOT NULL);
CREATE FUNCTION ha_witness() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	writer text := regexp_replace(current_setting('application_name'), '/pooled$', '');
	latest leases;
BEGIN
	IF writer NOT LIKE 'flowforge/scheduler%' THEN
		RETURN NULL;
	END IF;
	IF NEW.event_seq > OLD.event_seq AND NEW.started_at IS NOT NULL THEN
		INSERT INTO ha_moves (writer) VALUES (writer);
	END IF;
	SELECT * INTO latest FROM leases WHERE name = 'scheduler';
	IF writer = 'flowforge/' || latest.holder THEN
		IF NEW.owner = '' AND NEW.owner_epoch > OLD.owner_epoch THEN
			INSERT INTO ha_takeovers (term, holder) VALUES (latest.term, latest.holder) ON CONFLICT DO NOTHING;
		END IF;
		RETURN NULL;
	END IF;
	IF EXISTS (SELECT 1 FROM ha_takeovers t WHERE t.term = latest.term)
		AND (NEW.event_seq <> OLD.event_seq OR NEW.status <> OLD.status OR NEW.lease_until > OLD.lease_until) THEN
		INSERT INTO ha_zombies (writer, leader, execution_id, what) VALUES (writer, latest.holder, NEW.id, OLD::text || ' -> ' || NEW::text);
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER ha_witness AFTER UPDATE ON executions FOR EACH ROW EXECUTE FUNCTION ha_witness()`

// witness installs the witnesses; checkAll reads them.
func (in *installation) witness() {
	in.t.Helper()
	_, err := in.pool.Exec(in.t.Context(), witnesses)
	require.NoError(in.t, err)
}

// zombies returns the writes that should have been refused; none without witnesses.
func (in *installation) zombies() []string {
	in.t.Helper()
	if in.number("SELECT count(*) FROM pg_tables WHERE tablename = 'ha_zombies'") == 0 {
		return nil
	}
	rows, err := in.pool.Query(in.t.Context(), "SELECT writer || ' after ' || leader || ': ' || what FROM ha_zombies")
	require.NoError(in.t, err)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(in.t, err)
	return list
}

// checkWitness writes like an unfenced zombie and checks that this is detected; it leaves
// no data.
func (in *installation) checkWitness() {
	in.t.Helper()
	ctx := in.t.Context()
	err := pgx.BeginFunc(ctx, in.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `SET LOCAL application_name = 'flowforge/scheduler-launcher-0/zombie'`)
		require.NoError(in.t, err)
		_, err = tx.Exec(ctx, `UPDATE executions SET event_seq = event_seq + 1 WHERE id = (SELECT id FROM executions LIMIT 1)`)
		require.NoError(in.t, err)
		var seen int
		require.NoError(in.t, tx.QueryRow(ctx, "SELECT count(*) FROM ha_zombies").Scan(&seen))
		require.Equal(in.t, 1, seen, "a write of a zombie is seen")
		return pgx.ErrTxClosed
	})
	require.ErrorIs(in.t, err, pgx.ErrTxClosed)
}
