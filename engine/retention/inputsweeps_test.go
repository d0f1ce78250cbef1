package retention

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/workflow"
)

// inputSweep inserts an ended sweep whose runs are the given executions.
func (b *testBundle) inputSweep(name, state string, runs ...uuid.UUID) uuid.UUID {
	b.t.Helper()
	id, w := uuid.Must(uuid.NewV7()), uuid.New()
	b.exec(`INSERT INTO workflows (id, project_id, name, owner_team, created_at, updated_at) VALUES ($1, $2, $3, 'team', $4, $4)`, w, auth.LocalProject, name, b.clock.Now())
	b.exec(`INSERT INTO input_sweeps (id, tenant_id, project_id, workflow_id, version_id, workflow_name, version, name, state, method, space, inputs, stopping, planned,
			created, parallelism, gpu_hours, seed, priority, created_by, created_by_name, created_at, updated_at, ended_at)
		VALUES ($1, $2, $3, $4, $4, 'w', '1.0.0', $5, $6, 'random', '[]', '{}', '{}', 9, $7, 1, 0, 1, 50, $8, 'ada', $9, $9, $9)`,
		id, auth.LocalTenant, auth.LocalProject, w, name, state, len(runs), auth.LocalAdmin, b.clock.Now())
	for i, run := range runs {
		b.exec(`INSERT INTO input_sweep_runs (sweep_id, number, state, chosen, space_version, execution_id, created_at, settled) VALUES ($1, $2, 'SUCCEEDED', '{}', 1, $3, $4, true)`,
			id, i, run, b.clock.Now())
	}
	return id
}

func (b *testBundle) sweepsLeft() (n int64) { return b.count(`SELECT count(*) FROM input_sweeps`) }

// TestSweepsGoAfterTheirExecutions: not before their own retention has passed, and not while an
// execution is kept. A dry run names them.
func TestSweepsGoAfterTheirExecutions(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, nil)
	p := auth.LocalProject
	first, second, kept := b.execution(p, "SUCCEEDED", `{}`), b.execution(p, "FAILED", `{}`), b.execution(p, "SUCCEEDED", `{}`)
	gone := b.inputSweep("learning rate", "SUCCEEDED", first, second)
	held := b.inputSweep("batch size", "SUCCEEDED", kept)
	b.inputSweep("forever", "SUCCEEDED")
	require.Zero(t, b.sweep().InputSweeps, "no rule, no retention")
	for _, id := range []uuid.UUID{first, second, kept} {
		b.expire(id)
	}
	require.NoError(t, b.Keep(b.ctx, kept))
	b.exec(`UPDATE input_sweeps SET expires_at = $2 WHERE id = ANY ($1)`, []uuid.UUID{gone, held}, b.clock.Now())
	b.clock.add(aWhile)
	preview, err := b.Sweep(b.ctx, true)
	require.NoError(t, err)
	require.Equal(t, []string{"learning rate"}, preview.InputSweepNames)
	require.EqualValues(t, 3, b.sweepsLeft(), "a dry run removes nothing")
	r := b.sweep()
	require.Equal(t, []string{"learning rate"}, r.InputSweepNames)
	require.EqualValues(t, 1, r.InputSweeps)
	require.Zero(t, b.count(`SELECT count(*) FROM input_sweep_runs WHERE sweep_id = $1`, gone))
	require.EqualValues(t, 1, b.count(`SELECT count(*) FROM audit_log WHERE action = 'sweep.expire' AND object_id = $1`, gone.String()))
	require.NoError(t, b.Release(b.ctx, kept))
	require.Equal(t, []string{"batch size"}, b.sweep().InputSweepNames)
	reports, err := b.Sweeps(b.ctx, 1)
	require.NoError(t, err)
	require.Equal(t, []string{"batch size"}, reports[0].InputSweepNames)
	require.EqualValues(t, 1, b.sweepsLeft())
}

// TestTheInstallationsRuleHoldsForSweeps: sweeps that were stopped count as failed.
func TestTheInstallationsRuleHoldsForSweeps(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, func(c *Config) {
		c.Rule = workflow.TTL{Success: new(24 * time.Hour), Failure: new(72 * time.Hour)}
	})
	b.inputSweep("finished", "SUCCEEDED")
	b.inputSweep("stopped", "STOPPED")
	open := b.inputSweep("open", "SUCCEEDED")
	b.exec(`UPDATE input_sweeps SET state = 'RUNNING', ended_at = NULL WHERE id = $1`, open)
	require.Zero(t, b.sweep().InputSweeps)
	b.clock.add(25 * time.Hour)
	require.Equal(t, []string{"finished"}, b.sweep().InputSweepNames)
	b.clock.add(48 * time.Hour)
	require.Equal(t, []string{"stopped"}, b.sweep().InputSweepNames)
	require.EqualValues(t, 1, b.sweepsLeft(), "a sweep that runs")
}
