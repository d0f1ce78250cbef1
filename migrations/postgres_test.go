package migrations_test

import (
	"context"
	"database/sql"
	"io/fs"
	"testing"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/migrations"
)

// rows of the first schema, which the later migrations have to carry over.
const fixture = `
INSERT INTO workflows (id, project_id, name, owner_team, created_at, updated_at) VALUES
    ('01900000-0000-7000-8000-0000000000a1', '01900000-0000-7000-8000-000000000003', 'digits.train', 'local', now(), now());
INSERT INTO tenants (id, name) VALUES ('01900000-0000-7000-8000-0000000000b1', 'other');
INSERT INTO teams (id, tenant_id, name) VALUES ('01900000-0000-7000-8000-0000000000b2', '01900000-0000-7000-8000-0000000000b1', 'team');
INSERT INTO projects (id, tenant_id, team_id, name) VALUES
    ('01900000-0000-7000-8000-0000000000b3', '01900000-0000-7000-8000-0000000000b1', '01900000-0000-7000-8000-0000000000b2', 'p');
INSERT INTO catalogue_entries (id, project_id, kind, name, version, facts, blob, created_by, created_at) VALUES
    ('01900000-0000-7000-8000-0000000000d1', '01900000-0000-7000-8000-0000000000b3', 'Dataset', 'digits', '1', '{}',
    '{"sha256": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", "size": 5}', 'mia', now());
INSERT INTO users (id, tenant_id, name, role) VALUES
    ('01900000-0000-7000-8000-0000000000c1', '01900000-0000-7000-8000-0000000000b1', 'mia', 'member');`

// TestMigrations goes down to the schema that has the tenancy of one machine and
// up again with rows in it, and then all the way down and up.
func TestMigrations(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	pool := dbtest.New(t)
	conn := stdlib.OpenDBFromPool(pool)
	t.Cleanup(func() { _ = conn.Close() })
	files, err := fs.Sub(migrations.Postgres, "postgres")
	require.NoError(t, err)
	provider, err := goose.NewProvider(goose.DialectPostgres, conn, files)
	require.NoError(t, err)

	latest, err := provider.GetDBVersion(ctx)
	require.NoError(t, err)
	_, err = provider.DownTo(ctx, 5)
	require.NoError(t, err)
	_, err = conn.ExecContext(ctx, fixture)
	require.NoError(t, err)
	up(ctx, t, provider, latest)
	up(ctx, t, provider, latest)

	require.Equal(t, []string{"local", "local/local", "local/local/default", "other", "other/team", "other/team/p"}, places(ctx, t, conn))
	var users, usage int
	require.NoError(t, conn.QueryRowContext(ctx, `SELECT count(*) FROM users WHERE NOT installation_admin AND name = 'mia'`).Scan(&users))
	require.Equal(t, 1, users)
	require.NoError(t, conn.QueryRowContext(ctx, `SELECT count(*) FROM quota_usage u JOIN tenancy_nodes n ON n.id = u.node_id AND cardinality(n.path) = u.depth`).Scan(&usage))
	require.Equal(t, 7, usage)

	var bytes int
	require.NoError(t, conn.QueryRowContext(ctx, `SELECT u.storage_bytes FROM project_blobs b JOIN quota_usage u ON u.node_id = b.project_id`).Scan(&bytes))
	require.Equal(t, 5, bytes, "the project has what its catalogue names")

	_, err = provider.DownTo(ctx, 0)
	require.NoError(t, err)
	up(ctx, t, provider, latest)
}

func up(ctx context.Context, t *testing.T, provider *goose.Provider, want int64) {
	t.Helper()
	_, err := provider.Up(ctx)
	require.NoError(t, err)
	got, err := provider.GetDBVersion(ctx)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// places are the tenancy nodes by the names on their paths.
func places(ctx context.Context, t *testing.T, conn *sql.DB) []string {
	t.Helper()
	rows, err := conn.QueryContext(ctx, `
SELECT string_agg(p.name, '/' ORDER BY u.depth) AS place
FROM tenancy_nodes n, unnest(n.path) WITH ORDINALITY AS u(id, depth) JOIN tenancy_nodes p ON p.id = u.id
WHERE n.kind <> 'installation' AND p.kind <> 'installation'
GROUP BY n.id ORDER BY 1`)
	require.NoError(t, err)
	defer rows.Close()
	var list []string
	for rows.Next() {
		var place string
		require.NoError(t, rows.Scan(&place))
		list = append(list, place)
	}
	require.NoError(t, rows.Err())
	return list
}
