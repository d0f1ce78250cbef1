package e2e

import (
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

const (
	localTeam   = "01900000-0000-7000-8000-000000000002"
	gpuDocument = `{"name": "stories.gpus", "version": "1.0.0", "operators": [
		{"name": "one", "type": "shell", "code": {"script": "sleep 600"}, "resources": {"cpu": "10m", "memory": "16Mi", "gpu": 1, "gpu_type": "A100"}},
		{"name": "two", "type": "shell", "code": {"script": "sleep 600"}, "resources": {"cpu": "10m", "memory": "16Mi", "gpu": 1, "gpu_type": "A100"}}]}`
)

// withGPUs starts a server that claims two GPUs, both in use.
func withGPUs(t *testing.T) (s *server, execution string) {
	t.Helper()
	s, err := startServer(t.TempDir(), "FLOWFORGE_GPUS=A100:2", "FLOWFORGE_EXAMPLES=off")
	require.NoError(t, err)
	t.Cleanup(s.stop)
	s.api(t, "POST", "/workflows", rawJSON(gpuDocument), nil)
	execution = s.launch(t, "stories.gpus", nil)
	s.wait(t, execution, func(e executionView) bool {
		running := 0
		for _, n := range e.Nodes {
			if n.Status == "RUNNING" {
				running++
			}
		}
		return running == 2
	})
	return s, execution
}

func limitField(page playwright.Page) playwright.Locator {
	return page.Locator(`[name="limit.gpu:A100"]`)
}

// forEverybody checks a page in both themes and on a phone.
func forEverybody(t *testing.T, page playwright.Page) {
	t.Helper()
	for _, scheme := range []*playwright.ColorScheme{playwright.ColorSchemeDark, playwright.ColorSchemeLight} {
		require.NoError(t, page.EmulateMedia(playwright.PageEmulateMediaOptions{ColorScheme: scheme}))
		audit(t, page)
	}
	require.NoError(t, page.SetViewportSize(390, 900))
	noSidewaysScroll(t, page)
	require.NoError(t, page.SetViewportSize(1280, 900))
}

// TestLimitsAreChangedWithConfidence: an administrator lowers a limit. Errors appear at
// the field, the interrupted nodes are shown before confirmation, a concurrent editor
// sees both values, and the audit log records everything.
func TestLimitsAreChangedWithConfidence(t *testing.T) {
	t.Parallel()
	s, _ := withGPUs(t)
	page, second := openOn(t, s, options{tolerates: []string{"status of 422"}}), openOn(t, s, options{noScript: true, tolerates: []string{"status of 409"}})
	visit(t, page, "/admin/quotas")
	visible(t, page.GetByText("A100 in use"))
	forEverybody(t, page)
	click(t, page.Locator(`a[href*="edit=`+localTeam+`"]`))
	visit(t, second, "/admin/quotas?edit="+localTeam)

	fill(t, limitField(page), "a few")
	holds(t, page.Locator("#quota-preview"), "is not a whole number")
	click(t, button(page, "Save for local"))
	holds(t, page.Locator(".error-summary"), "Nothing was saved: 1 value needs attention")
	hasValue(t, limitField(page), "a few")
	forEverybody(t, page)

	fill(t, limitField(page), "1")
	fill(t, page.GetByLabel("Reason"), "One for the others")
	holds(t, page.Locator("#quota-preview"), "Interrupted:")
	click(t, button(page, "Save for local"))
	holds(t, page.Locator(".error-summary"), "This change stops 1 running node")
	audit(t, page)
	require.NoError(t, page.GetByLabel("Yes, interrupt 1 running node").Check())
	click(t, button(page, "Save for local"))
	visible(t, page.GetByText("Saved: local."))
	holds(t, page.Locator("body"), "A100 guarantee: none → 1")
	visible(t, page.Locator(".t-borrowed, .qtext").First())

	fill(t, limitField(second), "2")
	click(t, button(second, "Save for local"))
	holds(t, second.Locator(".notice-warn"), "admin changed local")
	holds(t, second.Locator(".notice-warn table"), "Guaranteed A100")
	click(t, button(second, "Preview"))
	holds(t, second.Locator("#quota-preview"), "No running node is interrupted.")
	click(t, button(second, "Save for local"))
	visible(t, second.GetByText("Saved: local."))

	visit(t, page, "/admin/audit")
	holds(t, page.Locator("main"), "One for the others")
	visit(t, page, "/admin/quotas?edit="+localTeam+"&limit.gpu:A100=1")
	holds(t, page.Locator("#quota-preview"), "Interrupted:")
}

// TestTeamSeesItsLimits: every member sees the limits of the team, what is waiting, and
// the usage.
func TestTeamSeesItsLimits(t *testing.T) {
	t.Parallel()
	s, _ := withGPUs(t)
	waiting := s.launch(t, "stories.gpus", nil)
	page := openOn(t, s, options{})
	visit(t, page, "/")
	click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Team limits"}))
	visible(t, page.GetByRole("heading", playwright.PageGetByRoleOptions{Name: "Limits now"}))
	holds(t, page.Locator("#team-lead"), "No free A100")
	holds(t, page.Locator("#team-queue"), "stories.gpus")
	forEverybody(t, page)
	click(t, page.Locator("#team-queue tbody a").First())
	require.Contains(t, page.URL(), waiting)
}
