package e2e

import (
	"net/url"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// TestRelaunch: "Launch again" opens the form with the inputs of the execution; a link
// sets its own inputs; both can be changed before the launch.
func TestRelaunch(t *testing.T) {
	t.Parallel()
	page := open(t, options{})
	id := shared.server.launch(t, "tour.fanout", map[string]any{"seconds": 0.5, "unlucky": false})
	visit(t, page, "/executions/"+id)
	visible(t, headState(page, "SUCCEEDED"))
	click(t, page.Locator("header").GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "Launch again"}))
	hasValue(t, input(page, "seconds"), "0.5")
	require.NoError(t, expect().Locator(page.Locator(`[name="inputs.unlucky"][value="true"]`)).Not().ToBeChecked())
	again := launchNow(t, page)
	require.NotEqual(t, id, again)
	require.Equal(t, shared.server.inputsOf(t, id), shared.server.inputsOf(t, again))
	holds(t, page.Locator("header .meta"), "relaunch of")

	visit(t, page, "/workflows/tour.fanout/launch?"+url.Values{"input.seconds": {"0.25"}}.Encode())
	hasValue(t, input(page, "seconds"), "0.25")
	require.Equal(t, 0.25, shared.server.inputsOf(t, launchNow(t, page))["seconds"])
}

// TestLaunchWithoutScript: without JavaScript, the path from the list to a finished
// execution is the same.
func TestLaunchWithoutScript(t *testing.T) {
	t.Parallel()
	page := open(t, options{noScript: true})
	visit(t, page, "/workflows")
	click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Launch tour.widgets"}))
	click(t, pressable(page, "$add", "inputs.augmentations"))
	fill(t, input(page, "augmentations.2.probability"), "0.9")
	click(t, radio(page, "optimizer.$type", "SGD"))
	fill(t, input(page, "optimizer.SGD.momentum"), "0.8")
	id := launchNow(t, page)
	shared.server.wait(t, id, ended)
	_, err := page.Reload()
	require.NoError(t, err)
	visible(t, headState(page, "SUCCEEDED"))
	visible(t, graphNode(page, "show", "SUCCEEDED"))
	holds(t, page.Locator("#logs .log"), "title = ")
	got := shared.server.inputsOf(t, id)
	require.Len(t, got["augmentations"], 3)
	require.Equal(t, map[string]any{"$type": "SGD", "momentum": 0.8, "nesterov": true}, got["optimizer"])
}

// focused reports whether the element of the locator has the focus.
func focused(t *testing.T, l playwright.Locator) bool {
	t.Helper()
	n, err := l.Count()
	require.NoError(t, err)
	if n != 1 {
		return false
	}
	on, err := l.Evaluate("e => e === document.activeElement", nil)
	require.NoError(t, err)
	return on.(bool)
}

// tabTo presses Tab until target has the focus.
func tabTo(t *testing.T, page playwright.Page, target playwright.Locator) {
	t.Helper()
	visible(t, target)
	for range 120 {
		if focused(t, target) {
			return
		}
		press(t, page, "Tab")
	}
	t.Fatalf("Tab does not reach %v", target)
}

// TestKeyboardAlone goes from the first page to a node of a launched execution without
// the mouse.
func TestKeyboardAlone(t *testing.T) {
	t.Parallel()
	page := open(t, options{})
	visit(t, page, "/")
	press(t, page, "Tab", "Enter") // the skip link
	tabTo(t, page, page.Locator(`.sidebar a[href="/workflows"].nav-link`))
	press(t, page, "Enter")
	tabTo(t, page, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Launch digits.train"}))
	press(t, page, "Enter")
	dataset := input(page, "dataset")
	tabTo(t, page, dataset)
	press(t, page, "Control+a")
	require.NoError(t, page.Keyboard().Type("digi"))
	visible(t, page.Locator(`.listbox [role="option"]`).First())
	press(t, page, "ArrowDown", "Enter")
	hasValue(t, dataset, "uci-digits@1")
	tabTo(t, page, page.Locator(`[name="inputs.model"]:checked`))
	press(t, page, "ArrowRight")
	tabTo(t, page, input(page, "epochs"))
	press(t, page, "Control+a")
	require.NoError(t, page.Keyboard().Type("2"))
	tabTo(t, page, page.Locator(".launchbar .btn-primary"))
	press(t, page, "Enter")
	id := arrived(t, page)
	got := shared.server.inputsOf(t, id)
	require.Equal(t, "softmax", got["model"])
	require.Equal(t, 2.0, got["epochs"])
	tabTo(t, page, graphNode(page, "load", ""))
	press(t, page, "ArrowDown", "Enter")
	holds(t, page.Locator("#node h2"), "split")
}

// TestCorrectedErrorsDisappear: after a refused launch, the errors of a field and of the summary go when
// the check accepts the value.
func TestCorrectedErrorsDisappear(t *testing.T) {
	t.Parallel()
	page := open(t, options{tolerates: []string{"422"}})
	visit(t, page, formWorkflow(t, "corrected"))
	fill(t, input(page, "data"), "letters@3")
	fill(t, input(page, "epochs"), "many")
	fill(t, input(page, "layers.0.width"), "wide")
	click(t, page.Locator(".launchbar button.btn-primary"))
	holds(t, page.Locator(".error-summary"), "2 values need attention")
	fill(t, input(page, "epochs"), "3")
	holds(t, page.Locator(".error-summary"), "1 value needs attention")
	fill(t, input(page, "layers.0.width"), "8")
	require.NoError(t, expect().Locator(page.Locator(".error-summary, .field-error, [aria-invalid]")).ToHaveCount(0))
}
