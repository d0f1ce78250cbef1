// Package sweeps contains the pages of sweeps: the list, one sweep with its drawings and runs, and
// its commands. The forms that launch and change a sweep are in handlers/launch.
package sweeps

import (
	"context"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/handlers/request"
)

// Config contains the dependencies of the pages.
type Config struct {
	Now        func() time.Time
	Sweeps     *sweep.Service
	Executions *query.Reader
	Telemetry  *telemetry.Service
	Page       *page.Shell
}

// Pages are the pages of sweeps. They are safe for concurrent use.
type Pages struct{ Config }

// New returns the pages.
func New(c Config) *Pages { return &Pages{c} }

// Mount adds the pages to r.
func (h *Pages) Mount(r chi.Router) {
	r.Get("/sweeps", h.Page.Serve(h.list))
	r.Get("/sweeps/stream", h.Page.Serve(h.listStream))
	r.Get("/sweeps/{sweep}", h.Page.Serve(h.sweep))
	r.Get("/sweeps/{sweep}/stream", h.Page.Serve(h.sweepStream))
	r.Get("/sweeps/{sweep}/runs.json", h.Page.Serve(h.frame))
	r.Get("/sweeps/{sweep}/stop", h.Page.Serve(h.stopPage))
	r.Post("/sweeps/{sweep}/stop", h.Page.Serve(h.stop))
	r.Post("/sweeps/{sweep}/pause", h.Page.Serve(h.pause))
	r.Post("/sweeps/{sweep}/resume", h.Page.Serve(h.resume))
}

// sweepID is the sweep that a path names.
func sweepID(r *http.Request) (uuid.UUID, error) {
	text := request.PathValue(r, "sweep")
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.Nil, apperr.New(apperr.NotFound, "There is no sweep %q.", text)
	}
	return id, nil
}

// workflowRef is the workflow of a sweep for links: its id where the name would not lead to it.
func workflowRef(ctx context.Context, s sweep.Sweep) string {
	if subject, ok := auth.SubjectOf(ctx); ok && subject.ProjectID == s.ProjectID {
		return s.WorkflowName
	}
	return s.WorkflowID.String()
}
