// Package handlers assembles the site from the packages below it: the pages by area, the
// JSON API and the API of tasks. Handlers read the request, call a service and draw the
// response. Services make the decisions.
package handlers

import (
	"context"
	"log/slog"
	"time"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/access/identity"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/access/secretstore"
	"github.com/flowforge/flowforge/access/tenancy"
	"github.com/flowforge/flowforge/compute/pool"
	"github.com/flowforge/flowforge/compute/resident"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/data/dataset"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/data/metaflow"
	"github.com/flowforge/flowforge/data/metaflow/datastore"
	"github.com/flowforge/flowforge/data/registry"
	"github.com/flowforge/flowforge/data/report"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/data/view"
	"github.com/flowforge/flowforge/engine/backfill"
	"github.com/flowforge/flowforge/engine/comparison"
	"github.com/flowforge/flowforge/engine/comparison/model"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/feed"
	"github.com/flowforge/flowforge/engine/feed/consumer"
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
	"github.com/flowforge/flowforge/handlers/account"
	"github.com/flowforge/flowforge/handlers/admin"
	"github.com/flowforge/flowforge/handlers/api"
	"github.com/flowforge/flowforge/handlers/artifacts"
	"github.com/flowforge/flowforge/handlers/backfills"
	cataloguepages "github.com/flowforge/flowforge/handlers/catalogue"
	"github.com/flowforge/flowforge/handlers/compare"
	"github.com/flowforge/flowforge/handlers/content"
	"github.com/flowforge/flowforge/handlers/datasets"
	"github.com/flowforge/flowforge/handlers/events"
	"github.com/flowforge/flowforge/handlers/executions"
	"github.com/flowforge/flowforge/handlers/failures"
	"github.com/flowforge/flowforge/handlers/form"
	"github.com/flowforge/flowforge/handlers/home"
	inboxpages "github.com/flowforge/flowforge/handlers/inbox"
	"github.com/flowforge/flowforge/handlers/launch"
	"github.com/flowforge/flowforge/handlers/leader"
	lineagepages "github.com/flowforge/flowforge/handlers/lineage"
	metaflowapi "github.com/flowforge/flowforge/handlers/metaflow"
	"github.com/flowforge/flowforge/handlers/metaflowruns"
	"github.com/flowforge/flowforge/handlers/notifications"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/handlers/planview"
	"github.com/flowforge/flowforge/handlers/quotas"
	registrypages "github.com/flowforge/flowforge/handlers/registry"
	"github.com/flowforge/flowforge/handlers/reports"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/handlers/scheduler"
	"github.com/flowforge/flowforge/handlers/schedules"
	"github.com/flowforge/flowforge/handlers/source"
	"github.com/flowforge/flowforge/handlers/sweeps"
	"github.com/flowforge/flowforge/handlers/table"
	"github.com/flowforge/flowforge/handlers/triggers"
	"github.com/flowforge/flowforge/web"
)

// Deps contains the dependencies of the handlers.
type Deps struct {
	Log      *slog.Logger
	Now      func() time.Time
	Site     *web.Site
	Sessions *web.Sessions
	Links    *auth.LoginLinks
	Identity *identity.Service
	Policies *auth.Policies // the projects to choose among

	Workflows     *workflow.Service
	Executions    *execution.Service
	Artifacts     *artifact.Service
	Catalogue     *catalogue.Service
	Telemetry     *telemetry.Service
	Index         *index.Service
	Metaflow      *metaflow.Service
	Datastores    *datastore.Service // of Metaflow
	Secrets       *secret.Service
	SecretStores  *secretstore.Service // outside FlowForge
	Connections   *connection.Service
	Tenancy       *tenancy.Service
	Audit         *audit.Log
	Quotas        *quota.Service
	Retention     *retention.Service
	Presets       *preset.Service
	Options       *options.Service
	Sweeps        *sweep.Service
	Schedules     *schedule.Service
	Backfills     *backfill.Service
	Notifications *notify.Service
	Inbox         *inbox.Service
	Triggers      *trigger.Service
	Feed          *feed.Service
	Consumers     *consumer.Service // of the feed
	Views         *view.Service
	Reports       *report.Service
	Lineage       *lineage.Service
	Registry      *registry.Service // of models
	Datasets      *dataset.Service  // and feature sets
	Resident      *resident.Service // nil: there are no warm pods
	Pools         *pool.Service     // of machines outside the cluster
	Signer        auth.Signer       // of task tokens
	Bodies        web.Bodies        // limits of request bodies; zero: the defaults
	Checks        []Check           // checks of /readyz
	WarmPython    admin.WarmPython  // nil: tasks do not run on this machine
	Replica       admin.Replica     // nil: there is no read replica
	// ToLeader is nil in a process that always leads.
	ToLeader  leader.Forward
	PublicURL string // public address of this server; "": taken from the request
}

// Check is one dependency that /readyz checks.
type Check struct {
	Name     string
	Required bool // the server cannot work without it
	Ready    func(ctx context.Context) error
}

// areas are the parts of the site.
type areas struct {
	api           *api.API
	scheduler     *scheduler.API
	account       *account.Pages
	admin         *admin.Pages
	artifacts     *artifacts.Pages
	catalogue     *cataloguepages.Pages
	compare       *compare.Pages
	executions    *executions.Pages
	failures      *failures.Pages
	forms         *form.Forms
	home          *home.Pages
	launch        *launch.Pages
	lineage       *lineagepages.Pages
	registry      *registrypages.Pages
	datasets      *datasets.Pages
	metaflow      *metaflowapi.API
	runs          *metaflowruns.Pages
	quotas        *quotas.Pages
	sweeps        *sweeps.Pages
	schedules     *schedules.Pages
	backfills     *backfills.Pages
	notifications *notifications.Pages
	inbox         *inboxpages.Pages
	triggers      *triggers.Pages
	events        *events.Pages
	reports       *reports.Pages
}

func newAreas(d Deps, marked *leader.Routes) areas {
	scope := request.Scope{Site: d.Site, Executions: d.Executions.Reader, Artifacts: d.Artifacts, Workflows: d.Workflows, Reports: d.Reports}
	stored := &content.Content{
		Log: d.Log, Now: d.Now, Site: d.Site, Executions: d.Executions, Artifacts: d.Artifacts, Telemetry: d.Telemetry, Audit: d.Audit,
	}
	shell := page.New(page.Config{Now: d.Now, Site: d.Site, Policies: d.Policies, Executions: d.Executions.Reader, Notifications: d.Notifications, Inbox: d.Inbox, Scope: scope})
	forms := form.New(form.Config{Now: d.Now, Executions: d.Executions, Artifacts: d.Artifacts, Catalogue: d.Catalogue, Telemetry: d.Telemetry, Secrets: d.Secrets, Connections: d.Connections, Page: shell})
	compared := comparison.New(comparison.Config{Now: d.Now, Executions: d.Executions.Reader, Usage: d.Executions.Usage, Workflows: d.Workflows, Artifacts: d.Artifacts, Telemetry: d.Telemetry})
	models := model.New(model.Config{Registry: d.Registry, Comparison: compared, Lineage: d.Lineage})
	rows, drawings := &executions.Rows{Now: d.Now, Executions: d.Executions.Reader, Sweeps: d.Sweeps}, planview.NewDrawings()
	packages := source.Packages{Artifacts: d.Artifacts}
	tables := &table.Service{Index: d.Index, Executions: d.Executions, Retention: d.Retention, Telemetry: d.Telemetry}
	files := artifacts.New(artifacts.Config{
		Log: d.Log, Workflows: d.Workflows, Executions: d.Executions.Reader, Artifacts: d.Artifacts, Catalogue: d.Catalogue, Registry: d.Registry, Content: stored, Page: shell,
	})
	administration := admin.New(admin.Config{
		Now: d.Now, Identity: d.Identity, Executions: d.Executions.Reader, Tenancy: d.Tenancy, Audit: d.Audit, Quotas: d.Quotas, Retention: d.Retention,
		Content: stored, Page: shell, WarmPython: d.WarmPython, Replica: d.Replica, Pools: d.Pools, PublicURL: d.PublicURL,
	})
	return areas{
		api: api.New(api.Config{
			Log: d.Log, Now: d.Now, Site: d.Site, Links: d.Links, Identity: d.Identity, Policies: d.Policies, PublicURL: d.PublicURL,
			Workflows: d.Workflows, Executions: d.Executions, Artifacts: d.Artifacts, Catalogue: d.Catalogue, Telemetry: d.Telemetry,
			Datastores: d.Datastores, Secrets: d.Secrets, SecretStores: d.SecretStores, Connections: d.Connections, Tenancy: d.Tenancy, Audit: d.Audit, Quotas: d.Quotas, Retention: d.Retention, Presets: d.Presets, Options: d.Options, Sweeps: d.Sweeps, Schedules: d.Schedules, Backfills: d.Backfills, Notifications: d.Notifications, Inbox: d.Inbox, Triggers: d.Triggers, Feed: d.Feed, Consumers: d.Consumers, Views: d.Views, Reports: d.Reports, Lineage: d.Lineage, Registry: d.Registry, Datasets: d.Datasets, Pools: d.Pools, Comparison: compared, Models: models,
			Table: tables, Scope: scope, Content: stored, Packages: packages, Leader: marked,
		}),
		scheduler: scheduler.New(scheduler.Config{Log: d.Log, Commands: d.Executions.Commands, Leader: marked}),
		account: account.New(account.Config{
			Log: d.Log, Now: d.Now, Site: d.Site, Sessions: d.Sessions, Links: d.Links, Identity: d.Identity, PublicURL: d.PublicURL, Page: shell,
		}),
		admin:     administration,
		artifacts: files,
		catalogue: cataloguepages.New(cataloguepages.Config{
			Now: d.Now, Workflows: d.Workflows, Executions: d.Executions.Reader, Catalogue: d.Catalogue, Secrets: d.Secrets, SecretStores: d.SecretStores, Connections: d.Connections,
			Packages: packages, Drawings: drawings, Forms: forms, Rows: rows, AdminTabs: administration.TabsAt, Page: shell, Schedules: d.Schedules,
		}),
		compare: compare.New(compare.Config{Log: d.Log, Now: d.Now, Comparison: compared, Executions: d.Executions.Reader, Sweeps: d.Sweeps, PublicURL: d.PublicURL, Page: shell}),
		executions: executions.New(executions.Config{
			Log: d.Log, Now: d.Now, Site: d.Site, Workflows: d.Workflows, Executions: d.Executions, Artifacts: d.Artifacts, Telemetry: d.Telemetry,
			Table: tables, Views: d.Views, Metaflow: d.Metaflow, Retention: d.Retention, Sweeps: d.Sweeps, Triggers: d.Triggers, Schedules: d.Schedules, Models: d.Registry, Content: stored, Packages: packages, Drawings: drawings, Forms: forms, Rows: rows, Page: shell,
		}),
		failures: failures.New(failures.Config{Executions: d.Executions, Page: shell}),
		forms:    forms,
		home:     home.New(home.Config{Now: d.Now, Workflows: d.Workflows, Executions: d.Executions, Artifacts: d.Artifacts, Metaflow: d.Metaflow, Reports: d.Reports, Schedules: d.Schedules, Sweeps: d.Sweeps, Registry: d.Registry, Datasets: d.Datasets, Rows: rows, PublicURL: d.PublicURL, API: api.OpenAPI, Page: shell}),
		launch: launch.New(launch.Config{
			Log: d.Log, Now: d.Now, Workflows: d.Workflows, Executions: d.Executions, Secrets: d.Secrets, Retention: d.Retention, Presets: d.Presets, Options: d.Options,
			Sweeps: d.Sweeps, Schedules: d.Schedules, Index: d.Index, Forms: forms, Page: shell, Leader: marked,
		}),
		lineage:       lineagepages.New(lineagepages.Config{Lineage: d.Lineage, Page: shell}),
		registry:      registrypages.New(registrypages.Config{Registry: d.Registry, Artifacts: d.Artifacts, Models: models, Page: shell}),
		datasets:      datasets.New(datasets.Config{Log: d.Log, Datasets: d.Datasets, Lineage: d.Lineage, Page: shell}),
		metaflow:      d.records(),
		runs:          metaflowruns.New(metaflowruns.Config{Now: d.Now, Executions: d.Executions.Reader, Records: d.Metaflow, Datastores: d.Datastores, Secrets: d.Secrets, Page: shell}),
		sweeps:        sweeps.New(sweeps.Config{Now: d.Now, Sweeps: d.Sweeps, Executions: d.Executions.Reader, Telemetry: d.Telemetry, Page: shell}),
		backfills:     backfills.New(backfills.Config{Now: d.Now, Backfills: d.Backfills, Schedules: d.Schedules, Page: shell}),
		schedules:     schedules.New(schedules.Config{Now: d.Now, Schedules: d.Schedules, Workflows: d.Workflows, Page: shell}),
		notifications: notifications.New(notifications.Config{Now: d.Now, Notifications: d.Notifications, Page: shell}),
		inbox:         inboxpages.New(inboxpages.Config{Now: d.Now, Inbox: d.Inbox, Page: shell}),
		events:        events.New(events.Config{Now: d.Now, Feed: d.Feed, Consumers: d.Consumers, Page: shell}),
		triggers:      triggers.New(triggers.Config{Triggers: d.Triggers, Workflows: d.Workflows, Secrets: d.Secrets, Connections: d.Connections, PublicURL: d.PublicURL, Page: shell}),
		reports: reports.New(reports.Config{
			Log: d.Log, Now: d.Now, Reports: d.Reports, Views: d.Views, Table: tables, Comparison: compared, Executions: d.Executions,
			Artifacts: d.Artifacts, Files: files, Sweeps: d.Sweeps, PublicURL: d.PublicURL, Page: shell,
		}),
		quotas: quotas.New(quotas.Config{Now: d.Now, Executions: d.Executions, Quotas: d.Quotas, Page: shell, Leader: marked}),
	}
}
