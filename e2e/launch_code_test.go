package e2e

import (
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// tab opens a view of the launch form.
func tab(t *testing.T, page playwright.Page, view string) {
	t.Helper()
	click(t, page.Locator(`.tabs button[value="`+view+`"]`))
	require.NoError(t, expect().Locator(page.Locator(`.tabs button[value="`+view+`"]`)).ToHaveAttribute("aria-current", "true"))
}

// TestTheLaunchAsText: the same launch as YAML, Python and commands. The YAML is edited: errors are
// at their lines, nothing is lost, and the form takes the values.
func TestTheLaunchAsText(t *testing.T) {
	t.Parallel()
	path := formWorkflow(t, "text")
	for _, o := range []options{{}, {width: 390, dark: true}} {
		o.tolerates = []string{"422"}
		page := open(t, o)
		visit(t, page, path)
		fill(t, input(page, "data"), "letters@3")
		fill(t, input(page, "epochs"), "77")
		fill(t, page.Locator("#execution-name"), "as text")

		tab(t, page, "python")
		holds(t, page.Locator("#launch-python"), `name="as text"`)
		holds(t, page.Locator("#launch-python"), `"epochs": 77`)
		fill(t, page.Locator("#execution-name"), "renamed")
		holds(t, page.Locator("#launch-python"), `name="renamed"`)
		audit(t, page)
		tab(t, page, "cli")
		holds(t, page.Locator("#launch-command"), "-i epochs=77")
		holds(t, page.Locator("#launch-curl"), `"epochs": 77`)
		audit(t, page)
		noSidewaysScroll(t, page)

		tab(t, page, "yaml")
		text, err := page.Locator("#launch-yaml").InputValue()
		require.NoError(t, err)
		require.Contains(t, text, "  data: letters@3\n")
		wrong := strings.Replace(text, "epochs: 77", "epochs: many # of them", 1)
		fill(t, page.Locator("#launch-yaml"), wrong)
		problem := page.Locator("#launch-code a")
		holds(t, problem.First(), "Epochs: ")
		click(t, problem.First())
		selected, err := page.Evaluate(`() => { const e = document.activeElement; return e.value.slice(e.selectionStart, e.selectionEnd); }`)
		require.NoError(t, err)
		require.Equal(t, "  epochs: many # of them", selected)
		audit(t, page)
		noSidewaysScroll(t, page)

		click(t, button(page, "Check again"))
		visible(t, page.Locator(".error-summary"))
		hasValue(t, page.Locator("#launch-yaml"), wrong)

		fill(t, page.Locator("#launch-yaml"), strings.Replace(text, "epochs: 77", "epochs: 5", 1))
		click(t, button(page, "Apply to the form"))
		hasValue(t, input(page, "epochs"), "5")
		hasValue(t, page.Locator("#execution-name"), "renamed")
		id := launchNow(t, page)
		require.Equal(t, 5.0, shared.server.inputsOf(t, id)["epochs"])
	}
}
