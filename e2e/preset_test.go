package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// TestAPreset is saved from the launch form with the keyboard, becomes the default, fills in the
// form of a later version as far as it fits, and is deleted.
func TestAPreset(t *testing.T) {
	t.Parallel()
	path := formWorkflow(t, "presets")
	page := open(t, options{})
	visit(t, page, path)
	fill(t, input(page, "data"), "letters@3")
	fill(t, input(page, "epochs"), "150")
	summary := page.GetByText("Save as preset…")
	require.NoError(t, summary.Focus())
	require.NoError(t, page.Keyboard().Press("Enter"))
	fill(t, page.Locator("#preset-name"), "thorough")
	_, err := page.Locator("#preset-sharing").SelectOption(playwright.SelectOptionValues{Values: &[]string{"project"}})
	require.NoError(t, err)
	require.NoError(t, page.GetByText("Make it my default").Check())
	audit(t, page)
	require.NoError(t, button(page, "Save preset").Press("Enter"))
	holds(t, page.Locator(".notice").First(), "The preset “thorough” was saved.")
	require.NoError(t, expect().Locator(page.Locator(".notice").First()).ToBeFocused())
	hasValue(t, input(page, "epochs"), "150")

	next := open(t, options{})
	visit(t, next, path)
	holds(t, next.Locator(".notice").First(), "Filled in from the preset “thorough”.")
	hasValue(t, input(next, "epochs"), "150")
	id := launchNow(t, next)
	require.Equal(t, 150.0, shared.server.inputsOf(t, id)["epochs"])

	changed := strings.NewReplacer("forms.NAME", "forms.presets", "version: 1.0.0", "version: 2.0.0", "max=200", "max=100", "- {name: wait, type: Duration, default: 90s}", "- {name: seed, type: Integer, default: 7}").Replace(formDocument)
	document, err := yaml.YAMLToJSON([]byte(changed))
	require.NoError(t, err)
	shared.server.api(t, http.MethodPost, "/workflows", json.RawMessage(document), nil)
	later := open(t, options{})
	visit(t, later, path)
	notice := later.Locator(".notice").First()
	holds(t, notice, "2 values no longer fit version 2.0.0 and were left out")
	holds(t, notice, "Epochs: 150 is more than 100.")
	holds(t, notice, "wait: this version does not have this input.")
	holds(t, notice, "New since version 1.0.0: seed.")
	hasValue(t, input(later, "epochs"), "20")
	hasValue(t, input(later, "data"), "letters@3")
	audit(t, later)

	click(t, later.GetByText("Manage"))
	click(t, later.GetByText("thorough").First())
	audit(t, later)
	fill(t, later.Locator("#preset-name"), "careful")
	click(t, button(later, "Save changes"))
	holds(t, later.Locator("h1"), "careful")
	deletes(t, later, "preset")
	visible(t, later.GetByText("No presets yet"))
	audit(t, later)
	noSidewaysScroll(t, later)
}
