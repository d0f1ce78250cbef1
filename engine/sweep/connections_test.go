package sweep_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/sweep/space"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

type builtin struct{}

func (builtin) Types(context.Context) (*typeregistry.Registry, error) {
	return typeregistry.Builtin(), nil
}

// TestChangesNeedOneConnection: with a second connection inside a transaction, concurrent changes could
// each hold one connection and wait for another.
func TestChangesNeedOneConnection(t *testing.T) {
	t.Parallel()
	b := setup(t)
	grid := func(values ...any) space.Space {
		return space.Space{{Path: "x", Kind: space.Values, Values: values}}
	}
	s := spec(0, sweep.Grid)
	s.Space = grid(json.Number("1"))
	sw := b.create(s)

	config := b.config
	config.Pool = dbtest.NewSingle(t, b.pool)
	config.Workflows = workflow.NewService(config.Pool, builtin{}, nil, time.Now)
	sweeps := sweep.New(config)
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
	defer cancel()
	changed, err := sweeps.Change(ctx, sw.ID, sweep.Edit{Space: grid(json.Number("1"), json.Number("2")), GPUHours: new(1.0)})
	require.NoError(t, err)
	require.Equal(t, 2, changed.Planned)

	config.Workflows = workflow.NewService(config.Pool, builtin{}, nil, time.Now) // nothing is in its cache
	b.sweeps = sweep.New(config)
	b.drive()
	require.Equal(t, sweep.Succeeded, b.ended(sw.ID).State)
}
