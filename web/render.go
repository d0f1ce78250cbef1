package web

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/static"
)

// Render answers with component as an HTML page or fragment, compressed for clients that
// accept gzip. It writes nothing when the component fails, so that Fail can write the
// error page instead.
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
		_, _ = w.Write(b.Bytes()) // the client may have disconnected
		return nil
	}
	h.Set("Content-Encoding", "gzip")
	w.WriteHeader(status)
	zw := gzip.NewWriter(w)
	_, _ = zw.Write(b.Bytes()) // the client may have disconnected
	_ = zw.Close()
	return nil
}

// minCompressed is the length in bytes from which compression saves a packet.
const minCompressed = 1400

// IsHTMX reports whether htmx requests a fragment.
func IsHTMX(r *http.Request) bool { return r.Header.Get("HX-Request") == "true" }
