package e2e

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// launchTagged launches the shipped example with a rate and a tag.
func launchTagged(t *testing.T, tag string, epochs int, rate float64) string {
	t.Helper()
	var e executionView
	shared.server.api(t, http.MethodPost, "/executions", map[string]any{
		"workflow": "digits.train", "tags": []string{tag}, "inputs": map[string]any{"epochs": epochs, "hyperparameters": map[string]any{"learning_rate": rate}},
	}, &e)
	return e.ID
}

// figureOf is the chart of a metric beside the table.
func figureOf(page playwright.Page, metric string) playwright.Locator {
	return page.Locator(`#charts figure[data-name="` + metric + `"]`)
}

// line is how the swatch of an execution in an element is drawn: its color and its dash.
func line(t *testing.T, in playwright.Locator, id string) string {
	t.Helper()
	swatch := in.Locator(`[data-run="` + id + `"] .swatch`) // the line in it has no height
	counts(t, swatch, 1)
	style, err := swatch.Evaluate(`({ firstElementChild: path }) => getComputedStyle(path).stroke + " " + getComputedStyle(path).strokeDasharray`, nil)
	require.NoError(t, err)
	return style.(string)
}

// TestChartsBesideTheTable: charts of the runs that the table shows: choose metrics, filter, select and
// hide runs, follow the link in another tab, and save the view. An execution has one color everywhere.
func TestChartsBesideTheTable(t *testing.T) {
	t.Parallel()
	const tag = "charts-story"
	var ids []string
	for _, rate := range []float64{0.02, 0.2, 0.4} {
		ids = append(ids, launchTagged(t, tag, 3, rate))
	}
	for _, id := range ids {
		require.Equal(t, "SUCCEEDED", shared.server.wait(t, id, ended).Status)
	}
	page := open(t, options{})
	visit(t, page, "/executions?"+url.Values{"where": {"tag:" + tag}, "columns": {"inputs.hyperparameters.learning_rate"}}.Encode())
	charts, rows := page.Locator("#charts"), page.Locator("[data-run-table] tbody tr")
	counts(t, rows, 3)
	counts(t, page.Locator("[data-eye]"), 0)
	click(t, link(page, "Charts"))
	require.NoError(t, expect().Page(page).ToHaveURL(regexp.MustCompile("metrics.accuracy~chart")))
	counts(t, charts.Locator("figure"), 4)
	visible(t, figureOf(page, "accuracy").Locator(".u-over"))
	holds(t, charts.Locator("[data-drawn]"), "3 executions")
	require.NoError(t, figureOf(page, "test_accuracy").ScrollIntoViewIfNeeded()) // charts in view read their curves
	for _, id := range ids {
		bar := figureOf(page, "test_accuracy").Locator(`[data-run="` + id + `"] .mark-bar`)
		visible(t, bar) // a metric with one value per execution
		fill, err := bar.Evaluate(`(bar) => getComputedStyle(bar).fill`, nil)
		require.NoError(t, err)
		color, _, _ := strings.Cut(line(t, page.Locator("[data-run-table]"), id), ") ")
		require.Equal(t, color+")", fill)
	}
	audit(t, page)
	noSidewaysScroll(t, page)
	beside, err := page.Evaluate(`() => { const at = (q) => document.querySelector(q).getBoundingClientRect(); return at("#charts").left >= at("[data-run-table]").left + 300 && at("#charts").top < 900; }`)
	require.NoError(t, err)
	require.Equal(t, true, beside, "the charts are beside the table")

	chooseMetrics(t, page)
	hoverBothWays(t, page, ids)
	narrow(t, page, tag, ids)
	stay(t, page, ids)
}

// chooseMetrics leaves accuracy and loss, in place.
func chooseMetrics(t *testing.T, page playwright.Page) {
	t.Helper()
	canvas := figureOf(page, "accuracy").Locator("canvas")
	_, err := canvas.Evaluate(`(canvas) => { canvas.kept = true; }`, nil)
	require.NoError(t, err)
	click(t, page.Locator(".metric-choice > summary"))
	list := page.Locator("[data-metrics]")
	audit(t, page)
	for _, name := range []string{"rows_per_digit", "test_accuracy"} {
		require.NoError(t, list.GetByLabel(name, playwright.LocatorGetByLabelOptions{Exact: new(true)}).Uncheck())
		counts(t, figureOf(page, name), 0)
		require.NoError(t, expect().Locator(list.GetByLabel(name, playwright.LocatorGetByLabelOptions{Exact: new(true)})).ToBeFocused())
	}
	press(t, page, "Escape")
	require.NoError(t, expect().Locator(list).ToBeHidden())
	require.NoError(t, expect().Locator(page.Locator(".metric-choice > summary")).ToBeFocused())
	kept, err := canvas.Evaluate(`(canvas) => canvas.kept === true`, nil)
	require.NoError(t, err)
	require.Equal(t, true, kept, "a chart that stays is not drawn again")
	require.NotContains(t, page.URL(), "rows_per_digit")
	require.Contains(t, page.URL(), "metrics.loss~chart")
}

// hoverBothWays: the row under the pointer or with the focus highlights its curve, and a curve its row.
func hoverBothWays(t *testing.T, page playwright.Page, ids []string) {
	t.Helper()
	row := page.Locator(`tr[data-run="` + ids[0] + `"]`)
	figure := figureOf(page, "accuracy")
	require.NoError(t, row.Hover())
	require.NoError(t, expect().Locator(figure.Locator(`[data-run="`+ids[0]+`"][data-on]`)).ToBeVisible())
	require.NoError(t, page.Locator("h1").Hover())
	counts(t, page.Locator("[data-run][data-on]"), 0)
	require.NoError(t, row.GetByRole("link").First().Focus())
	require.NoError(t, expect().Locator(row).ToHaveAttribute("data-on", ""))
	box, err := figure.Locator(".u-over").BoundingBox()
	require.NoError(t, err)
	found := ""
	for y := 4.0; y < box.Height && found == ""; y += 8 {
		require.NoError(t, page.Mouse().Move(box.X+box.Width/2, box.Y+y))
		text, err := page.Evaluate(`() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(document.querySelector("tr[data-run][data-on]")?.dataset.run ?? ""))))`)
		require.NoError(t, err)
		found = text.(string)
	}
	require.Contains(t, ids, found, "a curve highlights its row")
	require.NoError(t, page.Locator("h1").Hover())
	counts(t, page.Locator("tr[data-run][data-on]"), 0)
}

// narrow filters, selects and hides runs. The table of the values of a chart has what it draws.
func narrow(t *testing.T, page playwright.Page, tag string, ids []string) {
	t.Helper()
	drawn, values := page.Locator("#charts [data-drawn]"), figureOf(page, "accuracy").Locator("[data-values]")
	click(t, values.Locator("summary"))
	counts(t, values.Locator("tbody tr"), 3)
	fill(t, page.Locator("#execution-where"), "tag:"+tag+" and inputs.hyperparameters.learning_rate < 0.3")
	press(t, page, "Enter")
	holds(t, drawn, "2 executions")
	counts(t, page.Locator("[data-run-table] tbody tr"), 2)
	click(t, values.Locator("summary"))
	counts(t, values.Locator("tbody tr"), 2)
	counts(t, values.Locator(`[data-run="`+ids[2]+`"]`), 0)

	box := page.Locator(`tr[data-run="` + ids[0] + `"] input[name="id"]`)
	require.NoError(t, box.Check())
	holds(t, drawn, "1 selected of 2 executions")
	counts(t, values.Locator("tbody tr"), 1)
	audit(t, page)
	require.NoError(t, box.Uncheck())
	counts(t, values.Locator("tbody tr"), 2)

	eye := page.Locator(`tr[data-run="` + ids[1] + `"] [data-eye]`)
	require.NoError(t, eye.Focus())
	press(t, page, "Enter")
	require.NoError(t, expect().Locator(eye).ToHaveAttribute("aria-pressed", "false"))
	holds(t, drawn, "2 executions, 1 hidden")
	counts(t, values.Locator("tbody tr"), 1)
	visible(t, button(page, "Show all"))
	audit(t, page)
	require.Contains(t, page.URL(), "hide="+ids[1][30:])
	click(t, page.Locator(`th[data-column="inputs.hyperparameters.learning_rate"] .sort`)) // a link that was written before
	require.NoError(t, expect().Page(page).ToHaveURL(regexp.MustCompile("sort=")))
	holds(t, drawn, "2 executions, 1 hidden")
	require.Regexp(t, "metrics.loss(~|%7E)chart", page.URL())
}

// stay follows the link in another tab, on a phone and in the dark, and saves the view.
func stay(t *testing.T, page playwright.Page, ids []string) {
	t.Helper()
	for _, o := range []options{{}, {width: 390}, {dark: true}} {
		other := open(t, o)
		visit(t, other, page.URL())
		holds(t, other.Locator("#charts [data-drawn]"), "2 executions, 1 hidden")
		counts(t, other.Locator("#charts figure"), 2)
		visible(t, figureOf(other, "accuracy").Locator(".u-over"))
		values := figureOf(other, "accuracy").Locator("[data-values]")
		click(t, values.Locator("summary"))
		counts(t, values.Locator("tbody tr"), 1)
		require.Equal(t, line(t, other.Locator("[data-run-table]"), ids[0]), line(t, values, ids[0]), "the row and the chart")
		audit(t, other)
		noSidewaysScroll(t, other)
	}
	color, _, _ := strings.Cut(line(t, page.Locator("[data-run-table]"), ids[0]), ") ")
	compared := open(t, options{})
	visit(t, compared, "/compare?executions="+ids[2]+","+ids[0])
	require.Contains(t, line(t, compared.Locator("#compare-legend"), ids[0]), color, "the page that compares executions")

	click(t, page.GetByText("Save view…"))
	form := page.Locator(`form[aria-label="Save view"]`)
	fill(t, form.GetByLabel("View name"), "Curves of the story")
	click(t, form.GetByRole("button"))
	require.NoError(t, expect().Page(page).ToHaveURL(regexp.MustCompile(`view=[0-9a-f-]{36}$`)))
	counts(t, page.Locator("#charts figure"), 2)
	holds(t, page.Locator("#charts [data-drawn]"), "2 executions")
	click(t, page.GetByLabel("Close the charts"))
	counts(t, page.Locator("#charts"), 0)
	holds(t, page.Locator(".view-changes"), "unsaved changes")
	click(t, page.GetByText("Edit view…"))
	deletes(t, page, "view")
	counts(t, link(page, "Curves of the story"), 0)
}

// TestChartsFollowARunningExecution: the curve of a live run grows without a reload, and a hidden run
// stays hidden when its row changes.
func TestChartsFollowARunningExecution(t *testing.T) {
	t.Parallel()
	const tag = "charts-live"
	id := launchTagged(t, tag, 40, 0.1)
	page := open(t, options{})
	eventually(t, "the execution reports accuracy", func() (string, bool) {
		status, body := shared.server.call(t, http.MethodGet, "/compare/metrics?name=accuracy&executions="+id, nil)
		return string(body), status == http.StatusOK && regexp.MustCompile(`"y":\[[0-9]`).Match(body)
	})
	visit(t, page, "/executions?"+url.Values{"where": {"tag:" + tag}, "columns": {"state,metrics.accuracy~chart"}}.Encode())
	values := figureOf(page, "accuracy").Locator("[data-values]")
	click(t, values.Locator("summary"))
	last := values.Locator("tbody td").Last()
	visible(t, last)
	before, err := last.TextContent()
	require.NoError(t, err)
	require.NoError(t, expect().Locator(last).Not().ToHaveText(before))
	eye := page.Locator(`tr[data-run="` + id + `"] [data-eye]`)
	click(t, eye)
	counts(t, values.Locator("tbody tr"), 0)
	require.Equal(t, "SUCCEEDED", shared.server.wait(t, id, ended).Status)
	holds(t, page.Locator(`tr[data-run="`+id+`"]`), "Succeeded")
	counts(t, page.Locator("#charts [data-live]"), 0)
	require.NoError(t, expect().Locator(eye).ToHaveAttribute("aria-pressed", "false"))
	click(t, button(page, "Show all"))
	require.NoError(t, expect().Locator(last).ToHaveText("40"))
}
