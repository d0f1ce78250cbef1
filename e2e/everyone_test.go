package e2e

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// samples are ended executions of the examples, for read-only stories.
type samples struct {
	digits, report, fanout string // ids of executions
	failed                 string
	artifacts              map[string]string // id by name, of all of them
}

var sampled struct { // created once, by the first story that needs them
	sync.Once
	samples
}

const failingDocument = `{"name": "stories.failing", "version": "1.0.0", "description": "Fails, so that its pages can be looked at", "operators": [
	{"name": "works", "type": "shell", "code": {"script": "echo fine"}},
	{"name": "breaks", "type": "shell", "depends_on": ["works"], "code": {"script": "echo a warning >&2; printf '\\033[31mred\\033[0m text\\n'; exit 7"}},
	{"name": "never", "type": "noop", "depends_on": ["breaks"]}]}`

// lookAt launches the examples once and waits for their end.
func lookAt(t *testing.T) samples {
	t.Helper()
	sampled.Do(func() {
		s := shared.server
		status, body := s.call(t, http.MethodPost, "/workflows", rawJSON(failingDocument))
		require.Less(t, status, 300, string(body))
		sampled.digits = s.launch(t, "digits.train", map[string]any{"epochs": 6})
		sampled.report = s.launch(t, "image.report", nil)
		sampled.fanout = s.launch(t, "tour.fanout", nil)
		sampled.failed = s.launch(t, "stories.failing", nil)
		sampled.artifacts = map[string]string{}
		for _, id := range []string{sampled.digits, sampled.report, sampled.fanout, sampled.failed} {
			s.wait(t, id, ended)
			var list struct {
				Artifacts []struct {
					ID   string `json:"artifact_id"`
					Name string `json:"name"`
					Node string `json:"node"`
				} `json:"artifacts"`
			}
			s.api(t, http.MethodGet, "/executions/"+id+"/artifacts", nil, &list)
			for _, a := range list.Artifacts {
				sampled.artifacts[a.Node+"."+a.Name] = a.ID
			}
		}
	})
	require.NotEmpty(t, sampled.failed)
	return sampled.samples
}

// sites returns the addresses of all pages, by picture name.
func (s samples) sites() map[string]string {
	out := map[string]string{
		"home": "/", "workflows": "/workflows", "workflows-none": "/workflows?q=nothing+like+it", "workflow": "/workflows/digits.train",
		"workflow-executions": "/workflows/digits.train?tab=executions", "workflow-versions": "/workflows/digits.train?tab=versions",
		"workflow-source": "/workflows/digits.train?tab=source", "launch": "/workflows/digits.train/launch", "launch-widgets": "/workflows/tour.widgets/launch",
		"relaunch":   "/workflows/digits.train/launch?from=" + s.digits,
		"executions": "/executions", "compare": "/compare?all=1&executions=" + s.digits + "," + s.fanout + "," + s.failed, "compare-none": "/compare", "executions-none": "/executions?workflow=nothing.like.it", "execution": "/executions/" + s.digits,
		"execution-list": "/executions/" + s.digits + "?view=list", "execution-node": "/executions/" + s.fanout + "?node=flaky",
		"execution-failed": "/executions/" + s.failed, "execution-fanout": "/executions/" + s.fanout,
		"node": "/executions/" + s.digits + "/nodes/train", "node-failed": "/executions/" + s.failed + "/nodes/breaks", "node-flaky": "/executions/" + s.fanout + "/nodes/flaky",
		"logs": "/executions/" + s.digits + "/logs", "artifacts": "/artifacts", "artifacts-none": "/artifacts?type=Secret",
		"types": "/types", "type": "/types/Dataset", "type-union": "/types/Union", "search": "/search?q=digits", "docs": "/docs", "docs-guide": "/docs/settings", "docs-long": "/docs/states", "docs-api": "/docs/api", "docs-operations": "/docs/api/executions#launch-execution", "gallery": "/dev/gallery",
		"quotas": "/admin/quotas", "quotas-edit": "/admin/quotas?edit=" + localTeam, "quotas-compute": "/admin/quotas?show=other&only=1", "team": "/teams/mine",
		"schedules": "/schedules", "inbox": "/inbox", "account-notifications": "/account/notifications", "schedule-new": "/workflows/tour.widgets/schedule", "schedule-calendar": "/schedules/calendar", "backfills": "/backfills",
		"login": "/login", "not-found": "/nothing/here", "no-execution": "/executions/0192aaaa-0000-7000-8000-000000000000",
	}
	for name, id := range s.artifacts {
		out["artifact-"+name] = "/artifacts/" + id
	}
	return out
}

// TestEveryPageIsForEveryone: axe has no findings in either theme, no page scrolls
// sideways on a phone, and the console has no errors.
func TestEveryPageIsForEveryone(t *testing.T) {
	t.Parallel()
	sites := lookAt(t).sites()
	for name, o := range map[string]options{"light": {}, "dark": {dark: true}, "phone": {width: 390}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The sandbox of reports also blocks the test's script. Browsers without the directive webrtc
			// report it for pages of custom types.
			o.tolerates = []string{"status of 404", "sandboxed", "Content-Security-Policy directive 'webrtc'"}
			page := open(t, o)
			for _, site := range slices.Sorted(maps.Keys(sites)) {
				visit(t, page, sites[site])
				visible(t, page.Locator("main h1").First())
				noSidewaysScroll(t, page)
				wordsKeepTogether(t, page)
				audit(t, page)
			}
		})
	}
}

// TestSignIn: a page requested without a session redirects to the sign-in and back.
func TestSignIn(t *testing.T) {
	t.Parallel()
	context, err := shared.browser.NewContext(playwright.BrowserNewContextOptions{BaseURL: &shared.server.base})
	require.NoError(t, err)
	t.Cleanup(func() { _ = context.Close() })
	page, err := context.NewPage()
	require.NoError(t, err)
	visit(t, page, "/workflows/digits.train")
	visible(t, page.GetByRole("heading", playwright.PageGetByRoleOptions{Name: "Sign in to FlowForge"}))
	audit(t, page)
	fill(t, page.GetByLabel("Token from the link"), "wrong")
	click(t, button(page, "Sign in"))
	visible(t, page.Locator(".error"))
	audit(t, page)

	var link struct {
		URL string `json:"url"`
	}
	shared.server.api(t, http.MethodPost, "/login-links", nil, &link)
	_, token, _ := strings.Cut(link.URL, "token=")
	fill(t, page.GetByLabel("Token from the link"), token)
	click(t, button(page, "Sign in"))
	visible(t, page.GetByRole("heading", playwright.PageGetByRoleOptions{Name: "digits.train"}))
	click(t, button(page, "Your account"))
	click(t, button(page, "Sign out"))
	visit(t, page, "/executions")
	visible(t, page.GetByRole("heading", playwright.PageGetByRoleOptions{Name: "Sign in to FlowForge"}))
}
