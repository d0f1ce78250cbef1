package web

import (
	"bytes"
	"fmt"
	"net/http"

	"github.com/a-h/templ"
)

// Render answers with component as a whole HTML page or fragment. Nothing is
// written when the component fails, so that the error page can take its place.
func Render(w http.ResponseWriter, r *http.Request, status int, component templ.Component) error {
	var b bytes.Buffer
	if err := component.Render(r.Context(), &b); err != nil {
		return fmt.Errorf("render %s: %w", r.URL.Path, err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the reader may have gone away
	return nil
}

// IsHTMX reports whether htmx asks for a fragment.
func IsHTMX(r *http.Request) bool { return r.Header.Get("HX-Request") == "true" }
