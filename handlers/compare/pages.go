// Package compare contains the page that compares executions, with its curves, downloads and
// live updates.
package compare

import (
	"log/slog"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/engine/comparison"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/handlers/page"
)

// Config contains the dependencies of the pages.
type Config struct {
	Log        *slog.Logger
	Now        func() time.Time
	Comparison *comparison.Service
	Executions *query.Reader
	Sweeps     *sweep.Service
	PublicURL  string
	Page       *page.Shell
}

// Pages are the pages of comparisons. They are safe for concurrent use.
type Pages struct{ Config }

// New returns the pages.
func New(c Config) *Pages { return &Pages{c} }

// Mount adds the pages to r.
func (h *Pages) Mount(r chi.Router) {
	r.Get("/compare", h.Page.Serve(h.compare))
	r.Get("/compare/choices", h.Page.Serve(h.choices))
	r.Get("/compare/stream", h.Page.Serve(h.stream))
	r.Get("/compare/curves", h.Page.Serve(h.curves))
	r.Get("/compare/curves.csv", h.Page.Serve(h.curvesCSV))
	r.Get("/compare/plots.json", h.Page.Serve(h.plotData))
	r.Get("/compare/table.csv", h.Page.Serve(h.tableCSV))
}
