package app

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHeadersAreBounded: one long header, and many short ones.
func TestHeadersAreBounded(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(nil)
	server.Config = newServer(context.Background(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	server.Start()
	t.Cleanup(server.Close)
	send := func(header http.Header) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		require.NoError(t, err)
		req.Header = header
		res, err := server.Client().Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res.StatusCode
	}
	require.Equal(t, http.StatusNoContent, send(http.Header{"X-Usual": {strings.Repeat("x", 8<<10)}}))
	require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, send(http.Header{"X-Long": {strings.Repeat("x", 80<<10)}}))
	many := http.Header{}
	for i := range 5000 {
		many.Set(fmt.Sprintf("X-Header-%d", i), "value")
	}
	require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, send(many))
}
