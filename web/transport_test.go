package web

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTransportIsKept(t *testing.T) {
	t.Parallel()
	headers := func(publicURL string, direct bool) http.Header {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		if direct {
			r.TLS = &tls.ConnectionState{}
		}
		w := httptest.NewRecorder()
		NewSite(Config{PublicURL: publicURL}).Transport(http.NotFoundHandler()).ServeHTTP(w, r)
		return w.Header()
	}
	require.Equal(t, stayWithTLS, headers("https://flowforge.example", false).Get("Strict-Transport-Security"))
	require.Equal(t, stayWithTLS, headers("", true).Get("Strict-Transport-Security"))
	require.Empty(t, headers("", false).Get("Strict-Transport-Security"), "a loopback address has no TLS")
	require.Equal(t, "same-origin", headers("", false).Get("Cross-Origin-Resource-Policy"))
}

// TestSecurityHeaders: every response has the security headers, errors included.
func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	nonces := map[string]bool{}
	for range 3 {
		w := httptest.NewRecorder()
		Secure(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		policy := w.Header().Get("Content-Security-Policy")
		for _, directive := range []string{"default-src 'none'", "script-src 'nonce-", "style-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"} {
			require.Contains(t, policy, directive)
		}
		require.NotContains(t, policy, "unsafe")
		require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
		require.Equal(t, "same-origin", w.Header().Get("Referrer-Policy"))
		require.Equal(t, "same-origin", w.Header().Get("Cross-Origin-Opener-Policy"))
		nonces[policy] = true
	}
	require.Len(t, nonces, 3, "a nonce is used once")
}
