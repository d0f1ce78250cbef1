// Package events contains the pages of the feed of events and its consumers.
package events

import (
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/engine/feed"
	"github.com/flowforge/flowforge/engine/feed/consumer"
	"github.com/flowforge/flowforge/handlers/page"
)

// Config contains the dependencies of the pages.
type Config struct {
	Now       func() time.Time
	Feed      *feed.Service
	Consumers *consumer.Service
	Page      *page.Shell
}

// Pages are the pages of the feed and its consumers. They are safe for concurrent use.
type Pages struct{ Config }

// New returns the pages.
func New(c Config) *Pages { return &Pages{c} }

// Mount adds the pages to r.
func (h *Pages) Mount(r chi.Router) {
	r.Get("/events", h.Page.Serve(h.feed))
	r.Get("/events/stream", h.Page.Serve(h.stream))
	r.Get("/events/new-consumer", h.Page.Serve(h.newConsumer))
	r.Get("/events/consumers", h.Page.Serve(h.consumers))
	r.Post("/events/consumers", h.Page.Serve(h.create))
	r.Get("/events/consumers/{name}", h.Page.Serve(h.consumer))
	r.Post("/events/consumers/{name}/delete", h.Page.Serve(h.remove))
	r.Post("/events/consumers/{name}/redeliver", h.Page.Serve(h.redeliver))
	r.Post("/events/consumers/{name}/discard", h.Page.Serve(h.discard))
}
