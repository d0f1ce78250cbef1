package handlers_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/auth/oidc"
	"github.com/flowforge/flowforge/access/auth/oidc/oidctest"
	"github.com/flowforge/flowforge/handlers"
	pages "github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/web"
)

// signInBundle is a site whose users come from a provider, and a clock that the
// test moves.
type signInBundle struct {
	*testBundle
	provider *oidctest.Provider
	later    atomic.Int64 // how far the site's clock is ahead
}

func setupSignIn(t *testing.T) *signInBundle {
	t.Helper()
	b := &signInBundle{testBundle: setup(t), provider: oidctest.New(t)}
	now := func() time.Time {
		return time.Now().Add(time.Duration(b.later.Load())).UTC().Truncate(time.Microsecond)
	}
	configs, err := oidc.Complete([]oidc.Config{{
		Name: "Meridian SSO", Issuer: b.provider.Issuer, ClientID: oidctest.ClientID, ClientSecret: oidctest.ClientSecret, AdminGroups: []string{"ml-admins"},
	}})
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(nil)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	b.identify(t, now, oidc.New(configs[0], "http://"+server.Listener.Addr().String(), log, now))
	d := b.deps
	d.Now, d.Sessions, d.Identity, d.Policies, d.Log = now, b.sessions, b.identity, b.policies, log
	d.Site = web.NewSite(web.Config{
		Log: log, Sessions: b.sessions, Tokens: b.tokens, Users: b.users, ErrorPage: pages.Error, Limits: web.Limits{FailedLogins: 4},
	})
	server.Config.Handler = handlers.New(d)
	server.Start()
	t.Cleanup(server.Close)
	b.server, b.nobody = server, &caller{server: server.URL}
	return b
}

// browser keeps cookies as a browser does.
type browser struct {
	*caller
	cookies map[string]string
}

func (b *signInBundle) browser() *browser {
	return &browser{caller: &caller{server: b.server.URL, header: http.Header{}}, cookies: map[string]string{}}
}

func (c *browser) do(t *testing.T, method, address, form string) *http.Response {
	t.Helper()
	if strings.HasPrefix(address, "/") {
		address = c.server + address
	}
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if strings.HasPrefix(address, c.server) {
		for name, value := range c.cookies {
			r.AddCookie(&http.Cookie{Name: name, Value: value})
		}
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { _ = res.Body.Close() })
	for _, cookie := range res.Cookies() {
		if cookie.MaxAge < 0 {
			delete(c.cookies, cookie.Name)
		} else {
			c.cookies[cookie.Name] = cookie.Value
		}
	}
	return res
}

// leave begins a sign-in of user and returns the address that the provider sends
// the browser back to.
func (b *signInBundle) leave(t *testing.T, c *browser, user oidctest.Person, next string) string {
	t.Helper()
	res := c.do(t, http.MethodGet, "/login/sso?next="+url.QueryEscape(next), "")
	require.Equal(t, http.StatusSeeOther, res.StatusCode)
	b.provider.SignIn(user)
	res = c.do(t, http.MethodGet, res.Header.Get("Location"), "")
	require.Equal(t, http.StatusFound, res.StatusCode)
	return res.Header.Get("Location")
}

// enter signs user in and returns where that leads.
func (b *signInBundle) enter(t *testing.T, c *browser, user oidctest.Person, next string) string {
	t.Helper()
	res := c.do(t, http.MethodGet, b.leave(t, c, user, next), "")
	require.Equal(t, http.StatusSeeOther, res.StatusCode)
	return res.Header.Get("Location")
}

func (c *browser) status(t *testing.T, path string) int {
	t.Helper()
	return c.do(t, http.MethodGet, path, "").StatusCode
}

// grace is in the groups and in one more.
func grace(groups ...string) oidctest.Person {
	return oidctest.Person{Subject: "grace", Name: "Grace Hopper", Email: "grace@example.test", Groups: append(groups, "staff")}
}

// TestSignInByProvider: every sign-in assigns the current roles of the groups.
func TestSignInByProvider(t *testing.T) {
	t.Parallel()
	b := setupSignIn(t)
	c := b.browser()
	require.Contains(t, b.nobody.get(t, "/login").body, "Continue with Meridian SSO")
	require.Equal(t, "/executions?state=FAILED", b.enter(t, c, grace("vision"), "/executions?state=FAILED"))
	res := c.do(t, http.MethodGet, "/executions", "")
	require.Equal(t, http.StatusForbidden, res.StatusCode, "a member of nothing")
	require.Equal(t, http.StatusOK, c.status(t, "/account"), "the account is everybody's own")

	_, err := b.pool.Exec(b.ctx, "INSERT INTO group_roles (id, provider, group_name, node_id, role) VALUES ($1, 'sso', 'vision', $2, 'ProjectDev')", uuid.New(), auth.LocalTeam)
	require.NoError(t, err)
	b.enter(t, c, grace("vision"), "/")
	require.Equal(t, http.StatusOK, c.status(t, "/executions"))
	b.enter(t, c, grace("other"), "/")
	require.Equal(t, http.StatusForbidden, c.status(t, "/executions"), "who has left the group has lost its role")

	before := c.cookies["flowforge_session"]
	other := b.browser()
	b.enter(t, other, grace("ml-admins"), "/")
	require.Equal(t, http.StatusOK, other.status(t, "/executions"), "an administrator")
	require.Equal(t, before, c.cookies["flowforge_session"])
	require.Equal(t, http.StatusSeeOther, c.status(t, "/account"), "changed permissions need a new session")
	b.enter(t, other, grace(), "/")
	require.Equal(t, http.StatusForbidden, other.status(t, "/executions"))

	var actions []string
	rows, err := b.pool.Query(b.ctx, "SELECT action FROM audit_log WHERE actor = 'Grace Hopper' ORDER BY id")
	require.NoError(t, err)
	for rows.Next() {
		var action string
		require.NoError(t, rows.Scan(&action))
		actions = append(actions, action)
	}
	require.Equal(t, []string{
		"user.create", "session.begin", "member.add", "session.begin", "user.update", "member.remove", "session.begin",
		"user.update", "user.make_admin", "session.begin", "user.update", "user.remove_admin", "session.begin",
	}, actions)
}

// TestCallbackOfAnother: a callback that this browser did not request starts no session. Nor
// does a repeated or late one.
func TestCallbackOfAnother(t *testing.T) {
	t.Parallel()
	b := setupSignIn(t)
	mine, theirs := b.browser(), b.browser()
	back := b.leave(t, theirs, grace(), "/")
	refused := func(c *browser, address, why string) {
		res := c.do(t, http.MethodGet, address, "")
		require.Equal(t, http.StatusUnauthorized, res.StatusCode, why)
		require.Empty(t, c.cookies["flowforge_session"], why)
	}
	refused(mine, back, "no attempt in this browser")
	b.leave(t, mine, grace(), "/")
	refused(mine, back, "the state of another attempt")
	again := theirs.cookies["flowforge_session_login"]
	require.Equal(t, http.StatusSeeOther, theirs.status(t, back))
	replay := b.browser()
	replay.cookies["flowforge_session_login"] = again
	refused(replay, back, "the code was used already")
	late := b.leave(t, mine, grace(), "/")
	b.later.Store(int64(oidc.AttemptTTL))
	refused(mine, late, "too late")
	b.later.Store(0)
	res := mine.do(t, http.MethodGet, b.leave(t, b.browser(), grace(), "/"), "")
	require.Equal(t, http.StatusTooManyRequests, res.StatusCode, "four failures of one address are enough")
	require.Equal(t, "60", res.Header.Get("Retry-After"))
}

// TestNextStaysHere: a sign-in never leads to another site.
func TestNextStaysHere(t *testing.T) {
	t.Parallel()
	b := setupSignIn(t)
	for _, next := range []string{"https://evil.example/", "//evil.example", `/\evil.example`, "/\t/evil.example", "javascript:alert(1)", ""} {
		require.Equal(t, "/", b.enter(t, b.browser(), grace(), next), next)
	}
}

// TestSessionFixation: sign-in does not continue a session that an attacker planted.
func TestSessionFixation(t *testing.T) {
	t.Parallel()
	b := setupSignIn(t)
	attacker, victim := b.browser(), b.browser()
	b.enter(t, attacker, oidctest.Person{Subject: "mallory", Name: "mallory", Groups: []string{"staff"}}, "/")
	planted := attacker.cookies["flowforge_session"]
	victim.cookies["flowforge_session"] = planted
	b.enter(t, victim, grace("ml-admins"), "/")
	require.NotEqual(t, planted, victim.cookies["flowforge_session"])
	require.Equal(t, http.StatusSeeOther, attacker.status(t, "/account"), "the planted session has ended")
	made := b.browser()
	made.cookies["flowforge_session"] = "AAAA"
	b.enter(t, made, grace("ml-admins"), "/")
	require.NotEqual(t, "AAAA", made.cookies["flowforge_session"])
}

// TestSessionsOnTheAccountPage: ending sessions holds at their very next request.
func TestSessionsOnTheAccountPage(t *testing.T) {
	t.Parallel()
	b := setupSignIn(t)
	desk, phone, train := b.browser(), b.browser(), b.browser()
	for _, c := range []*browser{desk, phone, train} {
		b.enter(t, c, grace(), "/")
	}
	var list struct {
		Sessions []struct {
			ID      string `json:"session_id"`
			Current bool   `json:"current"`
		} `json:"sessions"`
	}
	header := func(c *browser) *caller {
		return &caller{server: c.server, header: http.Header{"Cookie": {"flowforge_session=" + c.cookies["flowforge_session"]}}}
	}
	header(phone).get(t, "/api/v1/sessions").into(t, http.StatusOK, &list)
	require.Len(t, list.Sessions, 3)
	for _, s := range list.Sessions {
		if s.Current {
			require.Equal(t, http.StatusSeeOther, desk.do(t, http.MethodPost, "/account/sessions/"+s.ID+"/end", "").StatusCode)
		}
	}
	require.Equal(t, http.StatusSeeOther, phone.status(t, "/account"), "ended from the desk")
	account := header(train).get(t, "/account")
	account.says(t, http.StatusOK, `<span class="stack-label muted">Signed in </span>`, `<span class="stack-label muted">Last seen </span>`)
	for _, s := range list.Sessions {
		if !s.Current { // that of the phone has ended
			account.says(t, http.StatusOK, `data-dialog="end-`+s.ID+`"`, `<dialog class="dialog" id="end-`+s.ID+`"`)
		}
	}
	require.NotContains(t, account.body, `<form class="row-actions"`, "every session asks before it ends")
	require.Equal(t, http.StatusSeeOther, desk.do(t, http.MethodPost, "/account/sessions/end", "").StatusCode)
	require.Empty(t, desk.cookies["flowforge_session"])
	require.Equal(t, http.StatusSeeOther, train.status(t, "/account"), "signed out everywhere")

	b.enter(t, desk, grace(), "/")
	b.later.Store(int64(auth.DefaultSessionLimits().Idle))
	require.Equal(t, http.StatusSeeOther, desk.status(t, "/account"), "idle for too long")
}

// TestLinksBesideProviders: signed-in administrators do not become the local administrator;
// users with access to the machine do.
func TestLinksBesideProviders(t *testing.T) {
	t.Parallel()
	b := setupSignIn(t)
	c := b.browser()
	b.enter(t, c, grace("ml-admins"), "/")
	require.Equal(t, http.StatusForbidden, c.do(t, http.MethodPost, "/api/v1/login-links", "").StatusCode)
	b.bearer(adminToken).post(t, "/api/v1/login-links", "").object(t, http.StatusOK)
}
