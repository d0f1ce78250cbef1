// Package failures contains the pages of dead letters, circuit breakers and retry budgets.
package failures

import (
	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/handlers/page"
)

// Config contains the dependencies of the pages.
type Config struct {
	Executions *execution.Service
	Page       *page.Shell
}

// Pages are the pages of failures. They are safe for concurrent use.
type Pages struct{ Config }

// New returns the pages.
func New(c Config) *Pages { return &Pages{c} }

// Mount adds the pages to r.
func (h *Pages) Mount(r chi.Router) {
	r.Get("/dead-letters", h.Page.Serve(h.deadLetters))
	r.Post("/dead-letters/dismiss", h.Page.Serve(h.dismissDeadLetters))
	r.Post("/dead-letters/{id}/requeue", h.Page.Serve(h.requeueDeadLetter))
	r.Post("/dead-letters/{id}/dismiss", h.Page.Serve(h.dismissDeadLetter))
	r.Post("/dead-deliveries/{id}/requeue", h.Page.Serve(h.redeliver))
	r.Post("/dead-deliveries/{id}/dismiss", h.Page.Serve(h.dismissDelivery))
	r.Get("/breakers", h.Page.Serve(h.breakers))
	r.Post("/breakers/{id}/reset", h.Page.Serve(h.resetBreaker))
	r.Get("/retry-budgets", h.Page.Serve(h.retryBudgets))
	r.Post("/retry-budgets", h.Page.Serve(h.saveRetryBudget))
}
