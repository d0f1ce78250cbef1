// Package home contains pages that cover several areas: the home page, the search, the page
// about Python, the documentation and the gallery of views.
package home

import (
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/dataset"
	"github.com/flowforge/flowforge/data/metaflow"
	"github.com/flowforge/flowforge/data/registry"
	"github.com/flowforge/flowforge/data/report"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/executions"
	"github.com/flowforge/flowforge/handlers/page"
)

// Config contains the dependencies of the pages.
type Config struct {
	Now        func() time.Time
	Workflows  *workflow.Service
	Executions *execution.Service
	Artifacts  *artifact.Service
	Metaflow   *metaflow.Service
	Reports    *report.Service
	Schedules  *schedule.Service
	Sweeps     *sweep.Service
	Registry   *registry.Service
	Datasets   *dataset.Service
	Rows       *executions.Rows
	PublicURL  string                 // public address of this server; "": taken from the request
	API        func() ([]byte, error) // describes the JSON API in the format of OpenAPI
	Page       *page.Shell
}

// Pages are the pages that cover several areas. They are safe for concurrent use.
type Pages struct {
	Config
	library   library
	reference reference
}

// New returns the pages.
func New(c Config) *Pages { return &Pages{Config: c, reference: reference{describe: c.API}} }

// Mount adds the pages to r.
func (h *Pages) Mount(r chi.Router) {
	r.Get("/", h.Page.Serve(h.home))
	r.Get("/home/stream", h.Page.Serve(h.homeStream))
	r.Get("/search", h.Page.Serve(h.search))
	r.Get("/python", h.Page.Serve(h.python))
	r.Get("/docs", h.Page.Serve(h.docsPage))
	r.Get("/docs/api", h.Page.Serve(h.apiPage))
	r.Get("/docs/api/{part}", h.Page.Serve(h.apiPage))
	r.Get("/docs/{doc}", h.Page.Serve(h.docPage))
	h.galleryRoutes(r)
}
