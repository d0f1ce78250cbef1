package execution_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/jobs"
	"github.com/flowforge/flowforge/typeregistry"
)

// builtinTypes is the registry without custom types.
type builtinTypes struct{ registry *typeregistry.Registry }

func (b builtinTypes) Types(context.Context) (*typeregistry.Registry, error) { return b.registry, nil }

// testSigner signs with a key that all processes of a test share.
func testSigner(t testing.TB) auth.Signer {
	t.Helper()
	signer, err := auth.NewSigner([]byte("a key of the tests, thirty-two by"))
	require.NoError(t, err)
	return signer
}

// testBundle is a complete engine on its own database.
type testBundle struct {
	t         testing.TB
	ctx       context.Context
	pool      *pgxpool.Pool
	workflows *workflow.Service
	artifacts *artifact.Service
	quotas    *quota.Service
	engine    *execution.Service
	launcher  *processLauncher
}

// option changes the configuration of a test's engine.
type option func(*execution.Config)

func setup(t testing.TB, options ...option) *testBundle {
	t.Helper()
	pool := dbtest.New(t)
	store, err := artifact.OpenStore(t.TempDir())
	require.NoError(t, err)
	b := &testBundle{
		t: t, ctx: auth.WithSubject(context.Background(), auth.Local()), pool: pool,
		workflows: workflow.NewService(pool, builtinTypes{typeregistry.Builtin()}, nil, time.Now),
		artifacts: artifact.NewService(pool, store, time.Now),
		launcher:  newProcessLauncher(),
	}
	config := execution.Config{
		Pool: pool, Workflows: b.workflows, Artifacts: b.artifacts, Launcher: b.launcher, Signer: testSigner(t),
		Capacity: quota.Capacity{CPUMillis: 4000, MemoryMiB: 4096, Pods: 8},
		Instance: "test", Logger: testLogger(t),
		Timing: execution.Timing{Reconcile: 100 * time.Millisecond, Linger: 300 * time.Millisecond, StopGrace: time.Second},
	}
	for _, o := range options {
		o(&config)
	}
	b.quotas, err = quota.New(quota.Config{Pool: pool, Capacity: config.Capacity, Instance: config.Instance, Logger: config.Logger})
	require.NoError(t, err)
	config.Quotas = b.quotas
	b.artifacts.CountWith(b.quotas.Storage.Add)
	b.engine, err = execution.New(config)
	require.NoError(t, err)
	b.launcher.deliver = b.engine.Supervisor.Deliver
	b.start()
	return b
}

// start runs the engine until the test ends.
func (b *testBundle) start() {
	b.t.Helper()
	require.NoError(b.t, b.quotas.Prepare(b.ctx))
	require.NoError(b.t, b.engine.Prepare(b.ctx))
	client, err := jobs.NewClient(jobs.Config{Pool: b.pool, Executions: b.engine, Log: testLogger(b.t)})
	require.NoError(b.t, err)
	ctx, cancel := context.WithCancel(b.ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := b.quotas.Run(ctx); err != nil {
			b.t.Errorf("run the quotas: %v", err)
		}
	})
	wg.Go(func() {
		if err := b.engine.Run(ctx); err != nil {
			b.t.Errorf("run: %v", err)
		}
	})
	require.NoError(b.t, client.Start(b.ctx))
	b.t.Cleanup(func() {
		stopping, stop := context.WithTimeout(context.Background(), 10*time.Second)
		defer stop()
		if err := client.Stop(stopping); err != nil {
			b.t.Errorf("stop the jobs: %v", err)
		}
		cancel()
		wg.Wait()
		b.launcher.killAll()
	})
}

// register registers a definition.
func (b *testBundle) register(doc string) workflow.Version {
	b.t.Helper()
	v, _, err := b.workflows.Register(b.ctx, []byte(doc))
	require.NoError(b.t, err, "%v %v", err, apperr.FieldsOf(err))
	return v
}

// launch registers doc and launches it.
func (b *testBundle) launch(doc string, inputs map[string]any) uuid.UUID {
	b.t.Helper()
	v := b.register(doc)
	e, created, err := b.engine.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: v.Name, Inputs: inputs, Priority: query.Normal})
	require.NoError(b.t, err)
	require.True(b.t, created)
	return e.ID
}

// until waits for hints until done returns true.
func (b *testBundle) until(id uuid.UUID, what string, done func(query.Execution) bool) query.Execution {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	hints, err := b.engine.Watches.Watch(ctx, id)
	require.NoError(b.t, err)
	for {
		e, err := b.engine.Get(b.ctx, id)
		require.NoError(b.t, err)
		if done(e) {
			return e
		}
		if _, ok := <-hints; !ok {
			nodes, _, _ := b.engine.Nodes.List(b.ctx, id, query.NodeFilter{Limit: 20})
			b.t.Fatalf("execution %s: %s did not happen: %s %+v\n%+v", id, what, e.Status, e.Counts, nodes)
		}
	}
}

// finish waits for the end of an execution.
func (b *testBundle) finish(id uuid.UUID) query.Execution {
	b.t.Helper()
	e := b.until(id, "the end", func(e query.Execution) bool { return e.Status.Ended() })
	b.checkLeftovers(id)
	return e
}

// checkLeftovers checks that an ended execution uses no resources.
func (b *testBundle) checkLeftovers(id uuid.UUID) {
	b.t.Helper()
	var reservations, reports int
	require.NoError(b.t, b.pool.QueryRow(b.ctx, "SELECT count(*) FROM reservations WHERE execution_id = $1", id).Scan(&reservations))
	require.NoError(b.t, b.pool.QueryRow(b.ctx, "SELECT count(*) FROM reports WHERE execution_id = $1", id).Scan(&reports))
	require.Zero(b.t, reservations, "reservations")
	require.Zero(b.t, reports, "reports")
	b.checkCounters()
}

// checkCounters checks that the counters of every level equal the reservations below it.
func (b *testBundle) checkCounters() {
	b.t.Helper()
	var off int
	require.NoError(b.t, b.pool.QueryRow(b.ctx, `
		SELECT count(*) FROM quota_usage u, LATERAL (
			SELECT coalesce(sum(r.cpu_millis), 0) AS cpu, coalesce(sum(r.gpus), 0) AS gpu, coalesce(sum(r.pods), 0) AS pods, coalesce(sum(r.executions), 0) AS executions
			FROM reservations r JOIN tenancy_nodes n ON n.id = r.project_id WHERE u.node_id = ANY (n.path)) h
		WHERE (coalesce(u.used->>'cpu', '0')::bigint, coalesce(u.used->>'gpu', '0')::bigint, coalesce(u.used->>'pods', '0')::bigint, coalesce(u.used->>'executions', '0')::bigint)
			<> (h.cpu, h.gpu, h.pods, h.executions)`).Scan(&off))
	require.Zero(b.t, off, "levels whose counters differ from the reservations")
}

func (b *testBundle) node(id uuid.UUID, name string) query.NodeDetail {
	b.t.Helper()
	n, err := b.engine.Nodes.Get(b.ctx, id, name)
	require.NoError(b.t, err)
	return n
}

// kinds returns the kinds of an execution's events.
func (b *testBundle) kinds(id uuid.UUID) []string {
	b.t.Helper()
	events, err := b.engine.Events.After(b.ctx, id, 0, 0)
	require.NoError(b.t, err)
	var kinds []string
	for i, e := range events {
		require.Greater(b.t, e.Seq, int64(i), "numbers count up")
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

func testLogger(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(logWriter{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// logWriter writes the engine's log to the log of the test.
type logWriter struct{ t testing.TB }

func (w logWriter) Write(p []byte) (int, error) {
	w.t.Logf("%s", bytes.TrimRight(p, "\n"))
	return len(p), nil
}

func readLines(t testing.TB, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

func touch(t testing.TB, path string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, nil, 0o600))
}

// launchVersion registers a definition, if necessary, and launches it.
func (b *testBundle) launchVersion(doc string) uuid.UUID {
	b.t.Helper()
	v := b.register(doc)
	e, _, err := b.engine.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: v.Name, Priority: query.Normal})
	require.NoError(b.t, err)
	return e.ID
}
