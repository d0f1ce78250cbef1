package web_test

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/web"
)

func TestPagesAreCompressed(t *testing.T) {
	t.Parallel()
	text := func(n int) templ.Component {
		return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
			_, err := io.WriteString(w, strings.Repeat("a line of a log\n", n))
			return err
		})
	}
	render := func(accept string, n int) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder()
		r.Header.Set("Accept-Encoding", accept)
		require.NoError(t, web.Render(w, r, http.StatusAccepted, text(n)))
		require.Equal(t, http.StatusAccepted, w.Code)
		require.Equal(t, "Accept-Encoding", w.Header().Get("Vary"))
		return w
	}
	for accept, n := range map[string]int{"": 1000, "br": 1000, "gzip;q=0": 1000, "gzip": 10} {
		w := render(accept, n)
		require.Empty(t, w.Header().Get("Content-Encoding"), accept)
		require.Equal(t, 16*n, w.Body.Len())
	}
	w := render("br, gzip", 10_000)
	require.Equal(t, "gzip", w.Header().Get("Content-Encoding"))
	require.Less(t, w.Body.Len(), 16_000)
	plain, err := gzip.NewReader(w.Body)
	require.NoError(t, err)
	body, err := io.ReadAll(plain)
	require.NoError(t, err)
	require.Len(t, body, 160_000)
}
