package web_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/web"
)

// journal is a replica that notes the calls, in the order of the response.
type journal struct{ events []string }

type allowedKey struct{}

func (j *journal) Allow(ctx context.Context, subject uuid.UUID) context.Context {
	return context.WithValue(ctx, allowedKey{}, subject)
}

func (j *journal) Wrote(_ context.Context, subject uuid.UUID) {
	j.events = append(j.events, "wrote "+subject.String())
}

func TestWritesAreRecordedBeforeTheirResponse(t *testing.T) {
	t.Parallel()
	subject := auth.Local()
	for _, tt := range []struct {
		name, method, path, accept string
		anonymous                  bool
		answer                     func(http.ResponseWriter)
		want                       []string
		allowed                    bool
	}{
		{name: "a list", method: http.MethodGet, path: "/list", allowed: true},
		{name: "an object", method: http.MethodGet, path: "/object"},
		{name: "a stream", method: http.MethodGet, path: "/list", accept: "text/event-stream"},
		{name: "a visitor", method: http.MethodGet, path: "/list", anonymous: true},
		{name: "a visitor's write", method: http.MethodPost, path: "/list", anonymous: true},
		{name: "a write", method: http.MethodPost, path: "/list", answer: func(w http.ResponseWriter) { w.WriteHeader(http.StatusSeeOther) }, want: []string{"wrote " + subject.ID.String(), http.StatusText(http.StatusSeeOther)}},
		{name: "a write with a body", method: http.MethodPut, path: "/object", answer: func(w http.ResponseWriter) { _, _ = w.Write([]byte("{}")) }, want: []string{"wrote " + subject.ID.String(), http.StatusText(http.StatusOK)}},
		{name: "a write that answers nothing", method: http.MethodDelete, path: "/object", want: []string{"wrote " + subject.ID.String()}},
		{
			name: "an informational response", method: http.MethodPost, path: "/object",
			answer: func(w http.ResponseWriter) { w.WriteHeader(http.StatusEarlyHints); w.WriteHeader(http.StatusOK) },
			want:   []string{http.StatusText(http.StatusEarlyHints), "wrote " + subject.ID.String(), http.StatusText(http.StatusOK)},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j := new(journal)
			site := web.NewSite(web.Config{Replica: j})
			lists := func(r *http.Request) bool { return r.URL.Path == "/list" }
			handler := site.FromReplica(lists)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, allowed := r.Context().Value(allowedKey{}).(uuid.UUID)
				assert.Equal(t, tt.allowed, allowed)
				if tt.answer != nil {
					tt.answer(w)
				}
			}))
			r := httptest.NewRequest(tt.method, tt.path, nil)
			r.Header.Set("Accept", tt.accept)
			if !tt.anonymous {
				r = r.WithContext(auth.WithSubject(r.Context(), subject))
			}
			handler.ServeHTTP(&statusJournal{httptest.NewRecorder(), j}, r)
			require.Equal(t, tt.want, j.events)
		})
	}
}

type statusJournal struct {
	http.ResponseWriter
	journal *journal
}

func (w *statusJournal) WriteHeader(status int) {
	w.journal.events = append(w.journal.events, http.StatusText(status))
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusJournal) Write(b []byte) (int, error) {
	w.journal.events = append(w.journal.events, http.StatusText(http.StatusOK))
	return w.ResponseWriter.Write(b)
}

// TestAStartedResponseIsNotAnsweredTwice: the writer of a replica's site is wrapped once more.
func TestAStartedResponseIsNotAnsweredTwice(t *testing.T) {
	t.Parallel()
	site := web.NewSite(web.Config{Replica: new(journal), Log: slog.New(slog.DiscardHandler)})
	handler := site.Log(site.FromReplica(func(*http.Request) bool { return false })(site.Handler(func(w http.ResponseWriter, _ *http.Request) error {
		_, _ = io.WriteString(w, "begun")
		return errors.New("the rest is missing")
	})))
	r := httptest.NewRequest(http.MethodPost, "/object", nil)
	r.Header.Set("Accept", "application/json")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r.WithContext(auth.WithSubject(r.Context(), auth.Local())))
	require.Equal(t, "begun", w.Body.String())
}
