package e2e

import (
	"net/http"
	"regexp"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// TestTwoTabs: two tabs show the same execution. Both are live, and a cancellation in one
// appears in the other.
func TestTwoTabs(t *testing.T) {
	t.Parallel()
	id := shared.server.launch(t, "tour.fanout", map[string]any{"seconds": 50})
	first, second := open(t, options{}), open(t, options{})
	for _, page := range []playwright.Page{first, second} {
		visit(t, page, "/executions/"+id)
		visible(t, graphNode(page, "part_01", "RUNNING"))
	}
	click(t, first.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Cancel…"}))
	fill(t, first.GetByLabel("Reason"), "seen enough")
	click(t, button(first, "Cancel the execution"))
	for _, page := range []playwright.Page{first, second} {
		visible(t, headState(page, "CANCELLED"))
		visible(t, graphNode(page, "part_01", "CANCELLED"))
		holds(t, page.Locator("#events"), "seen enough")
		counts(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Cancel…"}), 0)
	}
	require.Equal(t, 1, navigations(t, second))
}

// retryStory fails once and waits long enough before its retry for a slow browser to see it.
const retryStory = `{"name": "story.retry", "version": "1.0.0", "operators": [
	{"name": "flaky", "type": "shell", "retry": {"limit": 1, "initial_delay": "12s", "max_delay": "12s", "jitter": 0}, "code": {"script": "test $FLOWFORGE_ATTEMPT -gt 1 || exit 3"}}]}`

// TestRetryIsShown: a node that fails once shows it while it waits for its next attempt,
// and then succeeds.
func TestRetryIsShown(t *testing.T) {
	t.Parallel()
	page := open(t, options{})
	shared.server.api(t, http.MethodPost, "/workflows", rawJSON(retryStory), nil)
	id := shared.server.launch(t, "story.retry", nil)
	visit(t, page, "/executions/"+id+"?node=flaky")
	panel := page.Locator("#node")
	visible(t, graphNode(page, "flaky", "RETRYING"))
	visible(t, panel.Locator(`[data-state="RETRYING"]`).First())
	holds(t, page.Locator("#events"), "flaky")
	visible(t, graphNode(page, "flaky", "SUCCEEDED"))
	counts(t, panel.Locator(".attempt-list li"), 2)
	holds(t, panel.Locator(".attempt-list"), "3") // the exit code
	visible(t, headState(page, "SUCCEEDED"))
}

// TestWaitingSaysWhy: with capacity for one process at a time, a waiting node shows the
// reason.
func TestWaitingSaysWhy(t *testing.T) {
	t.Parallel()
	s := ownServer(t, "FLOWFORGE_SLOTS=1")
	page := openOn(t, s, options{})
	id := s.launch(t, "tour.fanout", map[string]any{"seconds": 30})
	visit(t, page, "/executions/"+id+"?view=list")
	visible(t, page.Locator(`#graph tr [data-state="RUNNING"]`).First())
	visible(t, page.Locator("#graph tr", playwright.PageLocatorOptions{HasText: regexp.MustCompile(`(?i)waits|waiting`)}).First())
	visit(t, page, "/")
	visible(t, page.Locator("#home-waiting li .note").First())
}
