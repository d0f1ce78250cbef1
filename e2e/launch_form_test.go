package e2e

import (
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// TestLeavingTheLaunchFormLosesNothing: values return after leaving the form, after a reload and
// by Back after a launch; a later visit starts from the defaults.
func TestLeavingTheLaunchFormLosesNothing(t *testing.T) {
	t.Parallel()
	path := formWorkflow(t, "drafts")
	page := open(t, options{tolerates: []string{"422"}})
	visit(t, page, path)
	fill(t, input(page, "data"), "letters@3")
	fill(t, input(page, "epochs"), "77")
	click(t, pressable(page, "$add", "inputs.weights"))
	fill(t, input(page, "weights.1.$key"), "b")
	fill(t, input(page, "weights.1.$value"), "2.5")
	accepted(t, page)

	visit(t, page, "/workflows") // leaves the form
	visit(t, page, path)
	holds(t, page.Locator(".notice").First(), "Your values from this tab were restored.")
	hasValue(t, input(page, "epochs"), "77")
	hasValue(t, input(page, "weights.1.$value"), "2.5")
	_, err := page.Reload()
	require.NoError(t, err)
	hasValue(t, input(page, "epochs"), "77")

	fill(t, input(page, "epochs"), "many")
	click(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Launch", Exact: new(true)}))
	visible(t, page.Locator(".error-summary"))
	visible(t, page.Locator(`[role=combobox][id="f-data"]`)) // the script of the answer has kept its values
	visit(t, page, "/workflows")                             // leaves the form with its error
	visit(t, page, path)
	hasValue(t, input(page, "epochs"), "many")
	fill(t, input(page, "epochs"), "77")

	id := launchNow(t, page)
	_, err = page.GoBack()
	require.NoError(t, err)
	hasValue(t, input(page, "epochs"), "77")
	hasValue(t, input(page, "weights.1.$key"), "b")
	accepted(t, page)
	again := launchNow(t, page) // a new launch, not the first one once more
	require.NotEqual(t, id, again)
	require.Equal(t, 77.0, shared.server.inputsOf(t, again)["epochs"])

	visit(t, page, path)
	visible(t, page.Locator("#launch-status"))
	hasValue(t, input(page, "epochs"), "20")
}

// TestStatementsAboutDefaultsEndWithAChange: "all default" and "All values are defaults." are
// gone once a value has changed.
func TestStatementsAboutDefaultsEndWithAChange(t *testing.T) {
	t.Parallel()
	page := open(t, options{})
	visit(t, page, "/workflows/digits.train/launch?input.epochs=20")
	holds(t, page.Locator(".notice").First(), "All values are defaults.")
	holds(t, page.Locator(".hp-foot").First(), "all default")
	fill(t, input(page, "hyperparameters.learning_rate"), "0.02")
	require.NoError(t, expect().Locator(page.Locator(".hp-foot [data-hp-changed]")).ToHaveCount(0))
	require.NoError(t, expect().Locator(page.GetByText("All values are defaults.")).ToHaveCount(0))
}

// TestTheLaunchBarCoversNoFocusedField: every control that Tab reaches is above the bar, and the
// page of the longest form does not shift while it loads.
func TestTheLaunchBarCoversNoFocusedField(t *testing.T) {
	t.Parallel()
	for _, width := range []int{390, 1280} {
		page := open(t, options{width: width})
		require.NoError(t, page.AddInitScript(playwright.Script{Content: new(`window.shift = 0;
			new PerformanceObserver((list) => list.getEntries().forEach((e) => { if (!e.hadRecentInput) window.shift += e.value; })).observe({ type: "layout-shift", buffered: true });`)}))
		visit(t, page, "/workflows/tour.widgets/launch")
		visible(t, page.Locator("[role=combobox]").First())
		shift, err := page.Evaluate(`() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(window.shift))))`)
		require.NoError(t, err)
		require.LessOrEqual(t, number(shift), 0.1, "layout shift at %d px", width)

		var covered []string
		for range 90 {
			press(t, page, "Tab")
			hidden, err := page.Evaluate(`() => {
				const at = document.activeElement, bar = document.querySelector(".launchbar");
				if (!at.closest("[data-launch]") || bar.contains(at) || at.classList.contains("vh")) return "";
				const box = at.getBoundingClientRect();
				return box.height < 300 && box.bottom > bar.getBoundingClientRect().top + 1 ? (at.name || at.id || at.textContent.trim()) : "";
			}`)
			require.NoError(t, err)
			if name := hidden.(string); name != "" {
				covered = append(covered, name)
			}
		}
		require.Empty(t, strings.Join(covered, ", "), "covered by the launch bar at %d px", width)
	}
}

// number is a number of the page, which playwright returns as an int or a float64.
func number(v any) float64 {
	if i, ok := v.(int); ok {
		return float64(i)
	}
	return v.(float64)
}
