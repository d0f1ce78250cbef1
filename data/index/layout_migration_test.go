package index_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/migrations"
)

// TestTheCopyToTheWideLayoutKeepsTheEntries: an upgrade that ended between two statements repeats
// all of them.
func TestTheCopyToTheWideLayoutKeepsTheEntries(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a, c := b.run(auth.LocalProject, map[string]any{"lr": 0.5}), b.run(auth.LocalProject, map[string]any{"lr": 0.25})
	find := func() index.Result {
		t.Helper()
		found, err := b.Find(b.ctx, index.Query{Where: "inputs.lr > 0", Sort: "inputs.lr", Columns: []string{"inputs.lr"}})
		require.NoError(t, err)
		return found
	}
	before := find()
	require.Len(t, before.Rows, 2)
	require.Equal(t, c, before.Rows[0].ID)
	require.Equal(t, a, before.Rows[1].ID)

	conn, err := b.telemetry.Conn()
	require.NoError(t, err)
	text, err := migrations.ClickHouse.ReadFile("clickhouse/00011_execution_values_wide.sql")
	require.NoError(t, err)
	statements := strings.Split(strings.TrimSuffix(string(text), ";\n"), ";\n")
	require.Len(t, statements, 6)
	for last := range statements { // it ends after each of them once
		for _, statement := range statements[:last+1] {
			require.NoError(t, conn.Exec(b.ctx, statement), statement)
		}
		require.Equal(t, before.Rows, find().Rows, last)
	}
	var tables uint64
	require.NoError(t, conn.QueryRow(b.ctx, "SELECT count() FROM system.tables WHERE database = currentDatabase() AND startsWith(name, 'execution_values')").Scan(&tables))
	require.Equal(t, uint64(1), tables)
	var layout string
	require.NoError(t, conn.QueryRow(b.ctx, "SELECT create_table_query FROM system.tables WHERE database = currentDatabase() AND name = 'execution_values'").Scan(&layout))
	require.Contains(t, layout, "index_granularity = 1024")
}
