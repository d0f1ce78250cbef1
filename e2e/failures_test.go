package e2e

import (
	"fmt"
	"net/http"
	"os"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// TestBreakerAndDeadLetter: a service is down. The operator that calls it fails twice,
// its breaker opens, and the next execution waits and shows why. A user resets the
// breaker when the service is available again, and reruns the task that had failed after
// its last retry.
func TestBreakerAndDeadLetter(t *testing.T) {
	t.Parallel()
	s := shared.server
	back := t.TempDir() + "/back"
	s.api(t, http.MethodPost, "/workflows", rawJSON(fmt.Sprintf(`{
		"name": "story.breaker", "version": "1.0.0",
		"operators": [{
			"name": "call", "type": "shell", "code": {"script": "test -e %s || { echo 'Connection refused' >&2; exit 1; }"},
			"retry": {"limit": 1, "initial_delay": "100ms", "policy": "OnTransient"}, "breaker": {"failures": 2, "window": "1m", "open_for": "1h"}
		}]
	}`, back)), nil)
	failed := s.wait(t, s.launch(t, "story.breaker", nil), ended)
	require.Equal(t, "FAILED", failed.Status)
	waiting := s.launch(t, "story.breaker", nil)
	page := open(t, options{})

	visit(t, page, "/executions/"+failed.ID+"/nodes/call")
	holds(t, page.Locator("main"), "Network")
	holds(t, page.Locator("main"), "Attempts 1 and 2 failed with this error.")
	holds(t, page.Locator("main"), "OnTransient")

	visit(t, page, "/executions/"+waiting+"/nodes/call")
	holds(t, page.Locator("main"), "no further attempt starts until")
	audit(t, page)

	visit(t, page, "/breakers")
	row := page.Locator("tr", playwright.PageLocatorOptions{HasText: "story.breaker"})
	holds(t, row, "open; next trial at")
	holds(t, row, "1 node is waiting")
	audit(t, page)
	noSidewaysScroll(t, page)
	require.NoError(t, os.WriteFile(back, nil, 0o600))
	click(t, row.GetByRole("button", playwright.LocatorGetByRoleOptions{Name: "Reset the breaker of call"}))
	holds(t, page.Locator("main"), "The breaker is closed.")
	require.Equal(t, "SUCCEEDED", s.wait(t, waiting, ended).Status)

	visit(t, page, "/dead-letters?class=network")
	letter := page.Locator("main li", playwright.PageLocatorOptions{HasText: "story.breaker"})
	holds(t, letter, "Connection refused")
	audit(t, page)
	noSidewaysScroll(t, page)
	click(t, letter.GetByRole("button", playwright.LocatorGetByRoleOptions{Name: "Resume from here: call"}))
	visible(t, page.Locator(`#execution-head [data-state="SUCCEEDED"]`).First())
	visit(t, page, "/dead-letters")
	gone, err := page.Locator("main li", playwright.PageLocatorOptions{HasText: "story.breaker"}).Count()
	require.NoError(t, err)
	require.Zero(t, gone)
	visit(t, page, "/admin/audit")
	holds(t, page.Locator("main"), "story.breaker")
}
