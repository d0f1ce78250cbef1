// Package metaflowruns contains the pages of the runs that Metaflow's client reports: the list,
// one run with its steps and tags, and one task with its attempts and artifacts.
package metaflowruns

import (
	"context"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/metaflow"
	"github.com/flowforge/flowforge/data/metaflow/datastore"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/handlers/page"
)

// Config contains the dependencies of the pages.
type Config struct {
	Now        func() time.Time
	Executions *query.Reader
	Records    *metaflow.Service
	Datastores *datastore.Service
	Secrets    *secret.Service
	Page       *page.Shell
}

// Pages are the pages of runs. They are safe for concurrent use.
type Pages struct{ Config }

// New returns the pages.
func New(c Config) *Pages { return &Pages{c} }

// readingTime is the total time that a page, or one update of a stream, may spend reading from
// the datastore.
const readingTime = 5 * time.Second

// reading is the deadline for the reads of a page.
type reading struct{ until time.Time }

// begin starts the time of a page or an update.
func (l *reading) begin() { l.until = time.Now().Add(readingTime) }

// limit returns ctx with the deadline.
func (l *reading) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadline(ctx, l.until)
}

// inTime returns err, or apperr.Unavailable if limited has expired and ctx has not.
func inTime(ctx, limited context.Context, err error) error {
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return apperr.Wrap(apperr.Unavailable, err, "The datastore did not respond within 5 s.")
	}
	return err
}

// Mount adds the pages to r.
func (h *Pages) Mount(r chi.Router) {
	r.Get("/executions/metaflow", h.Page.Serve(h.runs))
	r.Get("/executions/metaflow/stream", h.Page.Serve(h.runsStream))
	r.Get("/executions/metaflow/datastore", h.Page.Serve(h.store))
	r.Post("/executions/metaflow/datastore", h.Page.Serve(h.setStore))
	const run = "/executions/metaflow/{flow}/{run}"
	r.Get(run, h.Page.Serve(h.run))
	r.Get(run+"/stream", h.Page.Serve(h.runStream))
	r.Post(run+"/tags", h.Page.Serve(h.changeTags))
	const task = run + "/{step}/{task}"
	r.Get(task, h.Page.Serve(h.task))
	r.Get(task+"/stream", h.Page.Serve(h.taskStream))
	r.Get(task+"/log", h.Page.Serve(h.log))
	r.Get(task+"/artifacts/{name}", h.Page.Serve(h.download))
	r.Get(task+"/cards/{file}", h.Page.Serve(h.card))
}
