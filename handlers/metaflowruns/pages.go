// Package metaflowruns contains the pages of the runs that Metaflow's client reports: the list,
// one run with its steps and tags, and one task with its attempts and artifacts.
package metaflowruns

import (
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/data/metaflow"
	"github.com/flowforge/flowforge/handlers/page"
)

// Config contains the dependencies of the pages.
type Config struct {
	Now     func() time.Time
	Records *metaflow.Service
	Page    *page.Shell
}

// Pages are the pages of runs. They are safe for concurrent use.
type Pages struct{ Config }

// New returns the pages.
func New(c Config) *Pages { return &Pages{c} }

// Mount adds the pages to r.
func (h *Pages) Mount(r chi.Router) {
	r.Get("/executions/metaflow", h.Page.Serve(h.runs))
	r.Get("/executions/metaflow/stream", h.Page.Serve(h.runsStream))
	const run = "/executions/metaflow/{flow}/{run}"
	r.Get(run, h.Page.Serve(h.run))
	r.Get(run+"/stream", h.Page.Serve(h.runStream))
	r.Post(run+"/tags", h.Page.Serve(h.changeTags))
	r.Get(run+"/{step}/{task}", h.Page.Serve(h.task))
}
