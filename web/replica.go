package web

import (
	"context"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
)

// Replica is a read replica of the database.
type Replica interface {
	// Allow returns a context whose reads may use the replica, if it has all writes of the subject.
	Allow(ctx context.Context, subject uuid.UUID) context.Context
	// Wrote records that the subject has written.
	Wrote(ctx context.Context, subject uuid.UUID)
}

// FromReplica lets the requests that lists selects read from the replica, and records every request
// that may write, before its response. It must run after Authenticate. Streams read the primary: they
// read because something changed.
func (s *Site) FromReplica(lists func(*http.Request) bool) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		if s.cfg.Replica == nil {
			return next
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			subject, ok := auth.SubjectOf(r.Context())
			switch {
			case !ok:
			case r.Method != http.MethodGet && r.Method != http.MethodHead:
				noted := &notingWriter{ResponseWriter: w, note: func() { s.cfg.Replica.Wrote(r.Context(), subject.ID) }}
				defer noted.once()
				w = noted
			case lists(r) && !strings.Contains(r.Header.Get("Accept"), "text/event-stream"):
				r = r.WithContext(s.cfg.Replica.Allow(r.Context(), subject.ID))
			}
			next.ServeHTTP(w, r)
		})
	}
}

// notingWriter calls note before the response starts.
type notingWriter struct {
	http.ResponseWriter

	note  func()
	noted bool
}

func (w *notingWriter) once() {
	if !w.noted {
		w.noted = true
		w.note()
	}
}

func (w *notingWriter) WriteHeader(status int) {
	if status >= http.StatusOK { // not an informational response, which precedes the work
		w.once()
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *notingWriter) Write(b []byte) (int, error) {
	w.once()
	return w.ResponseWriter.Write(b) //nolint:wrapcheck // a pass-through
}

// Unwrap returns the wrapped writer for http.ResponseController.
func (w *notingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
