package handlers

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/gallery"
	"github.com/flowforge/flowforge/web"
)

// galleryIndex lists the fixtures of every page.
func (h *Handlers) galleryIndex(w http.ResponseWriter, r *http.Request) error {
	return web.Render(w, r, http.StatusOK, gallery.Index(h.basePage(r, "Gallery", views.SectionNone)))
}

// galleryPage draws one page from its fixture. ?theme= overrides the reader's choice.
func (h *Handlers) galleryPage(w http.ResponseWriter, r *http.Request) error {
	entry, ok := gallery.Find(chi.URLParam(r, "name"))
	if !ok {
		return apperr.New(apperr.NotFound, "The gallery has no page of this name.")
	}
	page := h.basePage(r, entry.Title, views.SectionNone)
	if t := r.URL.Query().Get("theme"); t == "light" || t == "dark" {
		page.Theme = t
	}
	return web.Render(w, r, http.StatusOK, entry.Component(page))
}
