package handlers

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/web"
)

func TestListsAreNoSingleObjectsAndNoStreams(t *testing.T) {
	t.Parallel()
	list := isList()
	for path, want := range map[string]bool{
		"/": true, "/executions": true, "/executions?state=failed": true, "/workflows/train/grid": true, "/api/v1/executions": true,
		"/executions/0190a1b2": false, "/executions/stream": false, "/home/stream": false, "/api/v1/executions/export": false, "/account": false,
		"/workflows/train/grid/stream": false, "/api/v1/me": false,
	} {
		require.Equal(t, want, list(httptest.NewRequest(http.MethodGet, path, nil)), path)
	}
}

func TestListsExist(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	site := New(Deps{Site: &web.Site{}, Executions: &execution.Service{Reader: new(query.Reader)}, Now: time.Now})
	require.NoError(t, chi.Walk(site, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		found[method+" "+route] = true
		return nil
	}))
	for _, p := range listPatterns() {
		require.True(t, found["GET "+p], "no route has the pattern %s", p)
	}
}
