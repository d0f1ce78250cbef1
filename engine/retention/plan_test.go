package retention

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
)

// query returns the text of a query with values for its parameters.
func query(t *testing.T, name string, values ...string) string {
	t.Helper()
	text, err := os.ReadFile("../../db/queries/workflows.sql")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(text), "-- name: "+name+" ")
	require.True(t, found, name)
	_, after, _ = strings.Cut(after, "\n")
	body, _, _ := strings.Cut(after, ";")
	return regexp.MustCompile(`@\w+`).ReplaceAllStringFunc(strings.NewReplacer(values...).Replace(body), func(parameter string) string {
		t.Fatalf("%s: the parameter %s has no value", name, parameter)
		return ""
	})
}

// TestUnusedVersionsAreFoundByAnIndex: whether an execution uses a version is one look into an
// index, however many executions the workflow has.
func TestUnusedVersionsAreFoundByAnIndex(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, nil)
	id := b.execution(auth.LocalProject, "SUCCEEDED", "{}")
	columns := ""
	rows, err := b.pool.Query(b.ctx, `SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = 'executions'
		AND column_name NOT IN ('id', 'version_id') AND is_generated = 'NEVER'`)
	require.NoError(t, err)
	for rows.Next() {
		var column string
		require.NoError(t, rows.Scan(&column))
		columns += ", " + column
	}
	require.NoError(t, rows.Err())
	b.exec(`INSERT INTO executions (id, version_id`+columns+`)
		SELECT overlay(id::text placing lpad(to_hex(n), 12, '0') from 25)::uuid, gen_random_uuid()`+columns+`
		FROM executions, generate_series(1, 20000) n WHERE id = $1`, id)
	b.exec(`ANALYZE executions`)
	for _, text := range []string{
		query(t, "LockUnusedVersions", "@before", "now()", "@after", "'"+uuid.Nil.String()+"'", "@row_limit", "500"),
		query(t, "DeleteUnusedVersions", "@before", "now()", "@ids", "'{"+uuid.NewString()+"}'"),
	} {
		var plan []byte
		require.NoError(t, b.pool.QueryRow(b.ctx, "EXPLAIN (FORMAT JSON) "+text).Scan(&plan))
		require.Contains(t, string(plan), "workflow_id_version_id_idx", "%s\n%s", text, plan)
	}
}
