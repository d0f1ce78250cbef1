// Package launch contains the forms that launch, resume and schedule executions, with their checks and
// forecasts.
package launch

import (
	"log/slog"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/options"
	"github.com/flowforge/flowforge/engine/preset"
	"github.com/flowforge/flowforge/engine/retention"
	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/form"
	"github.com/flowforge/flowforge/handlers/leader"
	"github.com/flowforge/flowforge/handlers/page"
)

// Config contains the dependencies of the pages.
type Config struct {
	Log        *slog.Logger
	Now        func() time.Time
	Workflows  *workflow.Service
	Executions *execution.Service
	Secrets    *secret.Service
	Retention  *retention.Service
	Presets    *preset.Service
	Options    *options.Service
	Sweeps     *sweep.Service
	Schedules  *schedule.Service
	Index      *index.Service
	Forms      *form.Forms
	Page       *page.Shell
	Leader     *leader.Routes
}

// Pages are the forms of launches. They are safe for concurrent use.
type Pages struct{ Config }

// New returns the pages.
func New(c Config) *Pages { return &Pages{c} }

// MountUploads adds the routes with large bodies to r. The leader answers a launch form better,
// because it can forecast the start.
func (h *Pages) MountUploads(r chi.Router) {
	h.Leader.Prefers(r).Post("/workflows/{name}/launch", h.Page.Serve(h.launch)) // with files
	r.Post("/executions/{id}/resume", h.Page.Serve(h.resume))                    // with files
	(&sweepPages{h}).mountUploads(r)
	(&schedulePages{h}).mountUploads(r)
}

// Mount adds the forms to r.
func (h *Pages) Mount(r chi.Router) {
	forecasts := h.Leader.Prefers(r)
	forecasts.Get("/workflows/{name}/launch", h.Page.Serve(h.launchForm))
	forecasts.Get("/workflows/{name}/dev", h.Page.Serve(h.developForm))
	forecasts.Get("/launch/{id}", h.Page.Serve(h.launchByID))
	r.Post("/workflows/{name}/options", h.Page.Serve(h.inputOptions))
	r.Get("/workflows/{name}/dev/stream", h.Page.Serve(h.developStream))
	r.Get("/executions/{id}/resume", h.Page.Serve(h.resumeForm))
	(&presetPages{h}).mount(r)
	(&sweepPages{h}).mount(r)
	(&schedulePages{h}).mount(r)
}
