//go:build !nogallery

package home

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/gallery"
	"github.com/flowforge/flowforge/web"
)

// galleryRoutes registers the gallery. Production builds have the tag nogallery, which
// leaves its fixtures out.
func (h *Pages) galleryRoutes(r chi.Router) {
	r.Get("/dev/gallery", h.Page.Serve(h.gallery))
	r.Get("/dev/gallery/{view}", h.Page.Serve(h.gallery))
}

// gallery shows a page drawn from its fixture, or the list of them. ?theme=
// overrides the reader's choice.
func (h *Pages) gallery(w http.ResponseWriter, r *http.Request) error {
	name := chi.URLParam(r, "view")
	if name == "" {
		return web.Render(w, r, http.StatusOK, gallery.Index(h.Page.Base(r, "Gallery", views.SectionNone)))
	}
	entry, ok := gallery.Find(name)
	if !ok {
		return apperr.New(apperr.NotFound, "The gallery has no page with this name.")
	}
	page := h.Page.Base(r, entry.Title, views.SectionNone)
	if t := r.URL.Query().Get("theme"); t == "light" || t == "dark" {
		page.Theme = t
	}
	return web.Render(w, r, http.StatusOK, entry.Component(page))
}
