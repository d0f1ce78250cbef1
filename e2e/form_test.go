package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

const formDocument = `
name: forms.NAME
version: 1.0.0
description: Inputs of many kinds
inputs:
  - {name: epochs, type: "Integer(min=1, max=200)", default: 20}
  - {name: rate, type: "Float(min=1e-5, max=0.1, log=true)", default: 0.001}
  - {name: wait, type: Duration, default: 90s}
  - {name: data, type: "Dataset(columns=[label: Integer, image: String])"}
  - {name: layers, type: "List<Struct{width: Integer(min=1) = 64, act: Enum(relu, gelu) = relu}>", default: [{width: 8, act: gelu}]}
  - {name: shape, type: "Union<dense: List<Integer> | named: Struct{name: String}>", default: {$type: dense, value: [1]}}
  - {name: marks, type: "List<Enum(red, green, blue)>", default: [red]}
  - {name: weights, type: "Map<String, Float>", default: {a: 1}}
  - {name: city, type: "Enum(amsterdam, berlin, cairo, delhi, edinburgh, florence, geneva, helsinki, istanbul, jakarta, kyoto, lagos)", default: berlin}
  - {name: labels, type: "File?"}
operators:
  - {name: nothing, type: noop, outputs: []}
`

// formWorkflow registers the workflow of this story and the dataset that it requires.
func formWorkflow(t *testing.T, name string) string {
	t.Helper()
	document, err := yaml.YAMLToJSON([]byte(strings.Replace(formDocument, "forms.NAME", "forms."+name, 1)))
	require.NoError(t, err)
	shared.server.api(t, http.MethodPost, "/workflows", json.RawMessage(document), nil)
	shared.server.api(t, http.MethodPost, "/datasets", map[string]any{
		"name": "letters", "version": "3", "rows": 26, "columns": []map[string]any{{"name": "label", "dtype": "Integer"}},
	}, nil)
	return "/workflows/forms." + name + "/launch"
}

// pressable returns a button by the name and value that it sends.
func pressable(page playwright.Page, name, value string) playwright.Locator {
	return page.Locator(`button[name="` + name + `"][value="` + value + `"]`)
}

// TestFormWithScript fills in every composite widget and launches the values shown.
func TestFormWithScript(t *testing.T) {
	t.Parallel()
	path := formWorkflow(t, "script")
	page := open(t, options{})
	visit(t, page, path)
	visible(t, page.Locator(`[role=combobox][id="f-data"]`))

	fill(t, input(page, "data"), "lett")
	click(t, page.GetByRole("option", playwright.PageGetByRoleOptions{Name: "letters@3"}))
	hasValue(t, input(page, "data"), "letters@3")
	holds(t, page.Locator(`[data-preview]`).First(), "1 column does not match")
	require.NoError(t, input(page, "data").Blur())
	click(t, input(page, "data")) // offers the other entries, too
	visible(t, page.GetByRole("option", playwright.PageGetByRoleOptions{Name: "uci-digits@1"}))
	require.NoError(t, input(page, "data").Press("Escape"))

	click(t, pressable(page, "$add", "inputs.layers"))
	require.NoError(t, expect().Locator(input(page, "layers.1.width")).ToBeFocused())
	fill(t, input(page, "layers.1.width"), "32")
	click(t, pressable(page, "$up", "inputs.layers.1"))
	hasValue(t, input(page, "layers.0.width"), "32")

	click(t, page.Locator(`label:has(> input[value="named"])`))
	require.NoError(t, expect().Locator(page.Locator(`[name="inputs.shape.dense.0"]`)).ToBeHidden())
	fill(t, input(page, "shape.named.name"), "square")

	_, err := page.Locator(`select[name="inputs.marks.$new"]`).SelectOption(playwright.SelectOptionValues{Values: &[]string{"blue"}})
	require.NoError(t, err)
	click(t, pressable(page, "$remove", "inputs.marks.0"))

	click(t, pressable(page, "$add", "inputs.weights"))
	fill(t, input(page, "weights.1.$key"), "b")
	fill(t, input(page, "weights.1.$value"), "2.5")

	city := page.Locator(`[id="f-city"]`)
	fill(t, city, "kyo")
	press(t, page, "ArrowDown", "Enter")
	hasValue(t, city, "kyoto")

	fill(t, input(page, "wait"), "1 h 5 min")
	holds(t, page.Locator("[data-readable]"), "= 3,900 s")
	_, err = page.Evaluate(`() => { const s = document.querySelector("[data-slider='f-rate']"); s.value = 500; s.dispatchEvent(new Event("input", {bubbles: true})); }`)
	require.NoError(t, err)
	hasValue(t, input(page, "rate"), "0.001")

	require.NoError(t, page.Locator(`[id="f-labels"]`).SetInputFiles([]playwright.InputFile{{Name: "labels.csv", MimeType: "text/csv", Buffer: []byte("a,b\n")}}))
	holds(t, page.Locator("[data-stored]"), "labels.csv")
	accepted(t, page)

	id := launchNow(t, page)
	got := shared.server.inputsOf(t, id)
	require.Equal(t, map[string]any{"$catalogue": "letters@3"}, got["data"])
	require.Equal(t, []any{map[string]any{"width": 32.0, "act": "relu"}, map[string]any{"width": 8.0, "act": "gelu"}}, got["layers"])
	require.Equal(t, map[string]any{"$type": "named", "name": "square"}, got["shape"])
	require.Equal(t, []any{"blue"}, got["marks"])
	require.Equal(t, map[string]any{"a": 1.0, "b": 2.5}, got["weights"])
	require.Equal(t, "kyoto", got["city"])
	require.Equal(t, "PT1H5M", got["wait"])
	require.Equal(t, "labels.csv", got["labels"].(map[string]any)["name"])

	visit(t, page, path+"?from="+id)
	hasValue(t, input(page, "layers.0.width"), "32")
	holds(t, page.Locator("[data-stored]"), "labels.csv")
	hasValue(t, city, "kyoto")
}

// TestFormWithoutScript does the same with buttons and one request each.
func TestFormWithoutScript(t *testing.T) {
	t.Parallel()
	path := formWorkflow(t, "plain")
	page := open(t, options{noScript: true, width: 390, tolerates: []string{"422"}})
	visit(t, page, path)
	noSidewaysScroll(t, page)
	fill(t, input(page, "data"), "letters@3")
	click(t, pressable(page, "$add", "inputs.layers"))
	require.NoError(t, expect().Locator(input(page, "layers.1.width")).ToBeFocused())
	fill(t, input(page, "layers.1.width"), "wide")
	click(t, pressable(page, "$down", "inputs.layers.0"))
	hasValue(t, input(page, "layers.0.width"), "wide")

	_, err := page.Locator(`select[name="inputs.marks.$new"]`).SelectOption(playwright.SelectOptionValues{Values: &[]string{"green"}})
	require.NoError(t, err)
	click(t, pressable(page, "$add", "inputs.marks"))
	click(t, pressable(page, "$remove", "inputs.marks.0"))

	file := filepath.Join(t.TempDir(), "labels.csv")
	require.NoError(t, os.WriteFile(file, []byte("a,b\n"), 0o600))
	require.NoError(t, page.Locator(`[id="f-labels"]`).SetInputFiles(file))
	click(t, page.Locator(".launchbar button.btn-primary"))
	holds(t, page.Locator(".error-summary"), "Nothing was launched: 1 value needs attention")
	require.NoError(t, expect().Locator(page.Locator(".error-summary")).ToBeFocused())
	hasValue(t, input(page, "layers.0.width"), "wide")
	holds(t, page.Locator("[data-stored]"), "labels.csv")

	fill(t, input(page, "layers.0.width"), "5")
	click(t, page.Locator(".launchbar button.btn-primary"))
	got := shared.server.inputsOf(t, arrived(t, page))
	require.Equal(t, []any{map[string]any{"width": 5.0, "act": "relu"}, map[string]any{"width": 8.0, "act": "gelu"}}, got["layers"])
	require.Equal(t, []any{"green"}, got["marks"])
	require.Equal(t, "labels.csv", got["labels"].(map[string]any)["name"])
}

// TestFormAsJSON pastes JSON into the YAML view, and switches back to the form.
func TestFormAsJSON(t *testing.T) {
	t.Parallel()
	path := formWorkflow(t, "json")
	page := open(t, options{tolerates: []string{"422"}})
	visit(t, page, path)
	fill(t, input(page, "data"), "letters@3")
	fill(t, input(page, "epochs"), "many")
	click(t, pressable(page, "$view", "yaml"))
	area := page.Locator(`textarea[name="$yaml"]`)
	visible(t, area)
	text, err := area.InputValue()
	require.NoError(t, err)
	require.Contains(t, text, "epochs: many")

	paste := func(layers any) {
		var launch map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(text), &launch))
		launch["inputs"] = map[string]any{"epochs": 7, "data": "letters@3", "shape": map[string]any{"$type": "named", "name": "x"}, "layers": layers}
		pasted, err := json.MarshalIndent(launch, "", "  ")
		require.NoError(t, err)
		fill(t, area, string(pasted))
		click(t, button(page, "Apply to the form"))
	}
	paste("none")
	holds(t, page.Locator(".error-summary"), "The form cannot show these values")
	paste([]any{})
	hasValue(t, input(page, "epochs"), "7")
	hasValue(t, input(page, "shape.named.name"), "x")
	counts(t, page.Locator(`[name^="inputs.layers."][name$=".width"]`), 0)

	click(t, pressable(page, "$view", "cli"))
	holds(t, page.Locator("#launch-command"), "-i epochs=7")
	click(t, pressable(page, "$view", "form"))
	got := shared.server.inputsOf(t, launchNow(t, page))
	require.Equal(t, 7.0, got["epochs"])
	require.Equal(t, []any{}, got["layers"])
}

// TestFormErrors: the summary gets the focus and links to the fields, and the values are
// kept; two quick presses launch once.
func TestFormErrors(t *testing.T) {
	t.Parallel()
	path := formWorkflow(t, "errors")
	page := open(t, options{tolerates: []string{"422"}})
	visit(t, page, path)
	fill(t, input(page, "epochs"), "900")
	fill(t, input(page, "layers.0.width"), "-1")
	click(t, page.Locator(".launchbar button.btn-primary"))
	require.NoError(t, expect().Locator(page.Locator(".error-summary")).ToBeFocused())
	holds(t, page.Locator(".error-summary"), "3 values need attention")
	audit(t, page)
	click(t, page.Locator(".error-summary a").First())
	require.NoError(t, expect().Locator(input(page, "epochs")).ToBeFocused())
	hasValue(t, input(page, "epochs"), "900")
	fill(t, input(page, "epochs"), "9")
	fill(t, input(page, "layers.0.width"), "1")
	fill(t, input(page, "data"), "letters@3")
	require.NoError(t, page.Locator(".launchbar button.btn-primary").Dblclick())
	arrived(t, page)
	require.Equal(t, 1, shared.server.executionCount(t, "forms.errors"))
}

// TestFormIsForEveryone: axe has no findings in either theme, and nothing scrolls
// sideways at 320 px.
func TestFormIsForEveryone(t *testing.T) {
	t.Parallel()
	path := formWorkflow(t, "everyone")
	for _, o := range []options{{}, {dark: true}, {width: 390}, {width: 320, dark: true}} {
		page := open(t, o)
		for _, p := range []string{path, "/workflows/tour.widgets/launch"} {
			visit(t, page, p)
			noSidewaysScroll(t, page)
			audit(t, page)
		}
		click(t, pressable(page, "$view", "yaml"))
		visible(t, page.Locator(`textarea[name="$yaml"]`))
		audit(t, page)
	}
}
