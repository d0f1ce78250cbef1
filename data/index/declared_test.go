package index_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/index"
)

// workflow registers a workflow with a definition, as far as queries look at it.
func (b *testBundle) workflow(project uuid.UUID, name, definition string) {
	b.t.Helper()
	b.exec(`WITH new AS (
			INSERT INTO workflows (id, project_id, name, owner_team, latest_version_id, created_at, updated_at)
			VALUES (gen_random_uuid(), $1, $2, 'research', gen_random_uuid(), now(), now()) RETURNING id, latest_version_id)
		INSERT INTO workflow_versions (id, workflow_id, version, major, minor, patch, prerelease, definition, plan, content_hash, node_count, created_by, created_at)
		SELECT latest_version_id, id, '1.0.0', 1, 0, 0, '', $3, '{}', sha256(''), 1, gen_random_uuid(), now() FROM new`, project, name, definition)
}

// TestQueriesCanUseNamesThatNoExecutionHasYet: a query on a declared output is valid before the
// first execution ends.
func TestQueriesCanUseNamesThatNoExecutionHasYet(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.workflow(auth.LocalProject, "digits-train", `{"inputs": [{"name": "lr", "type": "Float(min=0)"}, {"name": "seed", "type": "Optional<Integer>"}],
		"outputs": [{"name": "accuracy", "type": "Float"}, {"name": "kind", "type": "Enum<svc|forest>"}, {"name": "report", "type": "File"}]}`)
	b.workflow(b.project("other"), "secret", `{"inputs": [], "outputs": [{"name": "hidden", "type": "Float"}]}`)
	id := b.run(auth.LocalProject, map[string]any{"lr": 0.1})

	for where, want := range map[string][]uuid.UUID{
		"outputs.accuracy >= 0.9": {}, "accuracy < 1 or lr = .1": {id}, "kind = svc": {}, "seed = 3": {}, "not has:accuracy": {id},
	} {
		q := index.Query{Where: where}
		require.NoError(t, b.Check(b.ctx, q, "kind"), where)
		require.Equal(t, want, b.find(q), where)
	}
	for _, where := range []string{"accuracy = high", "hidden > 1", "report = x", "acuracy > 1"} {
		_, err := b.Find(b.ctx, index.Query{Where: where})
		require.True(t, apperr.Is(err, apperr.Invalid), "%s: %v", where, err)
	}
	r, err := b.Find(b.ctx, index.Query{Sort: "-accuracy", Columns: []string{"accuracy", "kind", "lr"}})
	require.NoError(t, err)
	require.Equal(t, []any{nil, nil, 0.1}, r.Rows[0].Values)
	groups, err := b.Groups(b.ctx, index.Query{Columns: []string{"accuracy"}}, "kind")
	require.NoError(t, err)
	require.Len(t, groups.Groups, 1)
	_, err = b.Facets(b.ctx, index.Query{Columns: []string{"accuracy", "kind"}})
	require.NoError(t, err)
	c, err := b.Complete(b.ctx, "accu")
	require.NoError(t, err)
	require.Equal(t, "accuracy", c.Suggestions[0].Field.Name)

	b.end(id, "SUCCEEDED", `{"accuracy": 0.95, "kind": "svc"}`)
	require.NoError(t, b.Note(b.ctx, []uuid.UUID{id}))
	require.Equal(t, []uuid.UUID{id}, b.find(index.Query{Where: "outputs.accuracy >= 0.9 and kind = svc"}))
}
