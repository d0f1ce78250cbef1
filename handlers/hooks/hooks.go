// Package hooks receives the webhooks of triggers. Senders have no account: a signature proves that
// they know the secret of the trigger.
package hooks

import (
	"errors"
	"io"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/trigger"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/web"
)

// Config contains the dependencies of the endpoint.
type Config struct {
	Site     *web.Site
	Triggers *trigger.Service
}

// Endpoint receives webhooks. It is safe for concurrent use.
type Endpoint struct{ Config }

// New returns the endpoint.
func New(c Config) *Endpoint { return &Endpoint{c} }

// Mount adds the endpoint to r. It limits the requests from one address.
func (h *Endpoint) Mount(r chi.Router) {
	r.With(h.Site.Limit).Post("/hooks/{hook}", h.Site.Handler(h.receive))
	r.With(h.Site.Limit).Post("/hooks/{hook}/{condition}", h.Site.Handler(h.receive))
}

// answer is the body of a response.
type answer struct {
	DeliveryID  uuid.UUID  `json:"delivery_id"` // of WAITING: the ID of the join
	Outcome     string     `json:"outcome"`
	Message     string     `json:"message,omitempty"`
	ExecutionID *uuid.UUID `json:"execution_id,omitempty"`
	Repeated    bool       `json:"repeated,omitempty"` // the event was received before; the rest is about its first delivery
}

// receive responds with 202 for an event that launched an execution, and with 200 for one that
// launched none or waits for other conditions.
func (h *Endpoint) receive(w http.ResponseWriter, r *http.Request) error {
	id, err := request.ParseID(chi.URLParam(r, "hook"), "webhook")
	if err != nil {
		return err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, trigger.MaxPayload))
	if err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return err
		}
		return apperr.New(apperr.Invalid, "The body of the request could not be read.")
	}
	d, err := h.Triggers.Receive(r.Context(), id, trigger.Request{Condition: chi.URLParam(r, "condition"), Header: r.Header, Query: r.URL.Query(), Body: body})
	if err != nil {
		return err
	}
	status := http.StatusOK
	if d.Outcome == trigger.Launched && !d.Repeated {
		status = http.StatusAccepted
	}
	web.WriteJSON(w, status, "application/json", answer{DeliveryID: d.ID, Outcome: string(d.Outcome), Message: d.Message, ExecutionID: d.ExecutionID, Repeated: d.Repeated})
	return nil
}
