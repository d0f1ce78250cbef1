// Package form draws and reads the forms of schemas: their controls, the choices from the
// catalogue and the secrets of the project, and uploaded files.
package form

import (
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/handlers/page"
)

// Config contains the dependencies of forms.
type Config struct {
	Now         func() time.Time
	Executions  *execution.Service
	Artifacts   *artifact.Service
	Catalogue   *catalogue.Service
	Telemetry   *telemetry.Service
	Secrets     *secret.Service     // nil: forms offer no secrets
	Connections *connection.Service // nil: forms offer no connections
	Page        *page.Shell
}

// Forms draws and reads forms. It is safe for concurrent use.
type Forms struct{ Config }

// New returns the forms.
func New(c Config) *Forms { return &Forms{c} }

// MountUploads adds the routes with large bodies to r.
func (h *Forms) MountUploads(r chi.Router) {
	r.Post("/uploads", h.Page.Serve(h.upload))
}

// Mount adds the routes that controls call while a user fills in a form to r.
func (h *Forms) Mount(r chi.Router) {
	r.Get("/typeahead", h.Page.Serve(h.typeahead))
	r.Get("/typeahead/preview", h.Page.Serve(h.typeaheadPreview))
}
