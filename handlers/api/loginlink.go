package api

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/web"
	"github.com/flowforge/flowforge/web/contract"
)

func (h *accountAPI) routes(r chi.Router) {
	r.Post(request.APIPrefix+"/login-links", h.Scope.Page(h.issueLoginLink))
}

// issueLoginLink gives an administrator a link that signs in another browser.
func (h *accountAPI) issueLoginLink(w http.ResponseWriter, r *http.Request) error {
	if err := h.Identity.RecordLink(r.Context()); err != nil {
		return err
	}
	web.WriteJSON(w, http.StatusOK, "application/json", contract.LoginLink{URL: request.PublicURL(r, h.PublicURL) + "/login?token=" + h.Links.Issue()})
	return nil
}
