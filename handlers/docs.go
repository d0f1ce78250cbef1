package handlers

import (
	"net/http"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"

	"github.com/flowforge/flowforge/handlers/request"
)

func (h *Handlers) docsPage(w http.ResponseWriter, r *http.Request) error {
	page := h.basePage(r, "API", views.SectionNone)
	return web.Render(w, r, http.StatusOK, views.DocsPage(page, request.APIPrefix+"/openapi.json"))
}
