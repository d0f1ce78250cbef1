package content

import (
	"fmt"
	"net/http"

	"github.com/flowforge/flowforge/data/telemetry"
)

// SendLog responds with all lines of q as text. With a filename, browsers save them. It
// returns errors before the first byte; a later error aborts the response, so that a part
// of a log does not look complete.
func (h *Content) SendLog(w http.ResponseWriter, r *http.Request, q telemetry.LogQuery, filename string) error {
	out := &textWriter{w: w, filename: filename}
	err := h.Telemetry.WriteLog(r.Context(), out, q)
	if err == nil {
		out.begin() // also of an empty log
		return nil
	}
	if !out.begun {
		return err
	}
	if r.Context().Err() == nil {
		h.Site.LogFailure(r, err)
	}
	panic(http.ErrAbortHandler)
}

// textWriter sends the header of a text with its first byte.
type textWriter struct {
	w        http.ResponseWriter
	filename string
	begun    bool
}

func (t *textWriter) Write(b []byte) (int, error) {
	t.begin()
	return t.w.Write(b) //nolint:wrapcheck // a pass-through
}

func (t *textWriter) begin() {
	if t.begun {
		return
	}
	t.begun = true
	t.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if t.filename != "" {
		t.w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", t.filename))
	}
}
