package launch

import (
	"context"
	"net/http"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// developForm draws the launch form of the version that the reader develops.
func (h *Pages) developForm(w http.ResponseWriter, r *http.Request) error {
	found, err := h.Workflows.Developed(r.Context(), request.PathValue(r, "name"))
	if err != nil {
		return err
	}
	d, err := h.newDraft(r, found.Version)
	if err != nil {
		return err
	}
	d.develops = true
	if err := h.prefill(r, d); err != nil {
		return err
	}
	return h.renderDraft(w, r, http.StatusOK, d)
}

// developStream sends the version that the reader develops whenever they save another one. The
// form in the browser then reloads itself.
func (h *Pages) developStream(w http.ResponseWriter, r *http.Request) error {
	ref := request.PathValue(r, "name")
	if _, err := h.Workflows.Developed(r.Context(), ref); err != nil {
		return err
	}
	stream, err := web.NewStream(w, r, web.StillMay(auth.WorkflowRead))
	if err != nil {
		return err
	}
	clock, sent := h.Page.Clock(r), page.SentPieces{}
	h.Page.OnHints(r, stream, h.Page.Ticks(r.Context()), page.ListInterval, func(ctx context.Context) error {
		clock.Now = h.Now()
		found, err := h.developed(ctx, clock, ref)
		if err != nil || !sent.Changed("version", [2]string{found.Version, found.Saved.Exact}) {
			return err
		}
		return stream.SendComponent(ctx, "", "", views.DevelopUpdate(*found))
	})
	return nil
}

func (h *Pages) developed(ctx context.Context, clock ui.Clock, ref string) (*views.Develop, error) {
	found, err := h.Workflows.Developed(ctx, ref)
	if err != nil {
		return nil, err
	}
	return &views.Develop{Version: found.Version, Saved: clock.Moment(found.SavedAt), StreamURL: views.DevelopURL(ref) + "/stream"}, nil
}
