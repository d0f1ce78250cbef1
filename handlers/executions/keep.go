package executions

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

func (h *Pages) keep(w http.ResponseWriter, r *http.Request) error {
	return h.changeRetention(w, r, h.Retention.Keep)
}

func (h *Pages) release(w http.ResponseWriter, r *http.Request) error {
	return h.changeRetention(w, r, h.Retention.Release)
}

func (h *Pages) changeRetention(w http.ResponseWriter, r *http.Request, do func(context.Context, uuid.UUID) error) error {
	id, err := request.ExecutionID(r)
	if err != nil {
		return err
	}
	if err := do(r.Context(), id); err != nil {
		return err
	}
	http.Redirect(w, r, views.ExecutionURL(id.String()), http.StatusSeeOther)
	return nil
}

// retentionOf is the retention of an execution for its page.
func retentionOf(clock ui.Clock, e query.Execution, may bool) views.Keeping {
	k := views.Keeping{By: e.KeptBy}
	if e.ExpiresAt != nil {
		k.Expires, k.Passed = new(clock.Moment(*e.ExpiresAt)), e.ExpiresAt.Before(clock.Now)
	}
	switch id := e.ID.String(); {
	case !may:
	case e.KeptAt != nil:
		k.FreeURL = views.ReleaseURL(id)
	case e.ExpiresAt != nil:
		k.KeepURL = views.KeepURL(id)
	}
	return k
}

// mayKeep reports whether the reader may keep executions of project.
func mayKeep(ctx context.Context, project uuid.UUID) bool {
	s, ok := auth.SubjectOf(ctx)
	return ok && s.May(auth.ExecutionLaunch, project)
}
