package e2e

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// slopesDocument reports two metrics at three steps.
const slopesDocument = `
name: stories.slopes
version: 1.0.0
inputs:
  - {name: slope, type: Float}
operators:
  - name: climb
    type: python
    inputs: [{name: slope, type: Float, from: inputs.slope}]
    code:
      script: |
        from flowforge import client
        for step in range(3):
            client.metric("height", client.inputs["slope"] * step, step=step)
            client.metric("loss", 1 / (1 + client.inputs["slope"] * step), step=step)
`

// TestCurvesOnThePageOfASweep: the curves of the runs appear while the sweep runs, in the colors of the
// table, for the objective or another metric. The run table of the sweep marks the best values.
func TestCurvesOnThePageOfASweep(t *testing.T) {
	t.Parallel()
	s := shared.server
	s.register(t, slopesDocument)
	var made sweepView
	s.api(t, http.MethodPost, "/sweeps", map[string]any{
		"workflow": "stories.slopes", "method": "grid", "parallelism": 2, "objective": map[string]any{"metric": "height"},
		"space": []any{map[string]any{"path": "slope", "kind": "values", "values": []any{1.5, 2.5, 3.5, 4.5}}},
	}, &made)
	page := open(t, options{})
	visit(t, page, "/sweeps/"+made.ID)
	figure := page.Locator(`#curves figure[data-name="height"]`)
	values := figure.Locator("[data-values]")
	click(t, values.Locator("summary"))
	counts(t, values.Locator("tbody tr"), 4) // as the runs start, without a reload
	holds(t, page.Locator("#curves-drawn"), "4 runs")
	holds(t, page.Locator("#sweep-head"), "Finished")
	counts(t, page.Locator("#curves [data-live]"), 0)
	visible(t, figure.Locator(".u-over"))
	audit(t, page)
	noSidewaysScroll(t, page)

	rows := page.Locator("#runs tbody tr[data-run]")
	counts(t, rows, 4)
	ids, err := rows.EvaluateAll(`(all) => all.map((row) => row.dataset.run)`)
	require.NoError(t, err)
	for _, id := range ids.([]any) {
		require.Equal(t, line(t, page.Locator("#runs"), id.(string)), line(t, values, id.(string)), "the row and the curve")
	}
	require.NoError(t, rows.First().Hover())
	require.NoError(t, expect().Locator(figure.Locator("[data-run][data-on]").First()).ToBeVisible())

	_, err = page.Locator("#curves-metric select").SelectOption(playwright.SelectOptionValues{Values: &[]string{"loss"}})
	require.NoError(t, err)
	visible(t, page.Locator(`#curves figure[data-name="loss"] .u-over`))
	require.Contains(t, page.URL(), "metric=loss")
	click(t, page.Locator("#runs .sort").First())
	visible(t, page.Locator(`#curves figure[data-name="loss"]`)) // another order keeps the metric

	for _, o := range []options{{width: 390}, {dark: true}} {
		other := open(t, o)
		visit(t, other, "/sweeps/"+made.ID)
		visible(t, other.Locator(`#curves .u-over`))
		audit(t, other)
		noSidewaysScroll(t, other)
	}

	table := open(t, options{})
	visit(t, table, "/executions?"+url.Values{"where": {"sweep = " + made.ID}, "columns": {"inputs.slope,metrics.height,metrics.loss"}, "sort": {"inputs.slope"}}.Encode())
	best := table.Locator("[data-run-table] .best-value")
	counts(t, best, 1)
	holds(t, best, "▲ 9") // the objective, whatever the order
	visit(t, table, "/executions?"+url.Values{"where": {"sweep = " + made.ID}, "columns": {"inputs.slope,metrics.height,metrics.loss"}, "sort": {"metrics.loss"}}.Encode())
	counts(t, best, 2)
	audit(t, table)
}
