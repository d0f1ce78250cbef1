package leader_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/handlers/leader"
)

// site has a route of each kind; forward is what the way to the leader does.
func site(forward leader.Forward) (http.Handler, func(*http.Request) bool) {
	marked := leader.New(forward, func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusServiceUnavailable) })
	here := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }
	r := chi.NewRouter()
	r.Get("/", here)
	marked.Needs(r).Get("/teams/{id}", here)
	marked.Prefers(r).Post("/launch", here)
	dry := marked.Mark(http.MethodPost, "/executions", func(r *http.Request) bool { return r.URL.Query().Has("dry_run") })
	r.Post("/executions", func(w http.ResponseWriter, r *http.Request) {
		if !dry.Answer(w, r) {
			here(w, r)
		}
	})
	return r, func(req *http.Request) bool { return marked.Takes(r, req) }
}

func TestMarkedRoutesGoToTheLeader(t *testing.T) {
	t.Parallel()
	broken := errors.New("no process leads")
	for name, c := range map[string]struct {
		forward leader.Forward
		// status of a route that needs the leader, of one that prefers it, and of others
		needs, prefers int
		retry          string
	}{
		"this process always leads": {nil, http.StatusNoContent, http.StatusNoContent, ""},
		"this process leads":        {func(http.ResponseWriter, *http.Request) (bool, error) { return false, nil }, http.StatusNoContent, http.StatusNoContent, ""},
		"another process leads": {func(w http.ResponseWriter, _ *http.Request) (bool, error) {
			w.WriteHeader(http.StatusAccepted)
			return true, nil
		}, http.StatusAccepted, http.StatusAccepted, ""},
		"no process leads":     {func(http.ResponseWriter, *http.Request) (bool, error) { return false, broken }, http.StatusServiceUnavailable, http.StatusNoContent, "2"},
		"the leader broke off": {func(http.ResponseWriter, *http.Request) (bool, error) { return true, broken }, http.StatusServiceUnavailable, http.StatusServiceUnavailable, "2"},
	} {
		routes, _ := site(c.forward)
		send := func(method, target string) *http.Response {
			w := httptest.NewRecorder()
			routes.ServeHTTP(w, httptest.NewRequest(method, target, nil))
			return w.Result()
		}
		require.Equal(t, c.needs, send(http.MethodGet, "/teams/1").StatusCode, name)
		require.Equal(t, c.retry, send(http.MethodGet, "/teams/1").Header.Get("Retry-After"), name)
		require.Equal(t, c.prefers, send(http.MethodPost, "/launch").StatusCode, name)
		require.Equal(t, c.needs, send(http.MethodPost, "/executions?dry_run=true").StatusCode, name)
		require.Equal(t, http.StatusNoContent, send(http.MethodPost, "/executions").StatusCode, name)
		require.Equal(t, http.StatusNoContent, send(http.MethodGet, "/").StatusCode, name)
	}
}

func TestTakesKnowsTheMarkedRequests(t *testing.T) {
	t.Parallel()
	_, takes := site(nil)
	for target, want := range map[string]bool{
		"GET /teams/1": true, "GET /teams/a%2Fb": true, "POST /launch": true, "POST /executions?dry_run": true,
		"GET /": false, "POST /executions": false, "POST /teams/1": false, "GET /nothing": false,
	} {
		method, path, _ := strings.Cut(target, " ")
		require.Equal(t, want, takes(httptest.NewRequest(method, path, nil)), target)
	}
}
