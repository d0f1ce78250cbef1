//go:build nogallery

package home

import "github.com/go-chi/chi/v5"

func (h *Pages) galleryRoutes(chi.Router) {}
