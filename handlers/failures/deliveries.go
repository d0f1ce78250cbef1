package failures

import (
	"context"
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

func deliveryLine(clock ui.Clock, d execution.DeadDelivery, settles bool) views.DeliveryLine {
	line := views.DeliveryLine{
		ID: strconv.FormatInt(d.ID, 10), What: "Completion of " + d.Workflow + " " + d.Version, URL: views.ExecutionURL(d.Execution.String()), Sub: label.ShortID(d.Execution) + " · " + units.Plural(d.Attempts, "attempt", "attempts"),
		Message: d.Error, When: clock.Moment(d.At),
	}
	if settles {
		line.RequeueTo, line.DismissTo = views.DeliveryRequeueURL(line.ID), views.DeliveryDismissURL(line.ID)
	}
	return line
}

// redeliver retries a delivery.
func (h *Pages) redeliver(w http.ResponseWriter, r *http.Request) error {
	return settleDelivery(w, r, "delivery", h.Executions.DeadLetters.Redeliver)
}

// dismissDelivery dismisses a delivery.
func (h *Pages) dismissDelivery(w http.ResponseWriter, r *http.Request) error {
	return settleDelivery(w, r, "undelivered", h.Executions.DeadLetters.DismissDelivery)
}

func settleDelivery(w http.ResponseWriter, r *http.Request, done string, settle func(context.Context, int64, string) error) error {
	id, err := strconv.ParseInt(chi.URLParam(r, "id"), 10, 64)
	if err != nil {
		return apperr.New(apperr.NotFound, "There is no undelivered event %s.", chi.URLParam(r, "id"))
	}
	if err := settle(r.Context(), id, r.FormValue("reason")); err != nil {
		return err
	}
	http.Redirect(w, r, views.DeadLettersURL("", "")+"?done="+done, http.StatusSeeOther)
	return nil
}
