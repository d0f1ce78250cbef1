package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/artifact"
	"github.com/flowforge/flowforge/audit"
	"github.com/flowforge/flowforge/auth"
	"github.com/flowforge/flowforge/catalogue"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/execution"
	"github.com/flowforge/flowforge/handlers"
	"github.com/flowforge/flowforge/identity"
	"github.com/flowforge/flowforge/jobs"
	"github.com/flowforge/flowforge/launcher/local"
	"github.com/flowforge/flowforge/quota"
	"github.com/flowforge/flowforge/secret"
	"github.com/flowforge/flowforge/telemetry"
	"github.com/flowforge/flowforge/tenancy"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/web"
	"github.com/flowforge/flowforge/workflow"
)

// parts are the services of a running server.
type parts struct {
	pool        *pgxpool.Pool
	signer      auth.Signer
	policies    *auth.Policies
	users       *auth.Users
	sessions    *web.Sessions
	identity    *identity.Service
	tokens      auth.TokenChain // on the network
	localTokens auth.TokenChain // with that of the local administrator
	artifacts   *artifact.Service
	telemetry   *telemetry.Service
	catalogue   *catalogue.Service
	workflows   *workflow.Service
	executions  *execution.Service
	secrets     *secret.Service
	quotas      *quota.Service
	instance    string // names this server among all on the database
}

// startServices builds the services from the bottom up and starts what works in
// the background. Everything stops by Close, the engine before what it writes to.
func (a *App) startServices(ctx context.Context, e engines) (*parts, error) {
	p := &parts{}
	if err := a.openDatabase(ctx, p, e.databaseURL); err != nil {
		return nil, err
	}
	if err := a.startAuth(ctx, p); err != nil {
		return nil, err
	}
	if err := a.startTelemetry(p, e.clickhouseURL); err != nil {
		return nil, err
	}
	store, err := artifact.OpenStore(a.paths.artifacts())
	if err != nil {
		return nil, err
	}
	p.artifacts = artifact.NewService(p.pool, store, time.Now)
	p.catalogue = catalogue.NewService(p.pool, time.Now)
	p.workflows = workflow.NewService(p.pool, p.catalogue, p.artifacts, time.Now)
	if p.secrets, err = a.openSecrets(ctx, p); err != nil {
		return nil, err
	}
	if err := a.openQuotas(ctx, p); err != nil {
		return nil, err
	}
	return p, a.startEngine(ctx, p)
}

// oneLineError is an error without the line breaks between the addresses that pgx tried.
type oneLineError struct{ error }

func (e oneLineError) Error() string {
	return strings.ReplaceAll(strings.Join(strings.Fields(e.error.Error()), " "), ".: ", ": ")
}

func (e oneLineError) Unwrap() error { return e.error }

func (a *App) openDatabase(ctx context.Context, p *parts, url string) error {
	pool, err := db.Open(ctx, url)
	if err != nil {
		return fmt.Errorf("FLOWFORGE_DATABASE_URL: %w", oneLineError{err})
	}
	a.onStop(pool.Close)
	p.pool = pool
	return db.Migrate(ctx, pool)
}

func (a *App) startTelemetry(p *parts, url string) error {
	var err error
	poll := time.Duration(0) // the embedded engine has no other server
	if a.cfg.ClickHouseURL != "" {
		poll = 500 * time.Millisecond
	}
	p.telemetry, err = telemetry.New(telemetry.Config{
		PollInterval:  poll,
		ClickHouseURL: url, SpoolDir: a.paths.spool(), SpoolMaxBytes: a.cfg.SpoolMaxBytes,
		RetentionDays: a.cfg.LogRetentionDays, Log: a.cfg.Log, Now: time.Now,
	})
	if err != nil {
		return err
	}
	a.onStop(func() { a.logError("the telemetry spool is not closed", p.telemetry.Close()) })
	a.background("telemetry", p.telemetry.Run)
	return nil
}

// background runs f until Close, which waits for it.
func (a *App) background(name string, f func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := f(ctx); err != nil && !errors.Is(err, context.Canceled) {
			a.logError(name+" stopped", err)
		}
	}()
	a.onStop(func() {
		cancel()
		<-done
	})
}

// startEngine starts what drives executions, from the launcher to the jobs.
func (a *App) startEngine(ctx context.Context, p *parts) error {
	launcher := local.New(local.Config{
		Dir: a.paths.runner(), ServerSocket: a.paths.join("run", "api.sock"), Executable: a.cfg.Executable, Environ: a.cfg.Environ, Version: version(a.cfg.Executable), Logger: a.cfg.Log,
	})
	var err error
	p.executions, err = execution.New(execution.Config{
		Pool: p.pool, Workflows: p.workflows, Artifacts: p.artifacts, Launcher: launcher, Signer: p.signer,
		Catalogue: references{p.catalogue}, Secrets: p.secrets, Quotas: p.quotas, Instance: p.instance, DataDir: a.paths.join(),
		Endpoint: "http://" + a.Addr(), OnFinished: a.recordFact(p), Logger: a.cfg.Log, Now: time.Now,
	})
	if err != nil {
		return err
	}
	if err := p.executions.Prepare(ctx); err != nil {
		return err
	}
	if err := a.listenSocket(p); err != nil {
		return err
	}
	a.background("the engine", p.executions.Run)
	client, err := jobs.NewClient(p.pool, p.executions, slog.New(quiet{a.cfg.Log.Handler()}))
	if err != nil {
		return err
	}
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start the jobs: %w", err)
	}
	a.onStop(func() { a.within(3*time.Second, "the jobs did not stop in good order", client.Stop) })
	a.background("the launcher", launcher.Run)
	a.onStop(func() { a.within(5*time.Second, "not every task stopped in good order", launcher.Shutdown) })
	return nil
}

// within calls stop with a limit of time.
func (a *App) within(limit time.Duration, message string, stop func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	a.logError(message, stop(ctx))
}

// recordFact keeps the sum of each execution that has ended for analysis; a
// failure is tried again by the job that calls it.
func (a *App) recordFact(p *parts) func(context.Context, uuid.UUID) error {
	return func(ctx context.Context, id uuid.UUID) error {
		ctx = auth.AsSystem(ctx)
		e, err := p.executions.Get(ctx, id)
		if err != nil || e.FinishedAt == nil {
			return err
		}
		c := e.Counts
		return p.telemetry.AppendFacts(ctx, []telemetry.Fact{{
			ExecutionID: e.ID, TenantID: e.TenantID, ProjectID: e.ProjectID, WorkflowID: e.WorkflowID, WorkflowName: e.WorkflowName,
			Version: e.Version, Status: string(e.Status), SubmittedBy: e.SubmittedBy.Name, CreatedAt: e.CreatedAt, StartedAt: e.StartedAt,
			FinishedAt: *e.FinishedAt, Total: c.Total, Succeeded: c.Succeeded, Failed: c.Failed, Skipped: c.Skipped, Cancelled: c.Cancelled,
		}})
	}
}

// handler returns the whole site, on the network or on the socket in the data
// directory.
func (a *App) handler(p *parts, onSocket bool) http.Handler {
	return handlers.Routes(handlers.Deps{
		Log: a.cfg.Log, Now: time.Now, Sessions: p.sessions, Links: a.links, Signer: p.signer, Policies: p.policies,
		Site: a.site(p, onSocket), Identity: p.identity, PublicURL: a.publicURL(),
		Workflows: p.workflows, Executions: p.executions, Artifacts: p.artifacts, Telemetry: p.telemetry, Catalogue: p.catalogue,
		Secrets: p.secrets, Tenancy: tenancy.NewService(p.pool, p.policies, time.Now), Audit: audit.NewLog(p.pool), Quotas: p.quotas,
		Checks: []handlers.Check{
			{Name: "postgres", Required: true, Ready: p.pool.Ping},
			{Name: "clickhouse", Ready: p.telemetry.Ready},
			{Name: "quotas", Ready: p.quotas.Ready},
		},
	})
}

// references gives the engine what inputs name in the catalogue.
type references struct{ catalogue *catalogue.Service }

func (r references) Exists(ctx context.Context, kind typeregistry.Kind, ref string) bool {
	return r.catalogue.Exists(ctx, kind, ref)
}

func (r references) Blob(ctx context.Context, kind typeregistry.Kind, ref string) (execution.BlobRef, error) {
	b, err := r.catalogue.Blob(ctx, kind, ref)
	return execution.BlobRef(b), err
}
