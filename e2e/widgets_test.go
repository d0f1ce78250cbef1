package e2e

import (
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// TestWidgetsOfTheTour: dates, times with their zone, nested lists and hyperparameters of
// the tour are launched as entered.
func TestWidgetsOfTheTour(t *testing.T) {
	t.Parallel()
	page := open(t, options{})
	visit(t, page, "/workflows/tour.widgets/launch")
	fill(t, input(page, "title"), "Every widget")
	fill(t, input(page, "as_of"), "2026-02-28")
	fill(t, input(page, "starts"), "2026-03-01T08:30")
	fill(t, input(page, "starts.$zone"), "Europe/Helsinki")
	fill(t, input(page, "patience"), "2 h 5 min")
	holds(t, page.Locator("[data-readable]"), "= 7,500 s")
	require.NoError(t, input(page, "window.$set").Check())
	fill(t, input(page, "window.from"), "2026-01-01")
	fill(t, input(page, "window.to"), "2026-01-31")
	click(t, radio(page, "layers.$type", "blocks"))
	click(t, pressable(page, "$add", "inputs.layers.blocks"))
	fill(t, input(page, "layers.blocks.0"), "conv")
	click(t, pressable(page, "$down", "inputs.augmentations.0"))
	hasValue(t, input(page, "augmentations.1.magnitude"), "12")
	click(t, pressable(page, "$remove", "inputs.class_weights.0"))
	fill(t, input(page, "hyperparameters.dropout"), "0.4")
	fill(t, input(page, "data"), "uci")
	click(t, page.Locator(".listbox").GetByRole("option", playwright.LocatorGetByRoleOptions{Name: "uci-digits@1"}).First())
	accepted(t, page)

	id := launchNow(t, page)
	got := shared.server.inputsOf(t, id)
	require.Equal(t, "2026-02-28", got["as_of"])
	require.Equal(t, "2026-03-01T08:30:00+02:00", got["starts"])
	require.Equal(t, "PT2H5M", got["patience"])
	require.Equal(t, map[string]any{"from": "2026-01-01", "to": "2026-01-31"}, got["window"])
	require.Equal(t, map[string]any{"$type": "blocks", "value": []any{"conv"}}, got["layers"])
	require.Equal(t, map[string]any{"9": 1.5}, got["class_weights"])
	require.Equal(t, 0.4, got["hyperparameters"].(map[string]any)["dropout"])
	require.Equal(t, map[string]any{"$catalogue": "uci-digits@1"}, got["data"])
	visible(t, headState(page, "SUCCEEDED"))
}
