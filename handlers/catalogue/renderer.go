package catalogue

import (
	"net/http"

	"github.com/flowforge/flowforge/handlers/content"
	"github.com/flowforge/flowforge/handlers/request"
)

// rendererPage sends the page that shows values of a type, for the sandboxed frame of our pages. The
// policy also applies to the page when it is opened by itself.
func (h *Pages) rendererPage(w http.ResponseWriter, r *http.Request) error {
	html, err := h.Catalogue.RendererPage(r.Context(), request.PathValue(r, "name"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Security-Policy", content.RendererPolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, err = w.Write([]byte(html))
	return err
}
