package sweep_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/sweep/space"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/jobs"
	"github.com/flowforge/flowforge/typeregistry"
)

type builtin struct{}

func (builtin) Types(context.Context) (*typeregistry.Registry, error) {
	return typeregistry.Builtin(), nil
}

// noMachine starts nothing: the workflows of these tests have operators that run inside the engine.
type noMachine struct{}

func (noMachine) Start(context.Context, []launcher.Attempt) error { return nil }

func (noMachine) Stop(context.Context, []launcher.Ref, time.Duration) error { return nil }

func (noMachine) List(context.Context) ([]launcher.Status, error) { return nil, nil }

// bundle is an engine on its own database, whose sweeps are driven by drive.
type bundle struct {
	t         *testing.T
	ctx       context.Context
	pool      *pgxpool.Pool
	workflows *workflow.Service
	engine    *execution.Service
	telemetry *telemetry.Service
	sweeps    *sweep.Service
	denied    atomic.Bool
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
	pool := dbtest.New(t)
	store, err := artifact.OpenStore(t.TempDir())
	require.NoError(t, err)
	b := &bundle{t: t, ctx: auth.WithSubject(t.Context(), auth.Local()), pool: pool}
	log := slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	b.workflows = workflow.NewService(pool, builtin{}, nil, time.Now)
	signer, err := auth.NewSigner([]byte("a key of the tests, thirty-two by"))
	require.NoError(t, err)
	capacity := quota.Capacity{CPUMillis: 4000, MemoryMiB: 4096, Pods: 8}
	quotas, err := quota.New(quota.Config{Pool: pool, Capacity: capacity, Instance: "test", Logger: log})
	require.NoError(t, err)
	b.engine, err = execution.New(execution.Config{
		Pool: pool, Workflows: b.workflows, Artifacts: artifact.NewService(pool, store, time.Now), Launcher: noMachine{}, Signer: signer, Quotas: quotas,
		Capacity: capacity, Instance: "test", Logger: log, Timing: execution.Timing{Reconcile: 100 * time.Millisecond, Linger: 100 * time.Millisecond},
	})
	require.NoError(t, err)
	b.telemetry, err = telemetry.New(telemetry.Config{SpoolDir: t.TempDir(), Log: log, Now: time.Now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.telemetry.Close()) })
	b.config = sweep.Config{
		Pool: pool, Workflows: b.workflows, Executions: b.engine, Telemetry: b.telemetry, Every: 20 * time.Millisecond, Settle: time.Millisecond, Logger: log,
		Acting: func(id uuid.UUID, _ string, _ uuid.UUID) (auth.Subject, error) {
			require.Equal(t, auth.LocalAdmin, id)
			if b.denied.Load() {
				return auth.Subject{Name: "nobody", Role: auth.RoleUser}, nil
			}
			return auth.Local(), nil
		},
	}
	b.sweeps = sweep.New(b.config)
	b.startEngine(quotas, log)
	for _, doc := range []string{square, gate} {
		_, _, err := b.workflows.Register(b.ctx, []byte(doc))
		require.NoError(t, err, "%v", apperr.FieldsOf(err))
	}
	return b
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Logf("%s", p)
	return len(p), nil
}

func (b *bundle) startEngine(quotas *quota.Service, log *slog.Logger) {
	b.t.Helper()
	require.NoError(b.t, quotas.Prepare(b.ctx))
	require.NoError(b.t, b.engine.Prepare(b.ctx))
	client, err := jobs.NewClient(jobs.Config{Pool: b.pool, Executions: b.engine, Log: log})
	require.NoError(b.t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.ctx))
	var all sync.WaitGroup
	all.Go(func() { _ = quotas.Run(ctx) })
	all.Go(func() { _ = b.engine.Run(ctx) })
	require.NoError(b.t, client.Start(ctx))
	b.t.Cleanup(func() {
		stopping, stop := context.WithTimeout(context.Background(), 10*time.Second)
		defer stop()
		_ = client.Stop(stopping)
		cancel()
		all.Wait()
	})
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
