package app

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/access/identity"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/access/secretstore"
	"github.com/flowforge/flowforge/access/tenancy"
	launch "github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/local"
	"github.com/flowforge/flowforge/compute/pool"
	"github.com/flowforge/flowforge/compute/resident"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/data/dataset"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/data/metaflow"
	"github.com/flowforge/flowforge/data/registry"
	"github.com/flowforge/flowforge/data/report"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/data/view"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/db/replica"
	"github.com/flowforge/flowforge/engine/argo"
	"github.com/flowforge/flowforge/engine/backfill"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/feed"
	"github.com/flowforge/flowforge/engine/feed/consumer"
	"github.com/flowforge/flowforge/engine/feed/sink"
	"github.com/flowforge/flowforge/engine/inbox"
	"github.com/flowforge/flowforge/engine/lineage"
	"github.com/flowforge/flowforge/engine/notify"
	"github.com/flowforge/flowforge/engine/options"
	"github.com/flowforge/flowforge/engine/preset"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/retention"
	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/trigger"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers"
	"github.com/flowforge/flowforge/handlers/admin"
	"github.com/flowforge/flowforge/jobs"
	"github.com/flowforge/flowforge/platform/election"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/web"
)

// parts are the services of a running server.
type parts struct {
	pool          *pgxpool.Pool
	direct        *db.Sessions     // with PostgreSQL, which keep their state between transactions
	replica       *replica.Replica // nil: none
	watch         *db.Watch        // wakes loops when the database has changed
	reads         db.DBTX          // runs the queries of lists: on the replica or on pool
	signer        auth.Signer
	policies      *auth.Policies
	users         *auth.Users
	sessions      *web.Sessions
	identity      *identity.Service
	tokens        auth.TokenChain // for the network
	localTokens   auth.TokenChain // including that of the local administrator
	artifacts     *artifact.Service
	storeDir      string // of artifacts, if this machine's runner can access it
	directStore   bool   // tasks access the object store directly
	store         artifact.Remover
	storeReady    func(context.Context) error // nil: artifacts are in a folder
	retention     *retention.Service
	telemetry     *telemetry.Service
	index         *index.Service
	catalogue     *catalogue.Service
	datasets      *dataset.Service
	workflows     *workflow.Service
	executions    *execution.Service
	secrets       *secret.Service
	secretStores  *secretstore.Service
	connections   *connection.Service
	options       *options.Service
	sweeps        *sweep.Service
	schedules     *schedule.Service
	backfills     *backfill.Service
	notifications *notify.Service
	inbox         *inbox.Service
	triggers      *trigger.Service
	feed          *feed.Service
	consumers     *consumer.Service // of the feed
	sinks         []*sink.Sink      // send events to brokers
	quotas        *quota.Service
	resident      *resident.Service // nil: there are no warm pods
	pools         *pool.Service
	instance      string           // name of this server, unique on the database
	holder        string           // name of this process
	leads         atomic.Bool      // this process drives executions
	warmPython    admin.WarmPython // nil: this process starts no local tasks
	hopSigner     hopSigner
	proxy         *leaderProxy
	jobs          *jobs.Client // nil: this server has not the role worker
}

// startServices creates the services in dependency order and starts background work.
// Close stops everything, the engine before the services to which it writes.
func (a *App) startServices(ctx context.Context, e engines) (*parts, error) {
	p := &parts{}
	var err error
	if p.instance, err = instanceName(a.cfg, a.paths); err != nil {
		return nil, err
	}
	p.holder = election.NewHolder(p.instance)
	if err := a.openDatabase(ctx, p, e.databaseURL); err != nil {
		return nil, err
	}
	if err := a.openReplica(ctx, p); err != nil {
		return nil, err
	}
	if err := a.startAuth(ctx, p); err != nil {
		return nil, err
	}
	if err := a.startTelemetry(p, e); err != nil {
		return nil, err
	}
	if err := a.startProxy(p); err != nil {
		return nil, err
	}
	if err := a.openArtifacts(ctx, p); err != nil {
		return nil, err
	}
	p.catalogue = catalogue.NewService(p.pool, time.Now)
	p.datasets, err = dataset.NewService(dataset.Config{Pool: p.pool, Catalogue: p.catalogue, Artifacts: p.artifacts, Log: a.cfg.Log, Now: time.Now})
	if err != nil {
		return nil, err
	}
	p.workflows = workflow.NewService(p.pool, p.catalogue, p.artifacts, time.Now)
	p.workflows.CheckPodsWith(checkPod)
	p.workflows.ReadWith(argo.Format{})
	if p.secrets, err = a.openSecrets(ctx, p); err != nil {
		return nil, err
	}
	if p.connections, err = a.openConnections(ctx, p); err != nil {
		return nil, err
	}
	if err := a.openQuotas(ctx, p); err != nil {
		return nil, err
	}
	return p, a.startEngine(ctx, p)
}

func (a *App) startTelemetry(p *parts, e engines) error {
	poll := time.Duration(0) // the embedded engine has no other server
	if a.cfg.ClickHouseURL != "" {
		poll = 500 * time.Millisecond
	}
	c := telemetry.Config{
		PollInterval: poll, Points: func(ctx context.Context, executions []uuid.UUID) error { return p.index.Note(ctx, executions) },
		ClickHouseURL: e.clickhouseURL, SpoolDir: a.paths.spool(), SpoolMaxBytes: a.cfg.SpoolMaxBytes,
		RetentionDays: a.cfg.LogRetentionDays, Log: a.cfg.Log, Now: time.Now,
	}
	if e.clickhouse != nil {
		c.Transport, c.Await, c.Check = e.clickhouse.Transport, e.clickhouse.Await, e.clickhouse.Check
	}
	var err error
	if p.telemetry, err = telemetry.New(c); err != nil {
		return err
	}
	a.life.onStop(func() { a.life.logError("the telemetry spool could not be closed", p.telemetry.Close()) })
	p.index = index.New(index.Config{Pool: p.pool, Conn: p.telemetry.Conn, Background: p.telemetry.Background, Watch: p.watch, Log: a.cfg.Log, Now: time.Now})
	a.life.background("telemetry", p.telemetry.Run)
	a.life.background("the index of executions", p.index.Run)
	return nil
}

// startEngine starts the components that drive executions, from the launcher to the jobs,
// according to the roles of this server.
func (a *App) startEngine(ctx context.Context, p *parts) error {
	cluster, err := a.openCluster(p)
	if err != nil {
		return err
	}
	p.pools = pool.New(pool.Config{Pool: p.pool, Signer: p.signer, LostAfter: a.cfg.WorkerLostAfter, Watch: p.watch, Logger: a.cfg.Log, Now: time.Now})
	launcher := a.openLauncher(cluster)
	if l, ok := launcher.(*local.Launcher); ok && a.cfg.Roles.Have(Scheduler) {
		p.warmPython = l.WarmPython
	}
	pooled := pool.NewLauncher(launcher, p.pools, func(ctx context.Context, seen []launch.Observation) error {
		return p.executions.Supervisor.Observe(ctx, seen)
	})
	if err := a.openExecutions(p, pooled, cluster.configMaps()); err != nil {
		return err
	}
	a.openSweeps(p)
	a.openSchedules(p)
	a.openNotifications(p)
	a.openTriggers(p)
	a.openBackfills(p)
	if err := a.openRetention(p); err != nil {
		return err
	}
	if err := p.executions.Maintenance.EnsurePartitions(ctx); err != nil {
		return err
	}
	if err := a.listenSocket(p); err != nil {
		return err
	}
	a.life.background("the engine", p.executions.Follow)
	if a.cfg.Roles.Have(Worker) {
		if err := a.startJobs(ctx, p); err != nil {
			return err
		}
	}
	if a.cfg.Roles.Have(Scheduler) {
		if err := a.startScheduler(ctx, p); err != nil {
			return err
		}
	}
	a.runLauncher(launcher)
	return a.startCluster(p, cluster)
}

// openExecutions creates the engine without starting it.
func (a *App) openExecutions(p *parts, launcher execution.Launcher, configMaps configMaps) error {
	var err error
	p.options = options.New(options.Config{Index: p.index, Catalogue: p.catalogue, Artifacts: p.artifacts, Hosts: a.cfg.OptionHosts, Dialer: a.cfg.dialer(), Log: a.cfg.Log, Now: time.Now})
	p.executions, err = execution.New(execution.Config{
		Offers: p.options.Offers, UsePool: p.pools.Use,
		Pool: p.pool, Sessions: p.direct.Pool, Reads: p.reads, Watch: p.watch, Workflows: p.workflows, Artifacts: p.artifacts, Launcher: launcher, Signer: p.signer,
		Catalogue: references{p.catalogue}, Secrets: p.secrets, Connections: p.connections, Quotas: p.quotas, Instance: p.instance, LauncherName: a.cfg.launcherName(), ConfigMap: configMaps,
		OwnMachine: len(a.cfg.Providers) == 0, HostImages: a.cfg.LocalImages == "host", Cluster: a.cfg.Kube != nil, DataDir: a.paths.join(), StoreDir: p.storeDir, DirectStore: p.directStore, Retention: a.cfg.Retention.Rule, Endpoint: a.taskURL(), OnFinished: a.monitoring.onFinished(p), Meter: a.monitoring.metrics, TraceOf: a.monitoring.traces.Traceparent, Logger: a.cfg.Log, JobLogger: slog.New(quiet{a.cfg.Log.Handler()}), Now: time.Now,
	})
	if err == nil {
		p.options.RunWith(db.New(p.pool), p.workflows, p.executions)
	}
	return err
}

// recordFact stores the summary of an ended execution for analysis.
func recordFact(ctx context.Context, p *parts, e query.Execution) error {
	c := e.Counts
	return p.telemetry.AppendFacts(ctx, []telemetry.Fact{{
		ExecutionID: e.ID, TenantID: e.TenantID, ProjectID: e.ProjectID, WorkflowID: e.WorkflowID, WorkflowName: e.WorkflowName,
		Version: e.Version, Status: string(e.Status), SubmittedBy: e.SubmittedBy.Name, CreatedAt: e.CreatedAt, StartedAt: e.StartedAt,
		FinishedAt: *e.FinishedAt, Total: c.Total, Succeeded: c.Succeeded, Failed: c.Failed, Skipped: c.Skipped, Cancelled: c.Cancelled,
	}})
}

// deps returns the dependencies of the handlers, for the network or for the socket in the
// data directory.
func (a *App) deps(p *parts, onSocket bool) handlers.Deps {
	return handlers.Deps{
		Log: a.cfg.Log, Now: time.Now, Sessions: p.sessions, Links: a.links, Signer: p.signer, Policies: p.policies,
		Site: a.site(p, onSocket), Identity: p.identity, PublicURL: a.publicURL(),
		Workflows: p.workflows, Executions: p.executions, Artifacts: p.artifacts, Telemetry: p.telemetry, Index: p.index, Catalogue: p.catalogue,
		Metaflow: metaflow.NewService(p.pool, time.Now), Datastores: a.datastores(p), Secrets: p.secrets, SecretStores: p.secretStores, Connections: p.connections, Tenancy: tenancy.NewService(p.pool, p.policies, time.Now), Audit: audit.NewLog(p.pool).ReadingFrom(p.reads), Quotas: p.quotas,
		Presets: preset.NewService(p.pool, p.workflows, time.Now), Options: p.options, Sweeps: p.sweeps, Schedules: p.schedules, Backfills: p.backfills, Notifications: p.notifications, Inbox: p.inbox, Triggers: p.triggers, Feed: p.feed, Consumers: p.consumers, Views: view.NewService(p.pool, p.index, time.Now), Reports: report.NewService(p.pool, time.Now), Lineage: lineage.NewService(p.pool, p.workflows, p.catalogue),
		Registry: registry.NewService(p.pool, p.catalogue, time.Now), Datasets: p.datasets, Retention: p.retention, ToLeader: p.proxy.toLeader, Checks: a.checks(p), Resident: p.resident, Pools: p.pools, WarmPython: p.warmPython, Replica: replicaState(p),
	}
}

// references resolves inputs that reference the catalogue for the engine.
type references struct{ catalogue *catalogue.Service }

func (r references) Exists(ctx context.Context, kind typeregistry.Kind, ref string) (bool, error) {
	return r.catalogue.Exists(ctx, kind, ref)
}

func (r references) Pin(ctx context.Context, kind typeregistry.Kind, ref string) (uuid.UUID, string, error) {
	return r.catalogue.Pin(ctx, kind, ref)
}

func (r references) Blob(ctx context.Context, kind typeregistry.Kind, ref string) (execution.BlobRef, error) {
	b, err := r.catalogue.Blob(ctx, kind, ref)
	return execution.BlobRef(b), err
}
