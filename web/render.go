package web

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/static"
)

// Render answers with component as a whole HTML page or fragment, compressed for
// readers that accept gzip. It writes nothing when the component fails, so that the
// error page can take its place.
func Render(w http.ResponseWriter, r *http.Request, status int, component templ.Component) error {
	var b bytes.Buffer
	if err := component.Render(r.Context(), &b); err != nil {
		return fmt.Errorf("render %s: %w", r.URL.Path, err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Add("Vary", "Accept-Encoding")
	if b.Len() < minCompressed || !static.AcceptsGzip(r.Header.Get("Accept-Encoding")) {
		w.WriteHeader(status)
		_, _ = w.Write(b.Bytes()) // the reader may have gone away
		return nil
	}
	h.Set("Content-Encoding", "gzip")
	w.WriteHeader(status)
	zw := gzip.NewWriter(w)
	_, _ = zw.Write(b.Bytes()) // the reader may have gone away
	_ = zw.Close()
	return nil
}

// minCompressed is the length from which compression saves a packet, in bytes.
const minCompressed = 1400

// IsHTMX reports whether htmx asks for a fragment.
func IsHTMX(r *http.Request) bool { return r.Header.Get("HX-Request") == "true" }
