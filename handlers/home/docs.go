package home

import (
	"net/http"

	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

func (h *Pages) docsPage(w http.ResponseWriter, r *http.Request) error {
	page := h.Page.Base(r, "API", views.SectionNone)
	return web.Render(w, r, http.StatusOK, views.DocsPage(page, request.APIPrefix+"/openapi.json"))
}
