package e2e

import (
	"net/http"
	"testing"

	"github.com/playwright-community/playwright-go"
)

// TestWhyTheSecondLaunchWaits: with capacity for one process at a time, the second launch
// shows why it waits and what uses the capacity, the launch form shows the same before a
// third launch, and a dry run launches nothing.
func TestWhyTheSecondLaunchWaits(t *testing.T) {
	t.Parallel()
	s := ownServer(t, "FLOWFORGE_SLOTS=1")
	page := openOn(t, s, options{})
	first := s.launch(t, "tour.fanout", map[string]any{"seconds": 60})
	visit(t, page, "/executions/"+first+"?view=list")
	visible(t, page.Locator(`#graph tr [data-state="RUNNING"]`).First())
	second := s.launch(t, "tour.fanout", map[string]any{"seconds": 1})

	visit(t, page, "/executions/"+second)
	why := page.Locator("#execution-head .wait")
	holds(t, why, "Position in the queue")
	visible(t, why.Locator(`a[href*="`+first+`"]`).First())
	click(t, why.GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "Show details"}))
	visible(t, page.Locator("#wait a[href*='"+first+"']").First())
	holds(t, page.Locator("#wait"), "Executions using")
	holds(t, page.Locator("#wait-aside"), "PODS_UNAVAILABLE")
	visible(t, page.Locator("#nav-waiting"))

	visit(t, page, "/workflows/tour.fanout/launch")
	holds(t, page.Locator("#launch-status"), "Would wait")
	holds(t, page.Locator("#launch-check"), "behind")
	click(t, button(page, "Check again"))
	holds(t, page.Locator("#launch-status"), "Would wait")
	visit(t, page, "/executions")
	counts(t, page.Locator("tbody tr"), 2)

	visit(t, page, "/waiting")
	list := page.Locator("#waiting-list")
	visible(t, list.Locator("tbody tr").First())
	visible(t, list.Locator("a[href*='"+second+"']").First())
	s.api(t, http.MethodPost, "/executions/"+first+"/cancel", map[string]any{}, &struct{}{})
	visit(t, page, "/executions/"+second)
	visible(t, headState(page, "SUCCEEDED"))
	counts(t, page.Locator("#execution-head .wait"), 0)
}
