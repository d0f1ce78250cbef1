package e2e

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// TestASweep: the launch form varies inputs, an error appears at its field before the launch, the page
// follows the runs, and its best run is launched again.
func TestASweep(t *testing.T) {
	t.Parallel()
	page := open(t, options{})
	visit(t, page, "/workflows/digits.train/launch")
	fill(t, input(page, "epochs"), "2")
	click(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Sweep inputs"}))
	holds(t, page.Locator("h1"), "Sweep of digits.train")
	hasValue(t, input(page, "epochs"), "2")
	require.NoError(t, page.Locator("#many-on-hyperparameters\\~2elearning_rate").Check())
	control := func(name string) playwright.Locator { return page.Locator(`[name="sweep.` + name + `"]`) }
	fill(t, control("to.hyperparameters.learning_rate"), "7")
	holds(t, page.Locator("#many-error-hyperparameters\\~2elearning_rate"), "7 is more than 1")
	fill(t, control("to.hyperparameters.learning_rate"), "0.5")
	fill(t, control("runs"), "4")
	fill(t, control("parallelism"), "2")
	fill(t, control("objective"), "accuracy")
	fill(t, control("seed"), "7")
	holds(t, page.Locator("#sweep-launch"), "Launch 4 runs")
	audit(t, page)

	click(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Launch once instead"}))
	holds(t, page.Locator("#launch-check"), "Before you launch")
	click(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Sweep inputs"}))
	hasValue(t, control("to.hyperparameters.learning_rate"), "0.5")
	holds(t, page.Locator("#sweep-launch"), "Launch 4 runs")
	click(t, page.Locator("#sweep-launch"))

	require.NoError(t, expect().Locator(page.Locator(".status-pill")).ToContainText("Finished", playwright.LocatorAssertionsToContainTextOptions{Timeout: new(120_000.0)}))
	lines := page.Locator(".pc-lines path")
	require.NoError(t, expect().Locator(lines).ToHaveCount(4))
	require.NoError(t, expect().Locator(page.Locator("#runs tbody tr")).ToHaveCount(4))
	runColors(t, page)
	lowest := page.Locator(`[data-axis="accuracy"][data-end="low"]`)
	require.NoError(t, lowest.Focus())
	for range 5 { // halfway up
		require.NoError(t, page.Keyboard().Press("PageUp"))
	}
	holds(t, page.Locator("[data-parallel] [data-say]"), "of 4 runs selected")
	require.NoError(t, expect().Locator(page.Locator(".pc-lines path[data-off]")).Not().ToHaveCount(0))
	click(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Show all runs"}))
	require.NoError(t, expect().Locator(page.Locator(".pc-lines path[data-off]")).ToHaveCount(0))
	click(t, page.Locator("[data-parallel] summary"))
	require.NoError(t, expect().Locator(page.Locator("[data-parallel] tbody tr")).ToHaveCount(4))
	require.NoError(t, page.Mouse().Move(0, 0)) // a pointer over the plot would select the run below it
	require.NoError(t, page.Locator("[data-history] [data-plot] svg").Focus())
	require.NoError(t, page.Keyboard().Press("Home"))
	holds(t, page.Locator("[data-history] [data-say]"), "Run 1")
	_, err := page.Evaluate(`scrollTo(0, 0)`) // the header covers half of a button at some positions
	require.NoError(t, err)
	audit(t, page)
	noSidewaysScroll(t, page)

	best := page.Locator("#runs tbody tr").First()
	rate, err := best.Locator("td.num").Nth(1).TextContent()
	require.NoError(t, err)
	require.NotEmpty(t, rate)
	click(t, best.Locator("a"))
	require.NoError(t, expect().Page(page).ToHaveURL(regexp.MustCompile("/executions/[0-9a-f-]+$")))
	click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Sweep of digits.train"}))
	click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Launch the best again"}))
	holds(t, page.Locator(".notice").First(), "Filled in from")
	hasValue(t, input(page, "epochs"), "2")
	launchNow(t, page)
}

// runColors reads how the page of a sweep marks its runs: a run has one color in the table and in all
// drawings. Only the best run has a color among ranks, and the one that the reader points at.
func runColors(t *testing.T, page playwright.Page) {
	t.Helper()
	row := page.Locator("#runs tbody tr").Last()
	id, err := row.GetAttribute("data-run")
	require.NoError(t, err)
	index, err := page.Evaluate(`async (id) => (await (await fetch(document.querySelector("[data-plots]").dataset.plots)).json()).ids.indexOf(id)`, id)
	require.NoError(t, err)
	color := func(l playwright.Locator, property string) string {
		t.Helper()
		value, err := l.Evaluate(`(element, property) => getComputedStyle(element.querySelector("path") ?? element)[property]`, property)
		require.NoError(t, err)
		return value.(string)
	}
	swatch, mark := color(row.Locator(".swatch"), "stroke"), fmt.Sprintf(`[data-row="%v"]`, index)
	own := page.Locator(".pc-lines " + mark)
	require.Equal(t, swatch, color(own, "stroke"), "few runs have their own colors")
	require.Equal(t, color(row.Locator(".swatch"), "strokeDasharray"), color(own, "strokeDasharray"))
	require.Equal(t, swatch, color(page.Locator("[data-points]:not([data-history]) "+mark), "fill"))
	require.Equal(t, swatch, color(page.Locator("[data-history] "+mark), "fill"))

	require.NoError(t, page.Locator(`[data-color][value="rank"]`).Check())
	require.Contains(t, page.URL(), "color=rank")
	require.NotEqual(t, swatch, color(own, "stroke"), "a shade of gray stands for a rank")
	require.NoError(t, row.Hover())
	require.NoError(t, expect().Locator(own).ToHaveAttribute("data-pointed", ""))
	require.Equal(t, swatch, color(own, "stroke"))
	require.Equal(t, swatch, color(page.Locator("[data-history] .pts-focus"), "stroke"))
	require.NoError(t, page.Locator("h1").Hover())
	counts(t, page.Locator("[data-pointed]"), 0)
	require.NoError(t, page.Mouse().Move(0, 0)) // a pointer over the plot would select the run below it
	require.NoError(t, page.Locator("[data-history] [data-plot] svg").Focus())
	require.NoError(t, page.Keyboard().Press("Home"))
	counts(t, page.Locator("#runs tr[data-on]"), 1)
	_, err = page.Reload()
	require.NoError(t, err)
	require.NoError(t, expect().Locator(page.Locator(`[data-color][value="rank"]`)).ToBeChecked())
	require.NoError(t, page.Locator(`[data-color][value="run"]`).Check())
}

// TestASweepWithoutScripts: the form varies inputs, and a refused value stays.
func TestASweepWithoutScripts(t *testing.T) {
	t.Parallel()
	page := open(t, options{noScript: true, width: 390, tolerates: []string{"422"}})
	visit(t, page, "/workflows/digits.train/launch")
	click(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Sweep inputs"}))
	require.NoError(t, page.Locator("#many-on-epochs").Check())
	fill(t, page.Locator(`[name="sweep.from.epochs"]`), "5")
	fill(t, page.Locator(`[name="sweep.to.epochs"]`), "2")
	click(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Check again"}))
	holds(t, page.Locator(".error-summary"), "It must be greater than")
	hasValue(t, page.Locator(`[name="sweep.to.epochs"]`), "2")
	noSidewaysScroll(t, page)
}
