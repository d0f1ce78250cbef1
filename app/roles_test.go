package app

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/handlers"
	"github.com/flowforge/flowforge/web"
)

func TestParseRoles(t *testing.T) {
	t.Parallel()
	roles, err := ParseRoles("")
	require.NoError(t, err)
	require.True(t, roles.all())
	roles, err = ParseRoles(" web, worker,web")
	require.NoError(t, err)
	require.Equal(t, Roles{Web, Worker}, roles)
	require.True(t, roles.answers())
	require.False(t, Roles{Worker, Launcher}.answers())
	_, err = ParseRoles("web,cook")
	require.ErrorContains(t, err, `"cook" is not a role`)
}

func TestNewRefusesServersThatCannotWorkTogether(t *testing.T) {
	t.Parallel()
	for part, change := range map[string]func(*Config){
		"FLOWFORGE_DATABASE_URL":   func(c *Config) { c.Roles = Roles{Web} },
		"FLOWFORGE_LEASES":         func(c *Config) { c.Leases = "etcd" },
		"FLOWFORGE_ADVERTISE_ADDR": func(c *Config) { c.AdvertiseAddr = "http://here" },
		"FLOWFORGE_TASK_ADDR":      func(c *Config) { c.TaskAddr = "8081" },
		"FLOWFORGE_TASK_URL":       func(c *Config) { c.TaskURL = "flowforge-task:8081" },
		"flowforge secrets init":   func(c *Config) { c.SecretsDir = filepath.Join(c.DataDir, "nowhere") },
	} {
		c := valid(t)
		change(&c)
		refused(t, c, part)
	}
	c := valid(t)
	c.Roles, c.DatabaseURL, c.Addr = Roles{Worker}, "postgres:///x", "0.0.0.0:0"
	a, err := New(c)
	require.NoError(t, err, "a server without pages needs no sign-in")
	a.Close()
}

func TestInitSecretsKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "keys")
	names, err := InitSecrets(dir)
	require.NoError(t, err)
	before := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Len(t, text, 65)
		before[name] = string(text)
	}
	_, err = InitSecrets(dir)
	require.NoError(t, err)
	for name, text := range before {
		now, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, text, string(now))
	}
}

func TestHopsAreSigned(t *testing.T) {
	t.Parallel()
	h, now := newHops([]byte("a key")), time.Now()
	sent := httptest.NewRequest(http.MethodGet, "/waiting?page=2", nil)
	header := h.sign(sent, "192.0.2.7", now)
	serve := func(h hopSigner, target, header string) (status int, from string) {
		r := httptest.NewRequest(http.MethodGet, target, nil)
		r.Header.Set(hopHeader, header)
		r.Header.Set("X-Forwarded-For", "198.51.100.1")
		w := httptest.NewRecorder()
		h.received(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			from = r.Header.Get("X-Forwarded-For") + r.RemoteAddr // the header is removed
		})).ServeHTTP(w, r)
		return w.Code, from
	}
	status, from := serve(h, "/waiting?page=2", header)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "192.0.2.7:0", from)
	for name, refused := range map[string]func() (int, string){
		"another page":   func() (int, string) { return serve(h, "/waiting?page=3", header) },
		"another key":    func() (int, string) { return serve(newHops([]byte("other")), "/waiting?page=2", header) },
		"another client": func() (int, string) { return serve(h, "/waiting?page=2", "192.0.2.8"+header[len("192.0.2.7"):]) },
		"an old signature": func() (int, string) {
			return serve(h, "/waiting?page=2", h.sign(sent, "192.0.2.7", now.Add(-time.Hour)))
		},
		"no signature": func() (int, string) { return serve(h, "/waiting?page=2", "192.0.2.7") },
	} {
		status, _ := refused()
		require.Equal(t, http.StatusBadRequest, status, name)
	}
}

// TestInsideServerHasNoPages: a server without the role web answers only probes and
// forwarded requests for pages that need the leader.
func TestInsideServerHasNoPages(t *testing.T) {
	t.Parallel()
	site := inside(Roles{Scheduler}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }), testSite().ForLeader)
	send := func(target string, hop bool) int {
		r := httptest.NewRequest(http.MethodGet, target, nil)
		if hop {
			r.Header.Set(hopHeader, "checked before")
		}
		w := httptest.NewRecorder()
		site.ServeHTTP(w, r)
		return w.Code
	}
	require.Equal(t, http.StatusTeapot, send("/readyz", false))
	require.Equal(t, http.StatusTeapot, send("/waiting", true))
	require.Equal(t, http.StatusNotFound, send("/waiting", false))
	require.Equal(t, http.StatusNotFound, send("/secrets", true))
}

// testSite has every route, and no service behind them.
func testSite() *handlers.Site {
	return handlers.New(handlers.Deps{Site: &web.Site{}, Executions: &execution.Service{Reader: new(query.Reader)}, Now: time.Now})
}

func TestLeaderRoutes(t *testing.T) {
	t.Parallel()
	site := testSite()
	request := func(method, target string) *http.Request { return httptest.NewRequest(method, target, nil) }
	for _, r := range []*http.Request{
		request("GET", "/waiting"), request("GET", "/waiting/stream"), request("GET", "/api/v1/queue?limit=3"), request("GET", "/api/v1/executions/1/nodes/a/why"),
		request("POST", "/api/v1/executions?dry_run=true"), request("GET", "/api/v1/teams/1/quota"), request("POST", "/flowforge.v1.SchedulerService/GetQueueStatus"),
	} {
		require.True(t, site.ForLeader(r), r.URL.Path)
	}
	for _, r := range []*http.Request{
		request("GET", "/"), request("GET", "/semaphores"), request("GET", "/executions/1"), request("POST", "/api/v1/executions"), request("GET", "/api/v1/executions/1/logs"), request("PUT", "/api/v1/quota"),
		request("POST", "/flowforge.v1.TaskService/Deliver"),
	} {
		require.False(t, site.ForLeader(r), r.URL.Path)
	}
	require.True(t, site.ForLeader(request("GET", "/workflows/digits/launch")))
}
