package handlers_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
)

// toLogin stands for a redirect to the sign-in page.
const toLogin = -1

// level is a level of the tenancy tree.
type level int

const (
	installation level = iota
	tenant
	team
	project
)

// guard is the authentication that a route requires.
type guard int

const (
	signIn  guard = iota // a signed-in user
	nobody               // none, but a credential that is sent must be valid
	taskers              // the token of an attempt
	none                 // nothing at all
)

// row is one request to a route, and the callers who may make it: those with action at
// its level. A name in braces in path and body is that of an object
// of the fixture.
type row struct {
	route       string // as chi has it
	path        string
	media, body string
	guard       guard
	action      auth.Action
	place       level
	seen        *level // where reading is asked, when not at place
	ok          int    // the answer to who may
	names       bool
	ofTask      int  // the answer to the token of an attempt; 0: it is refused
	missing     int  // the answer when the object does not exist; 0: 404
	account     bool // of the account of a user, which a key does not reach
	byToken     bool // HEAD and the API: no redirect to the sign-in page
}

func (r row) method() string { m, _, _ := strings.Cut(r.route, " "); return m }

// ofAccount marks a row that requires a signed-in user.
func (r row) ofAccount() row { r.account = true; return r }

// at indicates that the request is about something at a higher level than the project.
func (r row) at(l level) row { r.place = l; return r }

// seenAt sets the level of the object if it differs from the level of the permission.
func (r row) seenAt(l level) row { r.seen = &l; return r }

// object indicates that the path, or the body, names an object of the fixture, which is
// absent for strangers.
func (r row) object() row { r.names = true; return r }

// answers sets the response for callers with the permission.
func (r row) answers(status int) row { r.ok = status; return r }

// head is the same row for HEAD.
func (r row) head() row {
	r.route, r.byToken = strings.Replace(r.route, "GET", "HEAD", 1), true
	return r
}

// page is a page for callers with action.
func page(route, path string, action auth.Action) row {
	return row{route: "GET " + route, path: path, action: action, place: project, ok: http.StatusOK}
}

// form is a form that a page sends.
func form(route, path, body string, action auth.Action, ok int) row {
	return row{route: "POST " + route, path: path, media: "application/x-www-form-urlencoded", body: body, action: action, place: project, ok: ok, byToken: true}
}

// read is a GET of the API.
func read(route, path string, action auth.Action) row {
	return row{route: "GET /api/v1" + route, path: "/api/v1" + path, action: action, place: project, ok: http.StatusOK, byToken: true}
}

// write is a change by the API.
func write(method, route, path, body string, action auth.Action, ok int) row {
	return row{route: method + " /api/v1" + route, path: "/api/v1" + path, media: "application/json", body: body, action: action, place: project, ok: ok, byToken: true}
}

// forTasks is a route that the token of an attempt alone opens.
func forTasks(route, path, body string, ok int) row {
	return row{route: route, path: path, media: "application/json", body: body, guard: taskers, ok: ok, byToken: true}
}

// public is a public route.
func public(route, path, body string, ok int) row {
	return row{route: route, path: path, media: "application/x-www-form-urlencoded", body: body, guard: nobody, ok: ok, byToken: strings.Contains(route, "/api/")}
}

// role is the role of a caller of the matrix.
type role struct {
	name     string
	level    level // of the node that it has its role at
	actions  []auth.Action
	admin    bool // of the installation
	stranger bool // of another tenant
	signedIn bool
	token    bool // shows a bearer token that the site rejects
	task     bool
	all      bool // holds every action at its level
	key      bool // an API key, which does not reach the account of its owner
}

// roles are the callers of the matrix.
func roles() []role {
	actions := func(name string) []auth.Action {
		for _, g := range auth.Grants() {
			if g.Role == name {
				return g.Actions
			}
		}
		return nil
	}
	return []role{
		{name: "anonymous"},
		{name: "other tenant", level: tenant, actions: actions(auth.TenantAdmin), stranger: true, signedIn: true},
		{name: "viewer", level: project, actions: actions(auth.Viewer), signedIn: true},
		{name: "developer", level: project, actions: actions(auth.ProjectDev), signedIn: true},
		{name: "team admin", level: team, actions: actions(auth.TeamAdmin), signedIn: true},
		{name: "tenant admin", level: tenant, actions: actions(auth.TenantAdmin), signedIn: true},
		{name: "installation admin", level: installation, admin: true, signedIn: true},
		{name: "key of an administrator for the project", level: project, all: true, signedIn: true, key: true},
		{name: "key of an administrator for another tenant's project", level: project, all: true, stranger: true, signedIn: true, key: true},
		{name: "task token", token: true, task: true},
		{name: "expired"},
		{name: "revoked", token: true},
	}
}

// may reports whether the role holds an action at the place of r.
func (c role) may(r row, a auth.Action) bool {
	return c.admin || c.level <= r.place && (c.all || slices.Contains(c.actions, a))
}

// want is the answer that c gets to r.
func (r row) want(c role) int {
	switch {
	case r.guard == none:
		return r.ok
	case c.task && r.ofTask != 0:
		return r.ofTask
	case r.guard == taskers && c.task, r.guard == nobody && !c.token:
		return r.ok
	case r.guard == taskers, r.guard == nobody, !c.signedIn:
		if r.method() == http.MethodGet && !r.byToken && r.path != "/login" {
			return toLogin
		}
		return http.StatusUnauthorized
	case c.key && r.account:
		return http.StatusForbidden
	case c.stranger && r.names:
		return cmp.Or(r.missing, http.StatusNotFound)
	case r.action == "", c.may(r, r.action):
		return r.ok
	case r.names && !c.sees(r):
		return http.StatusNotFound
	}
	return http.StatusForbidden
}

// sees reports whether the role may read what r names.
func (c role) sees(r row) bool {
	if r.seen != nil {
		r.place = *r.seen
	}
	return c.may(r, reading(r.action))
}

// reading is the action that shows that a thing is there.
func reading(a auth.Action) auth.Action {
	noun, _, _ := strings.Cut(string(a), ".")
	return auth.Action(noun + ".read")
}

// send sends the row's request and returns the answer's status and header; a
// stream is left after its beginning.
func (r row) send(t *testing.T, c *caller, names *strings.Replacer) (int, http.Header) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	res := c.open(ctx, t, r.method(), names.Replace(r.path), r.media, strings.NewReader(names.Replace(r.body)))
	defer res.Body.Close()
	return res.StatusCode, res.Header
}

func TestEveryRouteForEveryCaller(t *testing.T) {
	t.Parallel()
	f := newMatrixFixture(t)
	for _, r := range matrix() {
		for _, as := range roles() {
			status, header := r.send(t, f.callers[as.name], f.names(as.name))
			place := fmt.Sprintf("%s %s as %s", r.method(), r.path, as.name)
			assertSecure(t, place, header)
			want := r.want(as)
			if want == toLogin {
				assert.Equal(t, http.StatusSeeOther, status, place)
				assert.True(t, strings.HasPrefix(header.Get("Location"), "/login?next="), "%s leads to %s", place, header.Get("Location"))
				continue
			}
			assert.Equal(t, want, status, place)
			if status >= 400 && strings.HasPrefix(r.path, "/api/") {
				assert.Equal(t, "application/problem+json", header.Get("Content-Type"), place)
			}
		}
	}
}

// assertSecure: no answer is without the headers that keep a browser safe.
func assertSecure(t *testing.T, place string, h http.Header) {
	t.Helper()
	policy := h.Get("Content-Security-Policy")
	assert.Contains(t, policy, "default-src 'none'", place)
	if strings.HasPrefix(policy, "sandbox allow-scripts;") { // a report, in an origin of its own
		assert.NotContains(t, policy, "allow-same-origin", place)
		return
	}
	assert.NotContains(t, policy, "'unsafe-eval'", place)
	for directive := range strings.SplitSeq(policy, ";") {
		if strings.Contains(directive, "script-src") {
			assert.NotContains(t, directive, "'unsafe-inline'", place)
		}
	}
	if cache := h.Get("Cache-Control"); h.Get("ETag") == "" || cache != "private, no-cache" { // bytes of artifacts are kept, and authorised again at each use
		assert.Equal(t, "no-store", cache, place)
	}
	assert.Equal(t, "nosniff", h.Get("X-Content-Type-Options"), place)
	assert.Equal(t, "same-origin", h.Get("Referrer-Policy"), place)
	assert.Equal(t, "same-origin", h.Get("Cross-Origin-Opener-Policy"), place)
	assert.NotEmpty(t, h.Get("Permissions-Policy"), place)
	assert.NotEmpty(t, h.Get("X-Request-Id"), place)
}

// TestEveryRouteHasARow: a route without a decision about its callers fails.
func TestEveryRouteHasARow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	rows := map[string]bool{}
	for _, r := range matrix() {
		rows[r.route] = true
	}
	seen := map[string]bool{}
	err := chi.Walk(b.routes.(chi.Routes), func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if strings.HasPrefix(route, "/static/") {
			return nil // public, with any method
		}
		if strings.HasPrefix(route, "/flowforge.v1.") && method != http.MethodPost {
			return nil // the protocol rejects other methods itself
		}
		seen[method+" "+route] = true
		if !rows[method+" "+route] {
			t.Errorf("%s %s has no row in the matrix", method, route)
		}
		return nil
	})
	require.NoError(t, err)
	for route := range rows {
		require.True(t, seen[route], "there is no route %s", route)
	}
}

// TestNoChangeFromAnotherSite: a page of another site cannot change anything in
// the name of a reader who is signed in.
func TestNoChangeFromAnotherSite(t *testing.T) {
	t.Parallel()
	f := newMatrixFixture(t)
	names := f.names("tenant admin")
	for _, r := range matrix() {
		if r.method() == http.MethodGet || r.method() == http.MethodHead || r.guard == taskers || r.guard == none { // those ignore the session
			continue
		}
		for header, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"} {
			c := f.callers["tenant admin"].with(header, value)
			status, _ := r.send(t, c, names)
			assert.Equal(t, http.StatusForbidden, status, "%s with %s: %s", r.route, header, value)
		}
	}
}

// TestWrongMethods: an existing path lists its methods.
func TestWrongMethods(t *testing.T) {
	t.Parallel()
	b := setup(t)
	got := b.admin.send(t, http.MethodDelete, "/api/v1/executions", "", "")
	got.problem(t, http.StatusMethodNotAllowed)
	require.Equal(t, "GET, POST", got.header.Get("Allow"))
	got = b.member.send(t, http.MethodPost, "/executions", "", "")
	require.Equal(t, http.StatusMethodNotAllowed, got.status)
	require.Equal(t, "GET", got.header.Get("Allow"))
	require.Equal(t, http.StatusNotFound, b.member.send(t, http.MethodPost, "/nowhere", "", "").status)
}
