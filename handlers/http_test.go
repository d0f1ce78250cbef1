package handlers_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/access/identity"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/access/secretstore"
	"github.com/flowforge/flowforge/access/tenancy"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/pool"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/data/dataset"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/data/metaflow"
	"github.com/flowforge/flowforge/data/outgoing"
	"github.com/flowforge/flowforge/data/registry"
	"github.com/flowforge/flowforge/data/report"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/data/view"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/engine/argo"
	"github.com/flowforge/flowforge/engine/backfill"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/feed"
	"github.com/flowforge/flowforge/engine/feed/consumer"
	"github.com/flowforge/flowforge/engine/inbox"
	"github.com/flowforge/flowforge/engine/lineage"
	"github.com/flowforge/flowforge/engine/notify"
	"github.com/flowforge/flowforge/engine/options"
	"github.com/flowforge/flowforge/engine/preset"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/engine/retention"
	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/trigger"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers"
	"github.com/flowforge/flowforge/jobs"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// adminToken is the API token of the tests' sites.
const adminToken = "the token of the tests"

// testBundle is a whole site on real services and its own database. The
// engine does not run until start is called.
type testBundle struct {
	ctx         context.Context // acts for the administrator
	pool        *pgxpool.Pool
	workflows   *workflow.Service
	executions  *execution.Service
	quotas      *quota.Service
	artifacts   *artifact.Service
	catalogue   *catalogue.Service
	datasets    *dataset.Service
	telemetry   *telemetry.Service
	secrets     *secret.Service
	connections *connection.Service
	pools       *pool.Service
	stores      *secretstore.Service
	options     *options.Service
	signer      auth.Signer
	links       *auth.LoginLinks
	policies    *auth.Policies
	users       *auth.Users
	keys        *auth.Keys
	tokens      auth.TokenChain
	sessions    *web.Sessions
	identity    *identity.Service
	deps        handlers.Deps
	routes      http.Handler
	server      *httptest.Server
	tasks       *heldTasks

	datastoreDir, datastoreRoot string // folders of the datastores of Metaflow

	nobody, member, admin *caller
}

func setup(t *testing.T) *testBundle {
	t.Helper()
	now := func() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	b := &testBundle{ctx: auth.WithSubject(context.Background(), auth.Local()), pool: dbtest.New(t), links: auth.NewLoginLinks(now), tasks: &heldTasks{}}
	store, err := artifact.OpenStore(t.TempDir())
	require.NoError(t, err)
	b.signer, err = auth.NewSigner(bytes.Repeat([]byte("k"), 32))
	require.NoError(t, err)
	b.telemetry, err = telemetry.New(telemetry.Config{SpoolDir: t.TempDir(), Log: log, Now: now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.telemetry.Close()) })
	b.artifacts = artifact.NewService(b.pool, store, now)
	b.catalogue = catalogue.NewService(b.pool, now)
	b.datasets, err = dataset.NewService(dataset.Config{Pool: b.pool, Catalogue: b.catalogue, Artifacts: b.artifacts, Log: log, Now: now})
	require.NoError(t, err)
	b.workflows = workflow.NewService(b.pool, b.catalogue, b.artifacts, now)
	b.workflows.ReadWith(argo.Format{})
	b.stores = testStores(t, b.pool, now)
	b.secrets = testSecrets(t, b.pool, now).WithStores(b.stores)
	b.connections = testConnections(t, b.pool, now)
	b.quotas, err = quota.New(quota.Config{
		Pool: b.pool, Capacity: quota.Capacity{CPUMillis: 4000, MemoryMiB: 4096, Pods: 8, GPUs: testGPUs(t)}, Instance: "test", Logger: log, Now: now,
	})
	require.NoError(t, err)
	require.NoError(t, b.quotas.Prepare(b.ctx))
	b.options = options.New(options.Config{
		Index: index.New(index.Config{Pool: b.pool, Conn: b.telemetry.Conn, Log: log, Now: now}), Catalogue: b.catalogue, Artifacts: b.artifacts, Log: log, Now: now,
	})
	b.pools = pool.New(pool.Config{Pool: b.pool, Signer: b.signer, LostAfter: time.Second, Logger: log, Now: now})
	b.executions, err = execution.New(execution.Config{
		Offers: b.options.Offers, UsePool: b.pools.Use,
		Secrets: b.secrets, Connections: b.connections, Quotas: b.quotas,
		HostImages: true, Pool: b.pool, Workflows: b.workflows, Artifacts: b.artifacts, Launcher: pool.NewLauncher(b.tasks, b.pools, b.observe), Signer: b.signer, Now: now, Logger: log, Instance: "test",
		Catalogue: engineCatalogue{b.catalogue},
		Timing:    execution.Timing{Reconcile: 100 * time.Millisecond, Linger: 300 * time.Millisecond, StopGrace: time.Second},
	})
	require.NoError(t, err)
	b.options.RunWith(db.New(b.pool), b.workflows, b.executions)
	b.tasks.deliver = b.executions.Supervisor.Deliver

	b.identify(t, now)
	schedules := schedule.New(schedule.Config{Pool: b.pool, Workflows: b.workflows, Executions: b.executions, Acting: b.users.Acting, Logger: log, Now: now})
	b.workflows.ScheduleWith(schedules)
	b.deps = handlers.Deps{
		Log: log, Now: now, Sessions: b.sessions, Links: b.links, Identity: b.identity, Signer: b.signer, Policies: b.policies,
		Site:      web.NewSite(web.Config{Log: log, Sessions: b.sessions, Tokens: b.tokens, Users: b.users, ErrorPage: testErrorPage}),
		Workflows: b.workflows, Executions: b.executions, Artifacts: b.artifacts, Catalogue: b.catalogue, Telemetry: b.telemetry,
		Index:    index.New(index.Config{Pool: b.pool, Conn: b.telemetry.Conn, Log: log, Now: now}),
		Metaflow: metaflow.NewService(b.pool, now), Datastores: testDatastores(t, b, now), Secrets: b.secrets, SecretStores: b.stores, Connections: b.connections, Tenancy: tenancy.NewService(b.pool, b.policies, now), Audit: audit.NewLog(b.pool), Quotas: b.quotas,
		Retention: retention.New(retention.Config{Pool: b.pool, Store: store, Free: b.quotas.Storage.Free, Now: now, Logger: log}),
		Presets:   preset.NewService(b.pool, b.workflows, now), Options: b.options,
		Schedules:     schedules,
		Feed:          feed.New(feed.Config{Pool: b.pool, Logger: log, Now: now}),
		Consumers:     consumer.New(consumer.Config{Pool: b.pool, Now: now}),
		Triggers:      trigger.New(trigger.Config{Pool: b.pool, Workflows: b.workflows, Executions: b.executions.Launches, Secrets: b.secrets, Connections: b.connections, Dialer: outgoing.Dialer{OwnHosts: true}, Acting: b.users.Acting, Logger: log, Now: now}),
		Notifications: notify.New(notify.Config{Pool: b.pool, Channels: b.connections, PublicURL: "http://127.0.0.1", Logger: log, Now: now}),
		Sweeps:        sweep.New(sweep.Config{Pool: b.pool, Workflows: b.workflows, Executions: b.executions, Telemetry: b.telemetry, Index: index.New(index.Config{Pool: b.pool, Conn: b.telemetry.Conn, Log: log, Now: now}), Acting: b.users.Acting, Logger: log, Now: now}),
		Views:         view.NewService(b.pool, index.New(index.Config{Pool: b.pool, Conn: b.telemetry.Conn, Now: now}), now),
		Reports:       report.NewService(b.pool, now),
		Lineage:       lineage.NewService(b.pool, b.workflows, b.catalogue),
		Registry:      registry.NewService(b.pool, b.catalogue, now),
		Datasets:      b.datasets,
		Pools:         b.pools,
		Checks:        []handlers.Check{{Name: "postgres", Required: true, Ready: b.pool.Ping}},
	}
	b.deps.Inbox = inbox.New(inbox.Config{
		Pool: b.pool, Notifications: b.deps.Notifications, PublicURL: "http://127.0.0.1", Logger: log, Now: now,
		MayRead: func(user, project uuid.UUID) bool { return b.policies.For(user).May(auth.ExecutionRead, project) },
	})
	b.deps.Backfills = backfill.New(backfill.Config{Pool: b.pool, Schedules: b.deps.Schedules, Workflows: b.workflows, Executions: b.executions, Acting: b.users.Acting, Logger: log, Now: now})
	b.routes = handlers.New(b.deps)
	b.server = httptest.NewServer(b.routes)
	t.Cleanup(b.server.Close)
	b.nobody = &caller{server: b.server.URL}
	b.admin = &caller{server: b.server.URL, header: http.Header{"Authorization": {"Bearer " + adminToken}}}
	b.member = b.signIn(t, b.person(t, "mia", auth.ProjectDev, auth.LocalProject))
	return b
}

// testGPUs are the GPUs of the tests: two of a kind.
func testGPUs(t testing.TB) []fair.Device {
	t.Helper()
	devices, err := quota.ParseGPUs("A100:2")
	require.NoError(t, err)
	return devices
}

// testSecrets is a store of secrets with a key of the tests.
func testSecrets(t testing.TB, pool *pgxpool.Pool, now func() time.Time) *secret.Service {
	t.Helper()
	keys, err := secret.NewKeyring(bytes.Repeat([]byte("s"), 32))
	require.NoError(t, err)
	return secret.NewService(pool, keys, now)
}

// testStores are secret stores with a key of the tests and the variable TEAM_TRACKER.
func testStores(t testing.TB, pool *pgxpool.Pool, now func() time.Time) *secretstore.Service {
	t.Helper()
	keys, err := secret.NewKeyring(bytes.Repeat([]byte("s"), 32))
	require.NoError(t, err)
	return secretstore.New(secretstore.Config{
		Pool: pool, Keys: keys, Now: now, Dialer: outgoing.Dialer{OwnHosts: true}, Environ: []string{"TEAM_TRACKER=a value of the variable"},
	})
}

// observe passes what the launcher observed to the engine.
func (b *testBundle) observe(ctx context.Context, seen []launcher.Observation) error {
	return b.executions.Supervisor.Observe(ctx, seen)
}

// testConnections is a store of connections with a key of the tests. It reaches this machine.
func testConnections(t testing.TB, pool *pgxpool.Pool, now func() time.Time) *connection.Service {
	t.Helper()
	keys, err := secret.NewKeyring(bytes.Repeat([]byte("s"), 32))
	require.NoError(t, err)
	return connection.NewService(connection.Config{Pool: pool, Keys: keys, Now: now, Dialer: outgoing.Dialer{OwnHosts: true}})
}

func testErrorPage(_ *http.Request, v web.ErrorView) templ.Component {
	return views.ErrorPage(views.Page{Title: v.Title, User: v.User}, views.Failure{Status: v.Status, Title: v.Title, Message: v.Message, RequestID: v.RequestID})
}

// start runs the engine until the test ends.
func (b *testBundle) start(t *testing.T) {
	t.Helper()
	require.NoError(t, b.executions.Prepare(b.ctx))
	client, err := jobs.NewClient(jobs.Config{Pool: b.pool, Executions: b.executions, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(b.ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := b.executions.Run(ctx); err != nil {
			t.Errorf("run the engine: %v", err)
		}
	})
	require.NoError(t, client.Start(b.ctx))
	t.Cleanup(func() {
		stopping, stop := context.WithTimeout(context.Background(), 10*time.Second)
		defer stop()
		if err := client.Stop(stopping); err != nil {
			t.Errorf("stop the jobs: %v", err)
		}
		cancel()
		wg.Wait()
	})
}

// actIn makes b.ctx that of the administrator in a project.
func (b *testBundle) actIn(t *testing.T, tenant, project uuid.UUID) {
	t.Helper()
	subject := auth.Local()
	subject.TenantID, subject.ProjectID = tenant, project
	b.ctx = auth.WithSubject(t.Context(), subject)
}

// register registers a definition and returns its version.
func (b *testBundle) register(t *testing.T, document string) workflow.Version {
	t.Helper()
	v, _, err := b.workflows.Register(b.ctx, []byte(document))
	require.NoError(t, err, "%+v", err)
	return v
}

// until waits for hints until done answers true.
func (b *testBundle) until(t *testing.T, id uuid.UUID, done func(query.Execution) bool) query.Execution {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	hints, err := b.executions.Watches.Watch(ctx, id)
	require.NoError(t, err)
	for {
		e, err := b.executions.Get(b.ctx, id)
		require.NoError(t, err)
		if done(e) {
			return e
		}
		if _, ok := <-hints; !ok {
			t.Fatalf("execution %s stays %s: %+v", id, e.Status, e.Counts)
		}
	}
}

func ended(e query.Execution) bool { return e.Status.Ended() }

// publish gives an execution an artifact with content.
func (b *testBundle) publish(t *testing.T, e query.Execution, item artifact.New, content string) artifact.Artifact {
	t.Helper()
	blob, err := b.artifacts.Store().Put(b.ctx, strings.NewReader(content), "")
	require.NoError(t, err)
	item.ID, err = artifact.NewID()
	require.NoError(t, err)
	item.ExecutionID, item.WorkflowName, item.Attempt, item.SHA256, item.Size = e.ID, e.WorkflowName, 1, blob.SHA256, blob.Size
	err = db.Tx(b.ctx, b.pool, func(_ pgx.Tx, q *db.Queries) error {
		return b.artifacts.Publish(b.ctx, q, e.TenantID, e.ProjectID, []artifact.New{item})
	})
	require.NoError(t, err)
	a, err := b.artifacts.Get(b.ctx, item.ID)
	require.NoError(t, err)
	return a
}

// appendLog gives an execution n lines of one node, numbered from first.
func (b *testBundle) appendLog(t *testing.T, id uuid.UUID, node string, first, n int) {
	t.Helper()
	d, err := b.executions.Nodes.Get(auth.AsSystem(b.ctx), id, node)
	require.NoError(t, err)
	begin := time.Now().UTC().Add(-time.Minute)
	lines := make([]telemetry.LogLine, n)
	for i := range lines {
		seq := first + i
		lines[i] = telemetry.LogLine{
			TenantID: auth.LocalTenant, ProjectID: auth.LocalProject, ExecutionID: id, NodeIndex: d.Index, Node: node, Attempt: 1, Stream: "stdout",
			Seq: int64(seq), Time: begin.Add(time.Duration(seq) * time.Millisecond), Level: []string{"INFO", "ERROR"}[seq%2], Message: node + " line " + jsonText(t, seq),
		}
	}
	require.NoError(t, b.telemetry.AppendLogs(auth.AsSystem(b.ctx), lines))
}
