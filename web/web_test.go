package web

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db/dbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type testBundle struct {
	site     *Site
	pool     *pgxpool.Pool
	users    *auth.Users
	sessions *Sessions
	log      *strings.Builder
	now      time.Time
}

func setup(t *testing.T) *testBundle {
	t.Helper()
	b := &testBundle{log: &strings.Builder{}, now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}
	b.pool = dbtest.New(t)
	policies, err := auth.NewPolicies(t.Context(), b.pool)
	require.NoError(t, err)
	b.users = auth.NewUsers(b.pool, policies)
	b.sessions = NewSessions(auth.NewSessions(b.pool, b.users, auth.DefaultSessionLimits(), func() time.Time { return b.now }), false)
	b.site = NewSite(Config{
		Log: slog.New(slog.NewTextHandler(b.log, nil)), Sessions: b.sessions, Tokens: auth.TokenChain{auth.NewLocalToken("secret")}, Users: b.users,
		ErrorPage: func(_ *http.Request, v ErrorView) templ.Component {
			return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
				_, err := io.WriteString(w, v.Title+"|"+v.Message+"|"+v.RequestID)
				return err
			})
		},
	})
	return b
}

func (b *testBundle) serve(h HandlerFunc, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	Identify(b.site.Origin(Secure(b.site.Log(b.site.SameOrigin(b.site.Authenticate(b.site.Handler(h))))))).ServeHTTP(w, r)
	return w
}

func TestInternalErrorShowsTheIDAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.serve(func(http.ResponseWriter, *http.Request) error { return errors.New("password=hunter2") },
		httptest.NewRequest(http.MethodGet, "/x", nil))
	require.Equal(t, 500, w.Code)
	require.NotContains(t, w.Body.String(), "hunter2")
	id := w.Header().Get("X-Request-Id")
	require.Contains(t, w.Body.String(), id)
	require.Equal(t, 1, strings.Count(b.log.String(), "hunter2"), "logged once")
	require.Contains(t, b.log.String(), id)
}

func TestPanicBecomesAnError(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.serve(func(http.ResponseWriter, *http.Request) error { panic("oops") }, httptest.NewRequest(http.MethodGet, "/x", nil))
	require.Equal(t, 500, w.Code)
	require.Contains(t, b.log.String(), "oops")
}

func TestProblemNamesTheFields(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.serve(func(http.ResponseWriter, *http.Request) error {
		return apperr.InvalidFields("One value needs attention.", []apperr.Field{{Path: "inputs.epochs", Message: "Enter 1 to 16."}})
	}, httptest.NewRequest(http.MethodPost, "/api/v1/executions", nil))
	require.Equal(t, 422, w.Code)
	require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
	require.Contains(t, w.Body.String(), `"path":"inputs.epochs"`)
}

func TestSignedOutReaderIsSentToSignIn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := func(_ http.ResponseWriter, r *http.Request) error {
		_, err := auth.Authorize(r.Context(), auth.WorkflowRead)
		return err
	}
	w := b.serve(h, httptest.NewRequest(http.MethodGet, "/executions?state=FAILED", nil))
	require.Equal(t, 303, w.Code)
	require.Equal(t, "/login?next=%2Fexecutions%3Fstate%3DFAILED", w.Header().Get("Location"))
}

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var got auth.Subject
	h := func(_ http.ResponseWriter, r *http.Request) error {
		got, _ = auth.SubjectOf(r.Context())
		return nil
	}
	signedIn := httptest.NewRecorder()
	require.NoError(t, b.sessions.SignIn(signedIn, httptest.NewRequest(http.MethodGet, "/", nil), auth.Login{UserID: auth.LocalAdmin}))
	cookie := signedIn.Result().Cookies()[0]
	require.True(t, cookie.HttpOnly)

	tests := []struct {
		name   string
		set    func(*http.Request)
		status int
		role   auth.Role
	}{
		{"nobody", func(*http.Request) {}, 200, ""},
		{"token", func(r *http.Request) { r.Header.Set("Authorization", "Bearer secret") }, 200, auth.RoleAdmin},
		{"wrong token", func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }, 401, ""},
		{"basic", func(r *http.Request) { r.Header.Set("Authorization", "Basic secret") }, 401, ""},
		{"cookie", func(r *http.Request) { r.AddCookie(cookie) }, 200, auth.RoleAdmin},
		{"forged cookie", func(r *http.Request) {
			r.AddCookie(&http.Cookie{Name: cookie.Name, Value: cookie.Value[:len(cookie.Value)-4] + "AAAA"})
		}, 200, ""},
		{"wrong token beats a good cookie", func(r *http.Request) {
			r.AddCookie(cookie)
			r.Header.Set("Authorization", "Bearer x")
		}, 401, ""},
	}
	for _, tt := range tests {
		got = auth.Subject{}
		r := httptest.NewRequest(http.MethodGet, "/api/v1/x", nil)
		tt.set(r)
		w := b.serve(h, r)
		require.Equal(t, tt.status, w.Code, tt.name)
		require.Equal(t, tt.role, got.Role, tt.name)
	}
	b.now = b.now.Add(auth.DefaultSessionLimits().Idle)
	got = auth.Subject{}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.AddCookie(cookie)
	b.serve(h, r)
	require.Empty(t, got.Role, "an expired session signs no user in")
}

func TestOtherSitesCannotPost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := httptest.NewRequest(http.MethodPost, "/executions", nil)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	w := b.serve(func(http.ResponseWriter, *http.Request) error { t.Error("ran"); return nil }, r)
	require.Equal(t, 403, w.Code)
}

func TestStream(t *testing.T) {
	t.Parallel()
	b := setup(t)
	srv := httptest.NewServer(Identify(b.site.Log(b.site.Handler(func(w http.ResponseWriter, r *http.Request) error {
		s, err := NewStream(w, r, func(context.Context) error { return nil })
		if err != nil {
			return err
		}
		if err := s.Send("", "7", []byte("after "+s.LastEventID()+"\r\nsecond")); err != nil {
			return err
		}
		if s.Send("a\nb", "", nil) == nil {
			return errors.New("a name of an event with a line break was accepted")
		}
		return s.Ping()
	}))))
	defer srv.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
	require.NoError(t, err)
	req.Header.Set("Last-Event-ID", "6")
	client := srv.Client()
	res, err := client.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
	var lines []string
	for sc := bufio.NewScanner(res.Body); sc.Scan(); {
		lines = append(lines, sc.Text())
	}
	require.Equal(t, []string{"id: 7", "data: after 6", "data: second", "", ":", ""}, lines)
	client.CloseIdleConnections()
}

// TestStreamOfAStalledClient ends although the client keeps its connection.
func TestStreamOfAStalledClient(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ended := make(chan error, 1)
	srv := httptest.NewServer(Identify(b.site.Log(b.site.Handler(func(w http.ResponseWriter, r *http.Request) error {
		s, err := NewStream(w, r, func(context.Context) error { return nil })
		if err != nil {
			return err
		}
		s.limit = 100 * time.Millisecond
		for err == nil {
			err = s.Send("", "", bytes.Repeat([]byte("x"), 1<<20))
		}
		ended <- err
		return nil
	}))))
	defer srv.Close()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", srv.Listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
	require.NoError(t, err)
	require.ErrorIs(t, <-ended, os.ErrDeadlineExceeded)
}

func TestRenderWritesNothingOnFailure(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.serve(func(w http.ResponseWriter, r *http.Request) error {
		return Render(w, r, 200, templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
			_, _ = io.WriteString(w, "half a page")
			return errors.New("broken")
		}))
	}, httptest.NewRequest(http.MethodGet, "/", nil))
	require.Equal(t, 500, w.Code)
	require.NotContains(t, w.Body.String(), "half a page")
}
