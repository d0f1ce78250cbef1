package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// TestCompareRuns: from the page of an execution to its comparison with the previous one, with
// differences, another baseline, a third run, curves, and their downloads.
func TestCompareRuns(t *testing.T) {
	t.Parallel()
	s := shared.server
	var ids []string
	for _, rate := range []float64{0.02, 0.2, 0.4} {
		id := s.launch(t, "digits.train", map[string]any{"epochs": 3, "hyperparameters": map[string]any{"learning_rate": rate}})
		require.Equal(t, "SUCCEEDED", s.wait(t, id, ended).Status)
		ids = append(ids, id)
	}
	page := open(t, options{})
	visit(t, page, "/compare?executions="+ids[0]+","+ids[1])
	table := page.Locator("#compare-table")
	holds(t, table, "hyperparameters.learning_rate")
	require.NoError(t, expect().Locator(table).Not().ToContainText("holdout"))
	press(t, page, "d") // all rows
	holds(t, page.Locator("#compare-table"), "holdout")

	click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Set as baseline"}).First())
	holds(t, page.Locator("#compare-table"), "−0.18")
	press(t, page, "/")
	require.NoError(t, page.Keyboard().Type(ids[2][30:]))
	click(t, page.Locator(".compare-hits a").Filter(playwright.LocatorFilterOptions{HasText: ids[2][30:]}))
	holds(t, page.Locator("h1"), "Compare 3 executions")
	click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Remove #" + ids[0][30:]}))
	holds(t, page.Locator("h1"), "Compare 2 executions")

	figure := page.Locator(`figure[data-name="accuracy"]`)
	visible(t, figure.Locator(".u-over"))
	require.NoError(t, figure.Locator(".u-over").Hover())
	require.NoError(t, expect().Locator(figure.Locator("[data-step]")).Not().ToBeEmpty())
	for kind, begin := range map[string]string{"SVG": "<svg", "PNG": "\x89PNG", "CSV": "execution,node"} {
		download, err := page.ExpectDownload(func() error {
			return figure.GetByText(kind, playwright.LocatorGetByTextOptions{Exact: new(true)}).Click()
		})
		require.NoError(t, err)
		file, err := download.Path()
		require.NoError(t, err)
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(content), begin), "%s: %.60q", kind, content)
		if kind == "SVG" { // axes with ticks, and a line for each run
			require.Greater(t, strings.Count(string(content), "<text"), 5)
			require.NotContains(t, string(content), ">1.5<", "steps are whole numbers")
			require.Equal(t, 4, strings.Count(string(content), "stroke-width=\"1.75\"")+strings.Count(string(content), "stroke-width=\"2\""))
		}
	}
	require.NoError(t, page.Locator(`[data-compare-controls] [name="smooth"]`).Fill("60"))
	require.NoError(t, expect().Locator(page.Locator("[data-smoothing]")).ToHaveText("0.60"))
	box, err := figure.Locator(".u-over").BoundingBox()
	require.NoError(t, err)
	require.NoError(t, page.Mouse().Move(box.X+0.1*box.Width, box.Y+box.Height/2)) // of the steps 0 to 2
	holds(t, figure.Locator("[data-step]"), "step 0")
	require.NoError(t, page.Locator(`[type=checkbox][name="xscale"]`).Check())
	require.Contains(t, page.URL(), "xscale=log")
	require.NoError(t, page.Mouse().Move(box.X+0.1*box.Width, box.Y+box.Height/3)) // a logarithmic axis has no 0
	holds(t, figure.Locator("[data-step]"), "step 1")
	require.NoError(t, page.Locator(`[type=checkbox][name="scale"]`).Check())
	require.Contains(t, page.URL(), "scale=log")
	_, err = page.Reload()
	require.NoError(t, err)
	require.NoError(t, expect().Locator(page.Locator(`[type=checkbox][name="scale"]`)).ToBeChecked())
	require.NoError(t, expect().Locator(page.Locator(`[type=checkbox][name="xscale"]`)).ToBeChecked())
	click(t, figure.Locator("summary"))
	holds(t, figure.Locator("table"), "#"+ids[1][30:])
	audit(t, page)

	visit(t, page, "/executions/"+ids[2])
	click(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Compare with…"}))
	click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "The previous execution"}))
	holds(t, page.Locator("h1"), "Compare 2 executions")
}
