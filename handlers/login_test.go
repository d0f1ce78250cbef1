package handlers_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/handlers"
	"github.com/flowforge/flowforge/web"
)

// TestLoginLinks: looking at a link does not use it up, pressing its button does,
// and the session that begins ends with sign-out.
func TestLoginLinks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const media = "application/x-www-form-urlencoded"
	token := b.links.Issue()
	for range 2 {
		page := b.nobody.get(t, "/login?token="+token+"&next=/workflows")
		require.Equal(t, http.StatusOK, page.status)
		require.Contains(t, page.body, token)
		require.Empty(t, page.header.Get("Set-Cookie"))
	}
	signedIn := b.nobody.send(t, http.MethodPost, "/login", media, url.Values{"token": {token}, "next": {"/workflows"}}.Encode())
	require.Equal(t, http.StatusSeeOther, signedIn.status)
	require.Equal(t, "/workflows", signedIn.header.Get("Location"))
	cookie := signedIn.header.Get("Set-Cookie")
	for _, property := range []string{"HttpOnly", "SameSite=Lax", "Path=/"} {
		require.Contains(t, cookie, property)
	}
	reader := b.nobody.with("Cookie", strings.Split(cookie, ";")[0])
	require.Equal(t, http.StatusOK, reader.get(t, "/workflows").status)
	again := b.nobody.send(t, http.MethodPost, "/login", media, "token="+token)
	require.Equal(t, http.StatusUnauthorized, again.status)
	require.Contains(t, again.body, "flowforge login")
	out := reader.send(t, http.MethodPost, "/logout", media, "")
	require.Contains(t, out.header.Get("Set-Cookie"), "Max-Age=0")

	for _, next := range []string{"https://evil.example/", "//evil.example", `/\evil.example`, "javascript:alert(1)", ""} {
		r := b.nobody.send(t, http.MethodPost, "/login", media, url.Values{"token": {b.links.Issue()}, "next": {next}}.Encode())
		require.Equal(t, "/", r.header.Get("Location"), next)
	}
	link := b.admin.post(t, "/api/v1/login-links", "").object(t, http.StatusOK)["url"].(string)
	require.True(t, strings.HasPrefix(link, b.server.URL+"/login?token="), link)
}

// TestReadyz: a required dependency that is down makes the server unavailable,
// another one degraded.
func TestReadyz(t *testing.T) {
	t.Parallel()
	fine := func(context.Context) error { return nil }
	down := func(context.Context) error { return errors.New("password=secret") }
	for name, tt := range map[string]struct {
		checks []handlers.Check
		status int
		want   string
	}{
		"fine":        {[]handlers.Check{{Name: "postgres", Required: true, Ready: fine}, {Name: "clickhouse", Ready: fine}}, http.StatusOK, `{"status":"ok","checks":{"clickhouse":"ok","postgres":"ok"}}`},
		"degraded":    {[]handlers.Check{{Name: "postgres", Required: true, Ready: fine}, {Name: "clickhouse", Ready: down}}, http.StatusOK, `{"status":"degraded","checks":{"clickhouse":"down","postgres":"ok"}}`},
		"unavailable": {[]handlers.Check{{Name: "clickhouse", Ready: down}, {Name: "postgres", Required: true, Ready: down}}, http.StatusServiceUnavailable, `{"status":"unavailable","checks":{"clickhouse":"down","postgres":"down"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := slog.New(slog.DiscardHandler)
			site := handlers.New(handlers.Deps{Log: log, Now: time.Now, Site: web.NewSite(web.Config{Log: log}), Executions: &execution.Service{Reader: new(query.Reader)}, Checks: tt.checks})
			w := httptest.NewRecorder()
			site.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
			require.Equal(t, tt.status, w.Code)
			require.JSONEq(t, tt.want, w.Body.String())
		})
	}
}
