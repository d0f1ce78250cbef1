package migrations_test

import (
	"io/fs"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/migrations"
)

// tasks of a run as the version before reported them: more than one batch.
const reported = `
INSERT INTO metaflow_flows (project_id, flow_id, ts_epoch) VALUES ('01900000-0000-7000-8000-000000000003', 'Flow', 1);
INSERT INTO metaflow_runs (run_number, project_id, flow_id, user_name, ts_epoch) OVERRIDING SYSTEM VALUE VALUES (7, '01900000-0000-7000-8000-000000000003', 'Flow', 'mia', 1);
INSERT INTO metaflow_steps (run_number, step_name, user_name, ts_epoch) VALUES (7, 'fit', 'mia', 1);
INSERT INTO metaflow_tasks (run_number, step_name, user_name, ts_epoch) SELECT 7, 'fit', 'mia', 1 FROM generate_series(1, 2500);
INSERT INTO metaflow_metadata (task_number, field_name, value, type, user_name, tags, ts_epoch)
    SELECT task_number, f.field, f.value, '', 'mia', ARRAY['attempt_id:' || f.attempt], f.at
    FROM metaflow_tasks, (VALUES ('attempt', '0', 0, 10), ('attempt_ok', 'False', 0, 20), ('attempt', '1', 1, 30), ('attempt_ok', 'True', 1, 40)) f(field, value, attempt, at);`

// TestMetaflowStatesMigrate: servers of the version before register tasks while the states of tasks
// are computed, and an interrupted migration runs again.
func TestMetaflowStatesMigrate(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	conn := stdlib.OpenDBFromPool(dbtest.New(t))
	t.Cleanup(func() { _ = conn.Close() })
	files, err := fs.Sub(migrations.Postgres, "postgres")
	require.NoError(t, err)
	provider, err := goose.NewProvider(goose.DialectPostgres, conn, files)
	require.NoError(t, err)
	_, err = provider.DownTo(ctx, 93)
	require.NoError(t, err)
	_, err = conn.ExecContext(ctx, reported)
	require.NoError(t, err)
	_, err = conn.ExecContext(ctx, `ALTER TABLE metaflow_tasks ADD COLUMN attempt bigint NOT NULL DEFAULT -1`) // as after an interruption
	require.NoError(t, err)

	reader, err := conn.BeginTx(ctx, nil)
	require.NoError(t, err)
	defer func() { _ = reader.Rollback() }()
	_, err = reader.ExecContext(ctx, `LOCK TABLE metaflow_metadata IN ACCESS EXCLUSIVE MODE`)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := provider.UpTo(ctx, 94)
		done <- err
	}()
	require.Eventually(t, func() bool { // the migration reads the metadata
		waits := false
		err := conn.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
			WHERE d.datname = current_database() AND l.relation = 'metaflow_metadata'::regclass AND NOT l.granted)`).Scan(&waits)
		return err == nil && waits || len(done) > 0
	}, 30*time.Second, 20*time.Millisecond)
	require.Empty(t, done)
	server, err := conn.BeginTx(ctx, nil)
	require.NoError(t, err)
	defer func() { _ = server.Rollback() }()
	_, err = server.ExecContext(ctx, `SET LOCAL lock_timeout = '5s'`)
	require.NoError(t, err)
	_, err = server.ExecContext(ctx, `INSERT INTO metaflow_tasks (run_number, step_name, user_name, ts_epoch) VALUES (7, 'fit', 'mia', 1)`)
	require.NoError(t, err, "a server of the version before waits for the migration")
	require.NoError(t, server.Commit())
	require.NoError(t, reader.Rollback())
	require.NoError(t, <-done)

	var completed, waiting int
	require.NoError(t, conn.QueryRowContext(ctx, `SELECT count(*) FILTER (WHERE attempt = 1 AND started = 10 AND ended = 40 AND ok = 'True'), count(*) FILTER (WHERE attempt = -1) FROM metaflow_tasks`).Scan(&completed, &waiting))
	require.Equal(t, [2]int{2500, 1}, [2]int{completed, waiting})
}
