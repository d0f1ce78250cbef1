// Package enginetest provides an engine on its own database for tests of the services that launch
// executions.
package enginetest

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
	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/jobs"
	"github.com/flowforge/flowforge/typeregistry"
)

// Engine launches executions whose operators run inside the engine: it has no machine.
type Engine struct {
	Pool      *pgxpool.Pool
	Workflows *workflow.Service
	Service   *execution.Service
	Log       *slog.Logger    // writes warnings to the log of the test
	Ctx       context.Context // of the local administrator
	Denied    atomic.Bool     // Acting returns a user without permissions

	t      *testing.T
	quotas *quota.Service
}

type builtin struct{}

func (builtin) Types(context.Context) (*typeregistry.Registry, error) {
	return typeregistry.Builtin(), nil
}

type noMachine struct{}

func (noMachine) Start(context.Context, []launcher.Attempt) error { return nil }

func (noMachine) Stop(context.Context, []launcher.Ref, time.Duration) error { return nil }

func (noMachine) List(context.Context) ([]launcher.Status, error) { return nil, nil }

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Logf("%s", p)
	return len(p), nil
}

// New returns an engine that can launch. Its executions do not run before Run.
func New(t *testing.T) *Engine {
	t.Helper()
	e := &Engine{t: t, Ctx: auth.WithSubject(t.Context(), auth.Local()), Pool: dbtest.New(t), Log: slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	store, err := artifact.OpenStore(t.TempDir())
	require.NoError(t, err)
	e.Workflows = workflow.NewService(e.Pool, builtin{}, nil, time.Now)
	signer, err := auth.NewSigner([]byte("a key of the tests, thirty-two by"))
	require.NoError(t, err)
	capacity := quota.Capacity{CPUMillis: 4000, MemoryMiB: 4096, Pods: 8}
	e.quotas, err = quota.New(quota.Config{Pool: e.Pool, Capacity: capacity, Instance: "test", Logger: e.Log})
	require.NoError(t, err)
	e.Service, err = execution.New(execution.Config{
		Pool: e.Pool, Workflows: e.Workflows, Artifacts: artifact.NewService(e.Pool, store, time.Now), Launcher: noMachine{}, Signer: signer, Quotas: e.quotas,
		Capacity: capacity, Instance: "test", Logger: e.Log, Timing: execution.Timing{Reconcile: 100 * time.Millisecond, Linger: 100 * time.Millisecond},
	})
	require.NoError(t, err)
	require.NoError(t, e.quotas.Prepare(e.Ctx))
	require.NoError(t, e.Service.Prepare(e.Ctx))
	return e
}

// Run runs executions until the test ends.
func (e *Engine) Run() { e.Start() }

// Start runs the engine with a client of these queues, or of all, until the test ends.
func (e *Engine) Start(queues ...string) *jobs.Client {
	e.t.Helper()
	client, err := jobs.NewClient(jobs.Config{Pool: e.Pool, Executions: e.Service, Log: e.Log, Queues: queues})
	require.NoError(e.t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(e.Ctx))
	var all sync.WaitGroup
	all.Go(func() { _ = e.quotas.Run(ctx) })
	all.Go(func() { _ = e.Service.Run(ctx) })
	require.NoError(e.t, client.Start(ctx))
	e.t.Cleanup(func() {
		stopping, stop := context.WithTimeout(context.Background(), 10*time.Second)
		defer stop()
		_ = client.Stop(stopping)
		cancel()
		all.Wait()
	})
	return client
}

// Register registers definitions.
func (e *Engine) Register(documents ...string) {
	e.t.Helper()
	for _, document := range documents {
		_, _, err := e.Workflows.Register(e.Ctx, []byte(document))
		require.NoError(e.t, err, "%v", apperr.FieldsOf(err))
	}
}

// Acting returns the local administrator, or a user without permissions if Denied is set.
func (e *Engine) Acting(id uuid.UUID, _ string, _ uuid.UUID) (auth.Subject, error) {
	require.Equal(e.t, auth.LocalAdmin, id)
	if e.Denied.Load() {
		return auth.Subject{Name: "denied", Role: auth.RoleUser}, nil
	}
	return auth.Local(), nil
}
