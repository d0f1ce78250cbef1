package handlers

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/web"
)

// health answers liveness and readiness probes.
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

// healthz reports that the process responds.
func (h health) healthz(w http.ResponseWriter, _ *http.Request) error {
	web.WriteJSON(w, http.StatusOK, "application/json", map[string]string{"status": "ok"})
	return nil
}

type readiness struct {
	Status string            `json:"status"` // ok, degraded, unavailable
	Checks map[string]string `json:"checks"` // "ok" or the error
}

// readyz checks every dependency. It returns 503 if a required one is unavailable, and
// "degraded" for others, such as ClickHouse, without which logs wait on disk.
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
			return nil // the caller disconnected, which is no failure of the dependency
		}
		answer.Checks[c.Name] = "down"
		h.log.Warn("readiness check failed", "check", c.Name, "error", err)
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
