package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// wideWorkflow has forty parallel and sequential nodes: more than fit into a window.
func wideWorkflow() map[string]any {
	operators := []map[string]any{{"name": "load", "type": "noop"}}
	for layer := range 6 {
		for k := range 6 {
			after := "load"
			if layer > 0 {
				after = fmt.Sprintf("step_%d_%d", layer-1, k)
			}
			operators = append(operators, map[string]any{"name": fmt.Sprintf("step_%d_%d", layer, k), "type": "noop", "depends_on": []string{after}})
		}
	}
	long := "a_node_whose_name_is_far_longer_than_its_box_is_wide"
	operators = append(operators,
		map[string]any{"name": long, "type": "noop", "depends_on": []string{"step_5_0"}},
		map[string]any{"name": "publish", "type": "noop", "depends_on": []string{long}},
		map[string]any{"name": "tell", "type": "noop", "depends_on": []string{"publish"}})
	return map[string]any{"name": "stories.wide", "version": "1.0.0", "description": "Forty nodes", "operators": operators}
}

// TestALargeGraphIsExplored: a graph that is larger than its frame is fitted, zoomed,
// searched and panned; without a selected node there is no empty side panel, and no text
// overflows its box.
func TestALargeGraphIsExplored(t *testing.T) {
	t.Parallel()
	s := shared.server
	status, body := s.call(t, http.MethodPost, "/workflows", wideWorkflow())
	require.Less(t, status, 300, string(body))
	id := s.launch(t, "stories.wide", nil)
	s.wait(t, id, ended)
	page := open(t, options{})
	visit(t, page, "/executions/"+id)
	frame, scale := page.Locator("#graph .dag-wrap"), page.Locator("[data-dag-scale]")
	require.NoError(t, expect().Locator(page.Locator("#node")).ToBeHidden())

	click(t, button(page, "Fit"))
	inside, err := frame.Evaluate(`f => f.scrollWidth <= f.clientWidth && f.scrollHeight <= f.clientHeight && f.clientHeight <= 0.8 * innerHeight`, nil)
	require.NoError(t, err)
	require.Equal(t, true, inside, "the whole graph is in view")
	fitted, err := scale.TextContent()
	require.NoError(t, err)
	spills, err := page.Evaluate(`() => [...document.querySelectorAll(".node")].filter(n => {
		const box = n.querySelector(".node-box").getBBox();
		return [...n.querySelectorAll(".node-text text")].some(x => x.getBBox().x + x.getBBox().width > box.width);
	}).map(n => n.textContent.trim())`)
	require.NoError(t, err)
	require.Empty(t, spills, "texts that overflow their box")

	for range 8 {
		click(t, button(page, "Zoom in"))
	}
	require.NoError(t, expect().Locator(scale).Not().ToHaveText(fitted))
	visible(t, page.Locator("[data-dag-map]"))
	fill(t, page.GetByLabel("Find a node in the graph"), "publish")
	holds(t, page.Locator("[data-dag-found]"), "1 found")
	press(t, page, "Enter")
	node := graphNode(page, "publish", "")
	require.NoError(t, expect().Locator(node).ToBeFocused())
	require.NoError(t, expect().Locator(node).ToBeInViewport())
	press(t, page, "Enter") // opens the node next to the graph
	visible(t, page.Locator("#node").GetByRole("heading", playwright.LocatorGetByRoleOptions{Name: "publish"}))
	audit(t, page)

	fill(t, page.GetByLabel("Find a node in the graph"), "nothing_like_it")
	holds(t, page.Locator("[data-dag-found]"), "No matches")
	click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Search the list"}))
	visible(t, page.GetByText("No nodes match"))
}

// TestAGraphWithoutAScript: without JavaScript the graph scrolls in its frame, without
// tools.
func TestAGraphWithoutAScript(t *testing.T) {
	t.Parallel()
	page := open(t, options{noScript: true, width: 390})
	visit(t, page, "/executions/"+lookAt(t).fanout)
	visible(t, page.Locator(".dag a.node").First())
	require.NoError(t, expect().Locator(page.Locator(".dag-tools")).ToBeHidden())
	noSidewaysScroll(t, page)
}

// TestReplacedGraphsLeaveNoListener: an update of the page replaces the graph, and nothing keeps the former one.
func TestReplacedGraphsLeaveNoListener(t *testing.T) {
	t.Parallel()
	page := open(t, options{})
	require.NoError(t, page.AddInitScript(playwright.Script{Content: new(`
		window.listeners = 0;
		const add = document.addEventListener.bind(document);
		document.addEventListener = (type, ...rest) => { if (type === "fullscreenchange") window.listeners++; add(type, ...rest); };`)}))
	visit(t, page, "/executions/"+lookAt(t).fanout)
	graph := page.Locator("[data-dag] .dag")
	require.NoError(t, expect().Locator(graph).ToHaveAttribute("data-ready", ""))
	_, err := page.Evaluate(`() => {
		const view = document.querySelector("[data-dag]"), fresh = view.cloneNode(true);
		fresh.querySelector(".dag").removeAttribute("data-ready");
		fresh.dataset.fresh = "";
		for (const styled of fresh.querySelectorAll("[style]")) styled.removeAttribute("style"); // forbidden in text
		return htmx.swap({ sourceElement: view, target: view, text: fresh.outerHTML, swap: "outerHTML" });
	}`)
	require.NoError(t, err)
	require.NoError(t, expect().Locator(page.Locator("[data-fresh] .dag")).ToHaveAttribute("data-ready", ""))
	listeners, err := page.Evaluate(`() => window.listeners`)
	require.NoError(t, err)
	require.EqualValues(t, 1, number(listeners))
}
