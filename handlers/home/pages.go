// Package home contains pages that cover several areas: the home page, the search, the API's
// documentation and the gallery of views.
package home

import (
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/engine/execution"
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
	Rows       *executions.Rows
	Page       *page.Shell
}

// Pages are the pages that cover several areas. They are safe for concurrent use.
type Pages struct{ Config }

// New returns the pages.
func New(c Config) *Pages { return &Pages{c} }

// Mount adds the pages to r.
func (h *Pages) Mount(r chi.Router) {
	r.Get("/", h.Page.Serve(h.home))
	r.Get("/home/stream", h.Page.Serve(h.homeStream))
	r.Get("/search", h.Page.Serve(h.search))
	r.Get("/docs", h.Page.Serve(h.docsPage))
	r.Get("/dev/gallery", h.Page.Serve(h.gallery))
	r.Get("/dev/gallery/{view}", h.Page.Serve(h.gallery))
}
