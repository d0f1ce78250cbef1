package e2e

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/platform/freeport"
	"github.com/flowforge/flowforge/platform/unixsocket"
)

// startProvider starts a real OpenID provider for a site and returns its issuer.
func startProvider(t *testing.T, site string) string {
	t.Helper()
	cmd := exec.Command("node", "oidc/op.mjs")
	cmd.Env = append(os.Environ(), "OP_MODULES="+setting("FLOWFORGE_TEST_OIDC", ".cache/oidc-provider/node_modules"),
		"OP_REDIRECT="+site+"/login/sso/callback", "OP_AFTER_LOGOUT="+site+"/login")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	ready := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if issuer, ok := strings.CutPrefix(lines.Text(), "ready "); ok {
				ready <- issuer
			}
		}
	}()
	select {
	case issuer := <-ready:
		return issuer
	case <-time.After(time.Minute):
		require.Fail(t, "the provider did not start: run scripts/setup browser")
	}
	return ""
}

// sharedByTeams starts a server with a sign-in provider. Its API is called as the local
// administrator, through the socket in the data directory.
func sharedByTeams(t *testing.T) *server {
	t.Helper()
	address := freeport.Address(t)
	issuer := startProvider(t, "http://"+address)
	s := ownServer(t, "FLOWFORGE_ADDR="+address, "FLOWFORGE_EXAMPLES=off", "FLOWFORGE_OIDC_ISSUER="+issuer, "FLOWFORGE_OIDC_CLIENT_ID=forge",
		"FLOWFORGE_OIDC_CLIENT_SECRET=forge-secret-for-tests-only-0123456789", "FLOWFORGE_OIDC_NAME=Meridian SSO", "FLOWFORGE_OIDC_ADMIN_GROUPS=ml-admins")
	require.Empty(t, s.login, "with a provider there is no login link")
	s.client = unixsocket.Client(filepath.Join(s.dir, "data", "run", "api.sock"))
	return s
}

// visitor returns a browser without a session.
func visitor(t *testing.T, s *server) playwright.Page {
	t.Helper()
	context, err := shared.browser.NewContext(playwright.BrowserNewContextOptions{BaseURL: &s.base, ReducedMotion: playwright.ReducedMotionReduce})
	require.NoError(t, err)
	t.Cleanup(func() { _ = context.Close() })
	page, err := context.NewPage()
	require.NoError(t, err)
	page.OnConsole(func(m playwright.ConsoleMessage) {
		cut := strings.Contains(m.Text(), "ERR_INCOMPLETE_CHUNKED_ENCODING") || strings.Contains(m.Text(), "htmx:sse:error") // the stream of a session that has ended
		if m.Type() == "error" && strings.HasPrefix(page.URL(), s.base) && !cut && !strings.Contains(m.Text(), "status of 40") {
			t.Errorf("console error on %s: %s", page.URL(), m.Text())
		}
	})
	t.Cleanup(func() {
		if t.Failed() {
			_, _ = page.Screenshot(playwright.PageScreenshotOptions{Path: new(filepath.Join("out", strings.ReplaceAll(t.Name(), "/", "_")+".png")), FullPage: new(true)})
		}
	})
	return page
}

func heading(page playwright.Page, name string) playwright.Locator {
	return page.GetByRole("heading", playwright.PageGetByRoleOptions{Name: name, Exact: new(true)})
}

// signInAs signs in on the provider's own page; the site must show its sign-in page.
func signInAs(t *testing.T, page playwright.Page, user string) {
	t.Helper()
	click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Continue with Meridian SSO"}))
	visible(t, heading(page, "Test identity provider"))
	fill(t, page.GetByLabel("User"), user)
	fill(t, page.GetByLabel("Password"), user+"-pw")
	click(t, button(page, "Sign in"))
}

// makeTeam creates a tenant with a team and a project, and invites a group to it.
func makeTeam(t *testing.T, s *server, tenant, project, group string) {
	t.Helper()
	made := func(kind, parent, name string) string {
		var node struct {
			ID string `json:"id"`
		}
		in := map[string]any{"name": name}
		if parent != "" {
			in["parent_id"] = parent
		}
		s.api(t, http.MethodPost, "/"+kind, in, &node)
		return node.ID
	}
	team := made("teams", made("tenants", "", tenant), "vision")
	made("projects", team, project)
	if group != "" {
		s.api(t, http.MethodPost, "/teams/"+team+"/group-roles", map[string]any{"provider": "sso", "group": group, "role": "ProjectDev"}, nil)
	}
}

// TestSignInByProvider: users of a provider get access through their groups, see only
// what they may see, and are signed out by themselves or an administrator.
func TestSignInByProvider(t *testing.T) { //nolint:tparallel // its parts depend on each other
	t.Parallel()
	s := sharedByTeams(t)
	makeTeam(t, s, "meridian", "digits", "data-science")
	makeTeam(t, s, "rival", "hidden", "")

	admin := visitor(t, s)
	visit(t, admin, "/executions?state=FAILED")
	visible(t, heading(admin, "Sign in to FlowForge"))
	audit(t, admin)
	signInAs(t, admin, "ada")
	visible(t, heading(admin, "Executions"))
	require.True(t, strings.HasSuffix(admin.URL(), "/executions?state=FAILED"), "the requested page: %s", admin.URL())
	visit(t, admin, "/account")
	visible(t, admin.GetByText("Administrator").First())

	grace := visitor(t, s)
	visit(t, grace, "/projects")
	signInAs(t, grace, "grace")
	visible(t, grace.GetByText("digits").First())
	counts(t, grace.GetByText("hidden"), 0)
	visit(t, grace, "/account")
	holds(t, grace.Locator("main"), "the group data-science of Meridian SSO")
	audit(t, grace)
	noSidewaysScroll(t, grace)

	t.Run("revoked elsewhere", func(t *testing.T) {
		second := visitor(t, s)
		visit(t, second, "/account")
		signInAs(t, second, "grace")
		counts(t, second.Locator("tbody tr"), 2)
		other := second.Locator("tbody tr", playwright.PageLocatorOptions{HasNot: second.GetByText("current")})
		click(t, other.Locator("[data-dialog]"))
		click(t, button(second, "End the session"))
		counts(t, second.Locator("tbody tr"), 1)
		visit(t, grace, "/account")
		visible(t, heading(grace, "Sign in to FlowForge"))
	})
	t.Run("member of no group", func(t *testing.T) {
		page := visitor(t, s)
		visit(t, page, "/")
		signInAs(t, page, "nobody")
		visible(t, heading(page, "Welcome, Nemo Nilsson"))
		audit(t, page)
	})
	t.Run("signed out at the provider too", func(t *testing.T) {
		click(t, button(admin, "Your account"))
		click(t, admin.Locator("#account").GetByRole("button", playwright.LocatorGetByRoleOptions{Name: "Sign out"}))
		click(t, button(admin, "Yes, sign me out"))
		visible(t, heading(admin, "Sign in to FlowForge"))
		click(t, admin.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Continue with Meridian SSO"}))
		visible(t, heading(admin, "Test identity provider"))
	})
	t.Run("the local administrator's token stays on the machine", func(t *testing.T) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+"/api/v1/me", nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+s.token)
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer res.Body.Close()
		require.Equal(t, http.StatusUnauthorized, res.StatusCode)
		cmd := exec.CommandContext(t.Context(), setting("FLOWFORGE_BINARY", "bin/flowforge"), "login", "--server", s.base)
		cmd.Env = append(os.Environ(), "FLOWFORGE_DATA_DIR="+filepath.Join(s.dir, "data"), "FLOWFORGE_TOKEN=", "XDG_CONFIG_HOME="+t.TempDir())
		link, err := cmd.CombinedOutput()
		require.NoError(t, err, string(link))
		page := visitor(t, s)
		visit(t, page, strings.TrimSpace(string(link)))
		click(t, button(page, "Sign in"))
		visible(t, page.Locator("#main h1").First())
	})
}

// TestAPIKeys: a user creates an API key on the page, and it works until it is revoked
// there.
func TestAPIKeys(t *testing.T) {
	t.Parallel()
	page := open(t, options{tolerates: []string{"status of 422"}})
	visit(t, page, "/account/keys")
	fill(t, page.GetByLabel("Name", playwright.PageGetByLabelOptions{Exact: new(true)}), "stories")
	click(t, page.GetByText("Can view everything that its owner can view."))
	click(t, button(page, "Create key"))
	key, err := page.Locator("#created-key").TextContent()
	require.NoError(t, err)
	audit(t, page)
	call := func() int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, shared.server.base+"/api/v1/me", nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+key)
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer res.Body.Close()
		return res.StatusCode
	}
	require.Equal(t, http.StatusOK, call())
	visit(t, page, "/account/keys")
	click(t, link(page, "Revoke… stories"))
	require.Equal(t, http.StatusOK, call(), "the dialog asks first")
	audit(t, page)
	click(t, button(page, "Revoke key"))
	visible(t, page.GetByText("The key was revoked."))
	require.Equal(t, http.StatusUnauthorized, call())
}
