package api

import (
	"net/http"

	"github.com/flowforge/flowforge/web"
)

// issueLoginLink gives an administrator a link for another browser.
func (h *API) issueLoginLink(w http.ResponseWriter, r *http.Request) error {
	if err := h.Identity.RecordLink(r.Context()); err != nil {
		return err
	}
	base := h.PublicURL
	if base == "" {
		base = "http://" + r.Host
	}
	web.WriteJSON(w, http.StatusOK, "application/json", map[string]string{"url": base + "/login?token=" + h.Links.Issue()})
	return nil
}
