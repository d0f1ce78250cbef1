package handlers

import (
	"context"
	"net/http"
	"time"

	"github.com/flowforge/flowforge/web"
)

// healthz says that the process answers.
func (h *Handlers) healthz(w http.ResponseWriter, _ *http.Request) error {
	web.WriteJSON(w, http.StatusOK, "application/json", map[string]string{"status": "ok"})
	return nil
}

type readiness struct {
	Status string            `json:"status"` // ok, degraded, unavailable
	Checks map[string]string `json:"checks"` // "ok" or what is wrong
}

// readyz asks every dependency: 503 when a required one is down, "degraded" when
// another is, such as ClickHouse, without which logs wait on disk.
func (h *Handlers) readyz(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), 3*time.Second)
	defer cancel()
	answer := readiness{Status: "ok", Checks: map[string]string{}}
	status := http.StatusOK
	for _, c := range h.Checks {
		err := c.Ready(ctx)
		if err == nil {
			answer.Checks[c.Name] = "ok"
			continue
		}
		if r.Context().Err() != nil {
			return nil // the caller has gone: that says nothing about the dependency
		}
		answer.Checks[c.Name] = "down"
		h.Log.Warn("dependency is down", "name", c.Name, "error", err)
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
