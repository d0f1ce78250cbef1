// Package artifacts contains the pages of artifacts: the list, one artifact and its preview.
package artifacts

import (
	"log/slog"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/data/registry"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/content"
	"github.com/flowforge/flowforge/handlers/page"
)

// Config contains the dependencies of the pages.
type Config struct {
	Log        *slog.Logger
	Workflows  *workflow.Service
	Executions *query.Reader
	Artifacts  *artifact.Service
	Catalogue  *catalogue.Service
	Registry   *registry.Service
	Content    *content.Content
	Page       *page.Shell
}

// Pages are the pages of artifacts. They are safe for concurrent use.
type Pages struct{ Config }

// New returns the pages.
func New(c Config) *Pages { return &Pages{c} }

// Mount adds the pages of artifacts to r.
func (h *Pages) Mount(r chi.Router) {
	r.Get("/artifacts", h.Page.Serve(h.artifacts))
	r.Get("/artifacts/compare", h.Page.Serve(h.compare))
	r.Get("/artifacts/{id}", h.Page.Serve(h.artifact))
	r.Post("/artifacts/{id}/register", h.Page.Serve(h.register))
	r.Get("/artifacts/{id}/download", h.Page.Serve(h.Content.Download))
	r.Head("/artifacts/{id}/download", h.Page.Serve(h.Content.Download))
	r.Get("/artifacts/{id}/thumbnail", h.Page.Serve(h.Content.Thumbnail))
	r.Get("/artifacts/{id}/frame", h.Page.Serve(h.Content.Frame))
}
