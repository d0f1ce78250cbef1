package e2e

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// fanDocument fans out over 1,000 items, of which ten have conditions that cannot be
// evaluated, and over graphs. Dependents of the pictures are not part of it.
const fanDocument = `
name: stories.fan
version: 1.0.0
description: A thousand items, and graphs in a fan-out
inputs: [{name: gate, type: String, description: A file that the first node waits for}]
operators:
  - {name: wait, type: shell, inputs: [{name: gate, type: String, from: inputs.gate}], code: {script: 'while [ ! -e "$FLOWFORGE_PARAM_GATE" ]; do sleep 0.1; done'}}
  - name: each
    type: noop
    depends_on: [wait]
    foreach: {range: {from: 0, to: 999}, allow_partial: true}
    when: "item % 100 != 7 || item.x > 1"
  - {name: outer, type: graph, graph: row, depends_on: [wait], foreach: [1, 2], inputs: [{name: n, type: Integer, from: item}]}
  - {name: low, type: noop, when: "false"}
  - {name: after_low, type: noop, depends_on: [low]}
  - {name: rescue, type: noop, depends: "wait.Failed"}
on_exit:
  - {name: tell, type: shell, code: {script: "echo over"}}
graphs:
  row:
    inputs: [{name: n, type: Integer}]
    operators:
      - {name: first, type: noop}
      - {name: cell, type: shell, depends_on: [first], foreach: {expression: "[inputs.n, inputs.n + 1]"}, inputs: [{name: x, type: Integer, from: item}], code: {script: 'echo "cell $FLOWFORGE_PARAM_X"'}}
`

// launchFan registers and launches fanDocument; the execution continues after open is
// called.
func launchFan(t *testing.T) (id string, open func()) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, shared.server.base+"/api/v1/workflows", strings.NewReader(fanDocument))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+shared.server.token)
	req.Header.Set("Content-Type", "application/yaml")
	res, err := shared.server.client.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Less(t, res.StatusCode, 300)
	gate := filepath.Join(t.TempDir(), "gate")
	return shared.server.launch(t, "stories.fan", map[string]any{"gate": gate}), func() { require.NoError(t, os.WriteFile(gate, nil, 0o600)) }
}

// TestAThousandItemsOnOnePage goes from the graph of a fan-out to a single item. The page
// of the items is opened before they exist and needs no reload.
func TestAThousandItemsOnOnePage(t *testing.T) {
	t.Parallel()
	id, begin := launchFan(t)
	page := open(t, options{})
	visit(t, page, "/executions/"+id+"/nodes/each")
	holds(t, page.Locator("#children"), "Not started.")
	begin()
	holds(t, page.Locator("#group-head"), "1,000 of 1,000 items ended")
	counts(t, page.Locator("#children tbody tr"), 50)
	holds(t, page.Locator("#group-failures"), "10 items")
	audit(t, page)
	picture(t, page, "fan-items")

	click(t, page.Locator("#children").GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "Next"}))
	holds(t, page.Locator("#children .pager"), "51 to 100 of 1,000")
	click(t, page.Locator("#group-failures").GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "10 items"}))
	counts(t, page.Locator("#children tbody tr"), 10)
	fill(t, page.Locator("#child-q"), "each[90")
	press(t, page, "Tab", "Tab", "Enter")
	counts(t, page.Locator("#children tbody tr"), 1)
	click(t, page.Locator("#children tbody").GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "each[907]", Exact: new(true)}))
	holds(t, page.Locator("main h1"), "each[907]")
	holds(t, page.Locator("main"), "index 907 of 1,000 items")
	audit(t, page)
	click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Next item, each[908]"}))
	holds(t, page.Locator("main h1"), "each[908]")
	click(t, page.Locator(".crumbs").GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "each", Exact: new(true)}))
	holds(t, page.Locator("#group-head"), "990 succeeded")
}

// TestGraphsInAFanOut goes from the graph of the execution to an inner one.
func TestGraphsInAFanOut(t *testing.T) {
	t.Parallel()
	id, begin := launchFan(t)
	begin()
	shared.server.wait(t, id, ended)
	page := open(t, options{})
	visit(t, page, "/executions/"+id)
	visible(t, graphNode(page, "each × 1,000", "SUCCEEDED"))
	visible(t, graphNode(page, "low", "SKIPPED"))
	visible(t, graphNode(page, "after_low", "OMITTED"))
	audit(t, page)
	picture(t, page, "fan-execution")
	click(t, graphNode(page, "outer × 2", "SUCCEEDED"))
	click(t, page.Locator("#children tbody").GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "outer[1]", Exact: new(true)}))
	holds(t, page.Locator("main h1"), "outer[1]")
	audit(t, page)
	picture(t, page, "fan-graph")
	click(t, graphNode(page, "cell × 2", "SUCCEEDED"))
	click(t, page.Locator("#children tbody").GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "cell[0]", Exact: new(true)}))
	holds(t, page.Locator("main h1"), "outer[1]/cell[0]")
	holds(t, page.Locator("#logs"), "cell 2")
	holds(t, page.Locator(".crumbs"), "outer[1]")
	visit(t, page, "/workflows/stories.fan")
	visible(t, page.Locator("#graph-row"))
	audit(t, page)
	picture(t, page, "fan-workflow")
}

// TestItemsOnAPhoneWithoutAScript pages through items with links and a form only.
func TestItemsOnAPhoneWithoutAScript(t *testing.T) {
	t.Parallel()
	id, begin := launchFan(t)
	begin()
	shared.server.wait(t, id, ended)
	page := open(t, options{noScript: true, width: 390, dark: true})
	visit(t, page, "/executions/"+id+"/nodes/each")
	noSidewaysScroll(t, page)
	picture(t, page, "fan-phone")
	click(t, page.Locator("#group-head").GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "10 failed"}))
	require.NoError(t, expect().Page(page).ToHaveURL(regexp.MustCompile("state=FAILED")))
	counts(t, page.Locator("#children tbody tr"), 10)
	for _, path := range []string{"", "/nodes/outer", "/nodes/" + url.PathEscape("outer[1]"), "/nodes/" + url.PathEscape("outer[1]/cell[0]"), "?view=list&all=1"} {
		visit(t, page, "/executions/"+id+path)
		noSidewaysScroll(t, page)
	}
	visit(t, page, "/workflows/stories.fan")
	noSidewaysScroll(t, page)
}

// TestASweepPicksTheBest launches the example as a newcomer would.
func TestASweepPicksTheBest(t *testing.T) {
	t.Parallel()
	id := shared.server.launch(t, "sweep.learning_rate", map[string]any{"epochs": 5, "rates": []any{0.01, 0.3, 300}})
	e := shared.server.wait(t, id, ended)
	require.Equal(t, "SUCCEEDED", e.Status)
	require.Contains(t, []any{0.01, 0.3}, e.Outputs["rate"])
	page := open(t, options{})
	visit(t, page, "/executions/"+id+"/nodes/train")
	holds(t, page.Locator("#group-failures"), "is too high")
}

// picture takes a picture for manual review if FLOWFORGE_TEST_PICTURES is set.
func picture(t *testing.T, page playwright.Page, name string) {
	t.Helper()
	if os.Getenv("FLOWFORGE_TEST_PICTURES") == "" {
		return
	}
	time.Sleep(300 * time.Millisecond) // fonts and the first message of the stream
	_, err := page.Screenshot(playwright.PageScreenshotOptions{Path: new(filepath.Join("out", name+".png")), FullPage: new(true)})
	require.NoError(t, err)
}
