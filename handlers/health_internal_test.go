package handlers

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadinessWithoutItsCaller: a probe that disconnects says nothing about a dependency,
// and a dependency that fails is logged.
func TestReadinessWithoutItsCaller(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	h := health{log: slog.New(slog.NewTextHandler(&log, nil)), checks: []Check{{
		Name: "postgres", Required: true, Ready: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		},
	}}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	gone := httptest.NewRequestWithContext(ctx, http.MethodGet, "/readyz", nil)
	require.NoError(t, h.readyz(httptest.NewRecorder(), gone))
	require.Empty(t, log.String())

	h.checks[0].Ready = func(context.Context) error { return context.DeadlineExceeded }
	w := httptest.NewRecorder()
	require.NoError(t, h.readyz(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil)))
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Contains(t, log.String(), "check=postgres")
}
