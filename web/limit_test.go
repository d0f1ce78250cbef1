package web

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
)

// limited returns a site with limits whose requests come from the subject in their context.
func limited(limits Limits, proxies ...string) *Site {
	c := Config{Log: slog.New(slog.DiscardHandler), Limits: limits}
	for _, p := range proxies {
		c.TrustedProxies = append(c.TrustedProxies, netip.MustParsePrefix(p))
	}
	return NewSite(c)
}

func (s *Site) serve(path, address string, subject *auth.Subject) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.RemoteAddr = address + ":1234"
	if subject != nil {
		r = r.WithContext(auth.WithSubject(r.Context(), *subject))
	}
	w := httptest.NewRecorder()
	Identify(s.Origin(s.Limit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))).ServeHTTP(w, r)
	return w
}

// TestLimits: a client over its limit gets 429; other clients, streams and other keys of
// the same user do not.
func TestLimits(t *testing.T) {
	t.Parallel()
	s := limited(Limits{Caller: 3, Tenant: 8, Address: 2})
	tenant := uuid.New()
	ada := &auth.Subject{ID: uuid.New(), TenantID: tenant, Role: auth.RoleUser, Credential: "session:x"}
	key := &auth.Subject{ID: ada.ID, TenantID: tenant, Role: auth.RoleUser, Credential: "key:abc"}
	grace := &auth.Subject{ID: uuid.New(), TenantID: tenant, Role: auth.RoleUser}
	outside := &auth.Subject{ID: uuid.New(), TenantID: uuid.New(), Role: auth.RoleUser}
	many := func(n int, subject *auth.Subject, want int) {
		for range n {
			require.Equal(t, want, s.serve("/api/v1/executions", "192.0.2.1", subject).Code)
		}
	}
	many(3, ada, 200)
	w := s.serve("/api/v1/executions", "192.0.2.1", ada)
	require.Equal(t, http.StatusTooManyRequests, w.Code)
	require.Equal(t, "60", w.Header().Get("Retry-After"))
	require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
	require.Contains(t, w.Body.String(), `"code":"quota"`)
	require.Equal(t, 200, s.serve("/executions/stream", "192.0.2.1", ada).Code, "a stream is not counted")
	many(3, key, 200)
	many(1, key, 429)
	many(2, grace, 200)
	many(1, grace, 429) // the eighth of the tenant was the last
	many(3, outside, 200)

	require.Equal(t, 200, s.serve("/login", "192.0.2.1", nil).Code)
	require.Equal(t, 200, s.serve("/login", "192.0.2.1", nil).Code)
	require.Equal(t, 429, s.serve("/api/v1/openapi.json", "192.0.2.1", nil).Code)
	require.Equal(t, 200, s.serve("/api/v1/openapi.json", "192.0.2.2", nil).Code)
	require.Equal(t, 200, s.serve("/api/v1/openapi.json", "2001:db8::1", nil).Code)
}

func TestNoLimits(t *testing.T) {
	t.Parallel()
	s := limited(Limits{})
	for range 100 {
		require.Equal(t, 200, s.serve("/api/v1/openapi.json", "192.0.2.1", nil).Code)
	}
}

// TestAddress: an X-Forwarded-For header that the client wrote itself is ignored.
func TestAddress(t *testing.T) {
	t.Parallel()
	s := limited(Limits{}, "10.0.0.0/8")
	for _, tt := range []struct {
		peer      string
		forwarded []string
		want      string
	}{
		{"192.0.2.1:1", nil, "192.0.2.1"},
		{"192.0.2.1:1", []string{"198.51.100.9"}, "192.0.2.1"},
		{"10.0.0.1:1", []string{"198.51.100.9"}, "198.51.100.9"},
		{"10.0.0.1:1", []string{"1.2.3.4, 198.51.100.9, 10.0.0.2"}, "198.51.100.9"},
		{"10.0.0.1:1", []string{"1.2.3.4", "198.51.100.9"}, "198.51.100.9"},
		{"10.0.0.1:1", []string{"198.51.100.9, nonsense"}, "10.0.0.1"},
		{"10.0.0.1:1", nil, "10.0.0.1"},
		{"[2001:db8::1]:1", nil, "2001:db8::1"},
		{"@", nil, "local"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = tt.peer
		for _, f := range tt.forwarded {
			r.Header.Add("X-Forwarded-For", f)
		}
		require.Equal(t, tt.want, s.address(r), "%+v", tt)
	}
}

// TestFailedLogins: wrong tokens of one address are counted, good ones are not.
func TestFailedLogins(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.site.failedLogins = newLimiter(3)
	serve := func(token, address string) int {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/x", nil)
		r.RemoteAddr = address + ":1"
		r.Header.Set("Authorization", "Bearer "+token)
		return b.serve(func(http.ResponseWriter, *http.Request) error { return nil }, r).Code
	}
	for range 10 {
		require.Equal(t, 200, serve("secret", "192.0.2.1"))
	}
	for range 3 {
		require.Equal(t, 401, serve("wrong", "192.0.2.1"))
	}
	require.Equal(t, 429, serve("wrong", "192.0.2.1"))
	require.Equal(t, 401, serve("wrong", "192.0.2.2"))
}

// TestCookies: over HTTPS the cookie is bound to this host and secure.
func TestCookies(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := httptest.NewRecorder()
	secure := NewSessions(b.sessions.store, true)
	require.NoError(t, secure.SignIn(w, httptest.NewRequest(http.MethodGet, "/", nil), auth.Login{UserID: auth.LocalAdmin}))
	cookie := w.Result().Cookies()[0]
	require.Equal(t, "__Host-flowforge_session", cookie.Name)
	require.True(t, cookie.Secure && cookie.HttpOnly)
	require.Equal(t, "/", cookie.Path)
	require.Empty(t, cookie.Domain)
	require.Equal(t, http.SameSiteLaxMode, cookie.SameSite)
	w = httptest.NewRecorder()
	secure.KeepAttempt(w, "sealed", 600)
	require.Equal(t, "__Host-flowforge_session_login", w.Result().Cookies()[0].Name)
	require.Equal(t, 600, w.Result().Cookies()[0].MaxAge)
}
