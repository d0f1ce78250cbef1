package retention

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

type builtinTypes struct{}

func (builtinTypes) Types(context.Context) (*typeregistry.Registry, error) {
	return typeregistry.Builtin(), nil
}

func TestUnusedDevelopmentVersionsAreRemoved(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, nil)
	flows := workflow.NewService(b.pool, builtinTypes{}, nil, b.clock.Now)
	register := func(name, version string) workflow.Version {
		v, _, err := flows.Register(b.ctx, fmt.Appendf(nil, "name: %s\nversion: %s\ndescription: of %[2]s\noperators: [{name: one, type: command, code: {command: [\"true\"]}}]\n", name, version))
		require.NoError(t, err)
		return v
	}
	versions := func(name string) (found []string) {
		w, err := flows.Get(b.ctx, name)
		if apperr.Is(err, apperr.NotFound) {
			return nil
		}
		require.NoError(t, err)
		for _, v := range w.Versions {
			found = append(found, v.Version)
		}
		return found
	}
	run := func(v workflow.Version) {
		id := b.execution(auth.LocalProject, "SUCCEEDED", "{}")
		b.exec(`UPDATE executions SET workflow_id = $2, version_id = $3 WHERE id = $1`, id, v.WorkflowID, v.ID)
	}
	// A workflow with releases, one that was only developed and used, and one that was abandoned.
	register("made", "1.0.0")
	register("made", "1.1.0-dev.h1")
	run(register("made", "1.1.0-dev.h2"))
	register("made", "1.1.0-rc.1")
	run(register("tried", "1.0.0-dev.h1"))
	register("tried", "1.0.0-dev.h2")
	register("left", "1.0.0-dev.h1")
	register("left", "1.0.0-dev.h2")
	register("saved", "1.0.0-dev.h1")

	b.clock.add(DefaultDevelopment - time.Minute)
	require.Zero(t, b.sweep().Versions, "they are not old enough")
	register("made", "1.1.0-dev.h3")
	_, err := flows.Develop(b.ctx, "saved", "1.0.0-dev.h1")
	require.NoError(t, err)
	b.clock.add(2 * time.Minute)
	dry, err := b.Sweep(b.ctx, true)
	require.NoError(t, err)
	require.Zero(t, dry.Versions)
	require.EqualValues(t, 3, b.sweep().Versions)
	require.Equal(t, []string{"1.1.0-rc.1", "1.1.0-dev.h3", "1.1.0-dev.h2", "1.0.0"}, versions("made"))
	require.Equal(t, []string{"1.0.0-dev.h2", "1.0.0-dev.h1"}, versions("tried"), "one has an execution, the other is the latest")
	require.Empty(t, versions("left"), "nothing uses it")
	require.Equal(t, []string{"1.0.0-dev.h1"}, versions("saved"), "a person saved it")

	b.clock.add(DefaultDevelopment)
	require.EqualValues(t, 2, b.sweep().Versions, "the versions that were saved last are old, too")
	require.Empty(t, versions("saved"))
	require.Equal(t, []string{"1.1.0-rc.1", "1.1.0-dev.h2", "1.0.0"}, versions("made"))
}

// TestALaunchHoldsItsVersion: a version cannot be removed between the start and the end of a
// launch, and a launch after its removal fails.
func TestALaunchHoldsItsVersion(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, nil)
	flows := workflow.NewService(b.pool, builtinTypes{}, nil, b.clock.Now)
	v, _, err := flows.Register(b.ctx, []byte("name: w\nversion: 1.0.0-dev.h1\noperators: [{name: one, type: command, code: {command: [\"true\"]}}]\n"))
	require.NoError(t, err)
	b.clock.add(2 * DefaultDevelopment)
	require.NoError(t, db.Tx(b.ctx, b.pool, func(_ pgx.Tx, q *db.Queries) error {
		require.NoError(t, workflow.HoldVersion(b.ctx, q, v))
		require.Zero(t, b.sweep().Versions, "a launch holds it")
		return nil
	}))
	require.EqualValues(t, 1, b.sweep().Versions)
	err = db.Tx(b.ctx, b.pool, func(_ pgx.Tx, q *db.Queries) error { return workflow.HoldVersion(b.ctx, q, v) })
	require.True(t, apperr.Is(err, apperr.NotFound), "%v", err)
}
