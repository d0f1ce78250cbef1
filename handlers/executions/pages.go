// Package executions contains the pages of executions: the list, one execution with its
// nodes, groups, logs, metrics and events, and their commands.
package executions

import (
	"log/slog"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/metaflow"
	"github.com/flowforge/flowforge/data/registry"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/data/view"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/retention"
	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/trigger"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/content"
	"github.com/flowforge/flowforge/handlers/form"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/handlers/planview"
	"github.com/flowforge/flowforge/handlers/source"
	"github.com/flowforge/flowforge/handlers/table"
	"github.com/flowforge/flowforge/web"
)

// Config contains the dependencies of the pages.
type Config struct {
	Log        *slog.Logger
	Now        func() time.Time
	Site       *web.Site
	Workflows  *workflow.Service
	Executions *execution.Service
	Artifacts  *artifact.Service
	Telemetry  *telemetry.Service
	Table      *table.Service
	Views      *view.Service
	Metaflow   *metaflow.Service
	Retention  *retention.Service
	Sweeps     *sweep.Service
	Triggers   *trigger.Service
	Models     *registry.Service
	Schedules  *schedule.Service
	Packages   source.Packages
	Content    *content.Content
	Drawings   *planview.Drawings // layouts of the versions in use
	Forms      *form.Forms
	Rows       *Rows
	Page       *page.Shell
}

// Pages are the pages of executions. Their own methods serve the pages of one execution. They are
// safe for concurrent use.
type Pages struct {
	Config

	lists  *lists
	grids  *nodeGrids
	shared *sharedReads
}

// lists are the pages of many executions: the list, the table of a query, saved views, and approvals.
type lists struct {
	Models     *registry.Service
	Log        *slog.Logger
	Now        func() time.Time
	Workflows  *workflow.Service
	Executions *execution.Service
	Table      *table.Service
	Views      *view.Service
	Metaflow   *metaflow.Service
	Sweeps     *sweep.Service
	Rows       *Rows
	Page       *page.Shell
}

// nodeGrids are the pages of the states of nodes over the executions of a workflow.
type nodeGrids struct {
	Now        func() time.Time
	Workflows  *workflow.Service
	Executions *execution.Service
	Page       *page.Shell
}

// New returns the pages.
func New(c Config) *Pages {
	h := &Pages{
		Config: c,
		lists: &lists{
			Log: c.Log, Now: c.Now, Workflows: c.Workflows, Executions: c.Executions, Table: c.Table,
			Views: c.Views, Metaflow: c.Metaflow, Models: c.Models, Sweeps: c.Sweeps, Rows: c.Rows, Page: c.Page,
		},
		grids: &nodeGrids{Now: c.Now, Workflows: c.Workflows, Executions: c.Executions, Page: c.Page},
	}
	h.shared = newSharedReads(h)
	return h
}

// Mount adds the pages to r.
func (h *Pages) Mount(r chi.Router) {
	r.Get("/approvals", h.Page.Serve(h.lists.approvals))
	r.Get("/executions", h.Page.Serve(h.lists.executions))
	r.Get("/executions/stream", h.Page.Serve(h.lists.executionsStream))
	r.Get("/executions/bulk", h.Page.Serve(h.lists.bulkResults))
	r.Get("/executions/complete", h.Page.Serve(h.lists.complete))
	r.Get("/executions/facets", h.Page.Serve(h.lists.facets))
	r.Get("/executions/lines", h.Page.Serve(h.lists.lines))
	r.Post("/executions/bulk", h.Page.Serve(h.lists.bulk))
	r.Post("/executions/views", h.Page.Serve(h.lists.saveView))
	r.Post("/executions/views/{view}", h.Page.Serve(h.lists.changeView))
	r.Post("/executions/views/{view}/default", h.Page.Serve(h.lists.defaultView))
	r.Post("/executions/views/{view}/delete", h.Page.Serve(h.lists.deleteView))
	r.Get("/workflows/{name}/grid", h.Page.Serve(h.grids.nodeGrid))
	r.Get("/workflows/{name}/grid/stream", h.Page.Serve(h.grids.nodeGridStream))
	r.Get("/executions/{id}", h.Page.Serve(h.execution))
	r.Get("/executions/{id}/stream", h.Page.Serve(h.executionStream))
	r.Get("/executions/{id}/cancel", h.Page.Serve(h.cancelPage))
	r.Post("/executions/{id}/cancel", h.Page.Serve(h.cancel))
	r.Get("/executions/{id}/labels", h.Page.Serve(h.labelsPage))
	r.Post("/executions/{id}/labels", h.Page.Serve(h.saveLabels))
	r.Post("/executions/{id}/pause", h.Page.Serve(h.pause))
	r.Post("/executions/{id}/unpause", h.Page.Serve(h.unpause))
	r.Post("/executions/{id}/keep", h.Page.Serve(h.keep))
	r.Post("/executions/{id}/release", h.Page.Serve(h.release))
	r.Get("/executions/{id}/commands/{command}", h.Page.Serve(h.commandPage))
	r.Post("/executions/{id}/commands/{command}", h.Page.Serve(h.command))
	r.Get("/executions/{id}/nodes/{node}", h.Page.Serve(h.node))
	r.Get("/executions/{id}/nodes/{node}/stream", h.Page.Serve(h.nodeStream))
	r.Get("/executions/{id}/events", h.Page.Serve(h.events))
	r.Get("/executions/{id}/metrics.csv", h.Page.Serve(h.metricCSV))
	r.Get("/executions/{id}/logs", h.Page.Serve(h.logs))
	r.Get("/executions/{id}/logs/stream", h.Page.Serve(h.logStream))
	r.Get("/executions/{id}/logs.txt", h.Page.Serve(h.logText))
}
