package handlers

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/web"
)

// health answers the probes of whoever watches the process.
type health struct {
	log    *slog.Logger
	site   *web.Site
	checks []Check
}

func (d *Deps) health() health { return health{d.Log, d.Site, d.Checks} }

func (h health) mount(r chi.Router) {
	r.Get("/healthz", h.site.Handler(h.healthz))
	r.Get("/readyz", h.site.Handler(h.readyz))
}

// healthz says that the process answers.
func (h health) healthz(w http.ResponseWriter, _ *http.Request) error {
	web.WriteJSON(w, http.StatusOK, "application/json", map[string]string{"status": "ok"})
	return nil
}

type readiness struct {
	Status string            `json:"status"` // ok, degraded, unavailable
	Checks map[string]string `json:"checks"` // "ok" or what is wrong
}

// readyz asks every dependency: 503 when a required one is down, "degraded" when
// another is, such as ClickHouse, without which logs wait on disk.
func (h health) readyz(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), 3*time.Second)
	defer cancel()
	answer := readiness{Status: "ok", Checks: map[string]string{}}
	status := http.StatusOK
	for _, c := range h.checks {
		err := c.Ready(ctx)
		if err == nil {
			answer.Checks[c.Name] = "ok"
			continue
		}
		if r.Context().Err() != nil {
			return nil // the caller has gone: that says nothing about the dependency
		}
		answer.Checks[c.Name] = "down"
		h.log.Warn("dependency is unavailable", "name", c.Name, "error", err)
		switch {
		case c.Required:
			answer.Status, status = "unavailable", http.StatusServiceUnavailable
		case status == http.StatusOK:
			answer.Status = "degraded"
		}
	}
	web.WriteJSON(w, status, "application/json", answer)
	return nil
}
