// Package quotas contains the pages of shared resources: limits and their usage, teams, the
// queue and semaphores.
package quotas

import (
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/handlers/leader"
	"github.com/flowforge/flowforge/handlers/page"
)

// Config contains the dependencies of the pages.
type Config struct {
	Now        func() time.Time
	Executions *execution.Service
	Quotas     *quota.Service
	Page       *page.Shell
	Leader     *leader.Routes
}

// Pages are the pages of quotas. They are safe for concurrent use.
type Pages struct{ Config }

// New returns the pages.
func New(c Config) *Pages { return &Pages{c} }

// Mount adds the pages to r. Most show or predict the queue, which is in the memory of the
// leader.
func (h *Pages) Mount(r chi.Router) {
	queue := h.Leader.Needs(r)
	queue.Get("/waiting", h.Page.Serve(h.waiting))
	queue.Get("/waiting/stream", h.Page.Serve(h.waitingStream))
	queue.Get("/admin/quotas", h.Page.Serve(h.quotas))
	queue.Get("/admin/quotas.csv", h.Page.Serve(h.quotaCSV))
	queue.Get("/admin/quotas/stream", h.Page.Serve(h.quotaStream))
	queue.Post("/admin/quotas/{id}", h.Page.Serve(h.saveQuota))
	queue.Post("/admin/quotas/{id}/preview", h.Page.Serve(h.previewQuota))
	queue.Get("/teams/mine", h.Page.Serve(h.myTeam))
	queue.Get("/teams/{id}", h.Page.Serve(h.team))
	queue.Get("/teams/{id}/stream", h.Page.Serve(h.teamStream))
	r.Get("/semaphores", h.Page.Serve(h.semaphores))
	r.Post("/semaphores", h.Page.Serve(h.setSemaphore))
}
