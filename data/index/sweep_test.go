package index_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/index"
)

// swept makes an execution the run of a new sweep, as the sweep does.
func (b *testBundle) swept(execution uuid.UUID) uuid.UUID {
	b.t.Helper()
	id := uuid.Must(uuid.NewV7())
	b.exec(`INSERT INTO workflows (id, project_id, name, owner_team, created_at, updated_at) VALUES ($1, $2, 'swept', '', now(), now())`, id, auth.LocalProject)
	b.exec(`INSERT INTO input_sweeps (id, tenant_id, project_id, workflow_id, version_id, workflow_name, version, name, state, method, space, inputs, stopping,
			planned, created, parallelism, gpu_hours, seed, priority, created_by, created_by_name, created_at, updated_at)
		VALUES ($1, $2, $3, $1, $1, 'swept', '1.0.0', 'rates', 'RUNNING', 'grid', '[]', '{}', '{}', 1, 1, 1, 0, 1, 50, $1, 'Mei', now(), now())`,
		id, auth.LocalTenant, auth.LocalProject)
	b.exec(`INSERT INTO input_sweep_runs (sweep_id, number, state, chosen, space_version, execution_id, created_at) VALUES ($1, 0, 'RUNNING', '{}', 1, $2, now())`, id, execution)
	require.NoError(b.t, b.Note(b.ctx, []uuid.UUID{execution}))
	return id
}

func TestExecutionsAreFoundByTheirSweep(t *testing.T) {
	t.Parallel()
	b := setup(t)
	single, run := b.run(auth.LocalProject, map[string]any{"lr": 0.1}), b.run(auth.LocalProject, map[string]any{"lr": 0.2})
	sweep := b.swept(run).String()
	for where, want := range map[string][]uuid.UUID{
		"sweep:" + sweep:              {run},
		"sweep = " + sweep[:8]:        {run},
		"sweep:#" + sweep[30:]:        {run},
		"sweep != " + sweep:           {}, // of another sweep
		"sweep != " + single.String(): {run},
		"has:sweep":                   {run},
		"not has:sweep":               {single},
	} {
		require.Equal(t, want, b.find(index.Query{Where: where}), where)
	}
	r, err := b.Find(b.ctx, index.Query{Sort: "sweep", Columns: []string{"sweep"}})
	require.NoError(t, err)
	require.Equal(t, []any{sweep}, r.Rows[0].Values)
	require.Equal(t, []any{nil}, r.Rows[1].Values)
	groups, err := b.Groups(b.ctx, index.Query{}, "sweep")
	require.NoError(t, err)
	require.Empty(t, groups.Columns)
	require.Len(t, groups.Groups, 2)
}
