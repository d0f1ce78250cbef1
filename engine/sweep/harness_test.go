package sweep_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/enginetest"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/sweep/space"
	"github.com/flowforge/flowforge/engine/workflow"
)

// bundle is an engine on its own database, whose sweeps are driven by drive.
type bundle struct {
	t         *testing.T
	ctx       context.Context
	pool      *pgxpool.Pool
	workflows *workflow.Service
	engine    *execution.Service
	telemetry *telemetry.Service
	sweeps    *sweep.Service
	denied    *atomic.Bool
	config    sweep.Config
}

// square has its best value at x = 3, and takes no b above 90.
const square = `{name: square, version: 1.0.0,
	inputs: [{name: x, type: Float}, {name: b, type: "Integer(min=0)", default: 0}, {name: limit, type: Integer, default: 90},
		{name: mode, type: "Enum(fast, slow)", default: fast}, {name: nest, type: "Struct{rate: Float = 1.0}", default: {}}],
	outputs: [{name: score, type: Float, expression: "0.0 - (inputs.x - 3.0) * (inputs.x - 3.0)"}],
	operators: [{name: one, type: noop}]}`

// gate waits for a user, so that its runs stay.
const gate = `{name: gate, version: 1.0.0, inputs: [{name: x, type: Float}], operators: [{name: wait, type: approval}]}`

func setup(t *testing.T) *bundle {
	t.Helper()
	e := enginetest.New(t)
	b := &bundle{t: t, ctx: e.Ctx, pool: e.Pool, workflows: e.Workflows, engine: e.Service, denied: &e.Denied}
	var err error
	b.telemetry, err = telemetry.New(telemetry.Config{SpoolDir: t.TempDir(), Log: e.Log, Now: time.Now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.telemetry.Close()) })
	b.config = sweep.Config{
		Pool: e.Pool, Workflows: e.Workflows, Executions: e.Service, Telemetry: b.telemetry, Index: index.New(index.Config{Pool: e.Pool, Conn: b.telemetry.Conn, Log: e.Log, Now: time.Now}), Every: 20 * time.Millisecond, Settle: time.Millisecond, Logger: e.Log, Acting: e.Acting,
	}
	b.sweeps = sweep.New(b.config)
	e.Run()
	e.Register(square, gate)
	return b
}

// drive drives the sweeps until the test ends or stop is called.
func (b *bundle) drive() (stop func()) {
	ctx, cancel := context.WithCancel(b.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.sweeps.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-done
	}
	b.t.Cleanup(stop)
	return stop
}

func spec(runs int, method sweep.Method) sweep.Spec {
	return sweep.Spec{
		Workflow: "square", Method: method, Runs: runs, Parallelism: 4, Priority: query.Declared, Objective: &sweep.Objective{Output: "score"},
		Space: space.Space{{Path: "x", Kind: space.Range, From: new(0.0), To: new(10.0), Steps: 11}, {Path: "mode", Kind: space.Values, Values: []any{"fast", "slow"}}},
	}
}

func (b *bundle) create(s sweep.Spec) sweep.Sweep {
	b.t.Helper()
	sw, created, err := b.sweeps.Create(b.ctx, s)
	require.NoError(b.t, err, "%v", apperr.FieldsOf(err))
	require.True(b.t, created)
	return sw
}

func (b *bundle) until(id uuid.UUID, what string, done func(sweep.Sweep) bool) sweep.Sweep {
	b.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		sw, err := b.sweeps.Get(b.ctx, id)
		require.NoError(b.t, err)
		if done(sw) {
			return sw
		}
		require.True(b.t, time.Now().Before(deadline), "no sign of %s: %s %s %+v", what, sw.State, sw.Message, sw.Counts)
	}
}

func (b *bundle) ended(id uuid.UUID) sweep.Sweep {
	b.t.Helper()
	return b.until(id, "the sweep to end", func(sw sweep.Sweep) bool { return sw.State.Ended() })
}

// once checks that every run has one execution, and every execution of the project a run.
func (b *bundle) once(id uuid.UUID, want int) []sweep.Run {
	b.t.Helper()
	runs, total, err := b.sweeps.Runs(b.ctx, id, sweep.Filter{Limit: sweep.MaxRuns})
	require.NoError(b.t, err)
	require.Equal(b.t, want, total)
	seen := map[uuid.UUID]bool{}
	for i, r := range runs {
		require.Equal(b.t, i, r.Index)
		require.NotNil(b.t, r.ExecutionID)
		require.False(b.t, seen[*r.ExecutionID])
		seen[*r.ExecutionID] = true
	}
	var executions int
	require.NoError(b.t, b.pool.QueryRow(b.ctx, "SELECT count(*) FROM executions").Scan(&executions))
	require.Equal(b.t, want, executions, "no execution without a run")
	return runs
}
