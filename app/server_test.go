package app

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/web"
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

// TestStopCompletesRequests: a stop ends long polls at once, and requests that run then
// complete with a context that is not cancelled.
func TestStopCompletesRequests(t *testing.T) {
	t.Parallel()
	a, err := New(valid(t))
	require.NoError(t, err)
	running, proceed := make(chan struct{}, 2), make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/poll", func(_ http.ResponseWriter, r *http.Request) {
		ctx, cancel := web.EndAtStop(r.Context())
		defer cancel()
		running <- struct{}{}
		<-ctx.Done()
		close(proceed)
	})
	mux.HandleFunc("/request", func(w http.ResponseWriter, r *http.Request) {
		running <- struct{}{}
		<-proceed
		if r.Context().Err() != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	a.life.serve(a.listener, mux)
	statuses := make(chan int, 2)
	for _, path := range []string{"/poll", "/request"} {
		go func() {
			statuses <- status(t, "http://"+a.listener.Addr().String()+path)
		}()
	}
	<-running
	<-running
	a.Close()
	require.Equal(t, http.StatusOK, <-statuses)
	require.Equal(t, http.StatusOK, <-statuses)
}

// status returns the status of the answer, or 0 when there is none.
func status(t *testing.T, url string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return 0
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	_ = res.Body.Close()
	return res.StatusCode
}
