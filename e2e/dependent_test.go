package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/expression"
)

const dependentDocument = `
name: forms.dependent
version: 1.0.0
inputs:
  - {name: kind, type: "Enum(svc, forest)", default: svc}
  - {name: kernel, type: "Enum(rbf, linear)", show_if: kind == "svc"}
  - {name: gamma, type: Float, default: 0.5, show_if: kernel == "rbf"}
  - {name: depth, type: Integer, required_if: kind == "forest"}
  - {name: rows, type: Integer, default: 1000}
  - {name: batch, type: Integer, default: 32, min: "1", max: rows / 10}
  - {name: loss, type: "Enum(hinge, gini, entropy)", default: hinge, options: 'kind == "svc" ? ["hinge"] : ["gini", "entropy"]'}
  - {name: tags, type: "List<String>", default: [a]}
  - {name: many, type: String, default: x, show_if: len(tags) > 1}
operators:
  - {name: nothing, type: noop, outputs: []}
`

// TestInputsDependOnEachOther: fields appear while the user types, without a request; a hidden
// value stays in the form and is not launched; messages name the field.
func TestInputsDependOnEachOther(t *testing.T) {
	t.Parallel()
	document, err := yaml.YAMLToJSON([]byte(dependentDocument))
	require.NoError(t, err)
	shared.server.api(t, http.MethodPost, "/workflows", json.RawMessage(document), nil)
	for _, o := range []options{{tolerates: []string{"ERR_FAILED"}}, {width: 390, dark: true, tolerates: []string{"ERR_FAILED"}}} {
		page := open(t, o)
		page.SetDefaultTimeout(20_000)
		visit(t, page, "/workflows/forms.dependent/launch")
		field := func(name string) playwright.Locator { return page.Locator(`[data-field="` + name + `"]`) }
		shown := func(name string, want bool) {
			t.Helper()
			if want {
				require.NoError(t, expect().Locator(field(name)).ToBeVisible())
			} else {
				require.NoError(t, expect().Locator(field(name)).ToBeHidden())
			}
		}
		shown("kernel", true)
		shown("gamma", false)
		shown("many", false)
		require.NoError(t, page.Route("**/launch", func(r playwright.Route) { _ = r.Abort() })) // no answer of the server
		require.NoError(t, page.GetByText("rbf", playwright.PageGetByTextOptions{Exact: new(true)}).Click())
		shown("gamma", true)
		require.NoError(t, page.Unroute("**/launch"))
		fill(t, input(page, "gamma"), "0.125")
		fill(t, input(page, "rows"), "100")
		holds(t, field("batch"), "With these values: 1 to 10.")
		audit(t, page)
		require.NoError(t, page.GetByText("forest", playwright.PageGetByTextOptions{Exact: new(true)}).Click())
		shown("kernel", false)
		shown("gamma", false) // its rule reads a hidden field
		shown("depth", true)
		require.NoError(t, expect().Locator(field("depth").Locator("[data-optional]")).ToBeHidden())
		require.NoError(t, expect().Locator(page.GetByText("hinge", playwright.PageGetByTextOptions{Exact: new(true)})).ToBeVisible()) // the chosen one stays
		holds(t, page.Locator("#launch-check"), "not allowed with these values")
		require.NoError(t, page.GetByText("gini", playwright.PageGetByTextOptions{Exact: new(true)}).Click())
		fill(t, input(page, "depth"), "4")
		fill(t, input(page, "batch"), "11")
		holds(t, page.Locator("#launch-check"), "11 is more than 10")
		fill(t, input(page, "batch"), "10")
		click(t, pressable(page, "$add", "inputs.tags"))
		fill(t, input(page, "tags.1"), "b")
		shown("many", true) // a rule that only the server reads
		accepted(t, page)
		audit(t, page)
		noSidewaysScroll(t, page)

		require.NoError(t, page.GetByText("svc", playwright.PageGetByTextOptions{Exact: new(true)}).Click())
		hasValue(t, input(page, "gamma"), "0.125")
		require.NoError(t, page.GetByText("forest", playwright.PageGetByTextOptions{Exact: new(true)}).Click())
		accepted(t, page)
		id := launchNow(t, page)
		inputs := shared.server.inputsOf(t, id)
		require.Nil(t, inputs["kernel"])
		require.Equal(t, 0.5, inputs["gamma"], "the hidden value was launched")
		require.Equal(t, 4.0, inputs["depth"])
	}
}

const differentDocument = `
name: forms.different
version: 1.0.0
inputs:
  - {name: n, type: Float, default: 9}
  - {name: small, type: Integer, default: 1, show_if: 0 < n < 5}
  - {name: text, type: String, default: x, required: false}
  - {name: filled, type: Integer, default: 1, show_if: text != ""}
  - {name: spaced, type: Integer, default: 1, show_if: text == " a"}
  - {name: code, type: "String(pattern=\"[a-z]+\")", default: a}
  - {name: coded, type: Integer, default: 1, show_if: code != nil}
  - {name: limit, type: "Optional<Integer>", default: 5}
  - {name: limited, type: Integer, default: 1, show_if: limit != nil}
operators:
  - {name: nothing, type: noop, outputs: []}
`

// TestTheServerDecidesWhichFieldsApply: the browser reads text and empty controls as the server
// does, and where it cannot, the answer of the server replaces what the browser found.
func TestTheServerDecidesWhichFieldsApply(t *testing.T) {
	t.Parallel()
	document, err := yaml.YAMLToJSON([]byte(differentDocument))
	require.NoError(t, err)
	shared.server.api(t, http.MethodPost, "/workflows", json.RawMessage(document), nil)
	page := open(t, options{tolerates: []string{"ERR_FAILED"}})
	page.SetDefaultTimeout(20_000)
	visit(t, page, "/workflows/forms.different/launch")
	field := func(name string) playwright.Locator { return page.Locator(`[data-field="` + name + `"]`) }
	require.NoError(t, expect().Locator(field("coded")).ToBeVisible())
	require.NoError(t, expect().Locator(field("small")).ToBeHidden())

	fill(t, input(page, "n"), "3")
	require.NoError(t, expect().Locator(field("small")).ToBeVisible()) // only the server reads the chain
	fill(t, input(page, "n"), "7")
	require.NoError(t, expect().Locator(field("small")).ToBeHidden())
	fill(t, input(page, "code"), "9")
	require.NoError(t, expect().Locator(field("coded")).ToBeHidden()) // an invalid value is none
	fill(t, input(page, "code"), "b")
	require.NoError(t, expect().Locator(field("coded")).ToBeVisible())
	accepted(t, page)

	require.NoError(t, page.Route("**/launch", func(r playwright.Route) { _ = r.Abort() })) // no answer of the server
	fill(t, input(page, "text"), " a")
	require.NoError(t, expect().Locator(field("spaced")).ToBeVisible())
	fill(t, input(page, "text"), "")
	require.NoError(t, expect().Locator(field("filled")).ToBeHidden())
	fill(t, input(page, "limit"), "")
	require.NoError(t, expect().Locator(field("limited")).ToBeHidden())
	require.NoError(t, page.Unroute("**/launch"))
	fill(t, input(page, "n"), "8")
	accepted(t, page)
	inputs := shared.server.inputsOf(t, launchNow(t, page))
	require.Empty(t, inputs["text"])
	require.Nil(t, inputs["limit"])
}

// TestAValueBeforeTheScriptsOfTheForm is checked as soon as they run.
func TestAValueBeforeTheScriptsOfTheForm(t *testing.T) {
	t.Parallel()
	document, err := yaml.YAMLToJSON([]byte(strings.Replace(differentDocument, "forms.different", "forms.early", 1)))
	require.NoError(t, err)
	shared.server.api(t, http.MethodPost, "/workflows", json.RawMessage(document), nil)
	page := open(t, options{})
	typed := make(chan struct{})
	require.NoError(t, page.Route("**/js/forms/main.js", func(r playwright.Route) {
		<-typed
		_ = r.Continue()
	}))
	visit(t, page, "/workflows/forms.early/launch")
	fill(t, input(page, "n"), "3")
	close(typed)
	visible(t, page.Locator(`[data-field="small"]`))
}

// TestBrowsersReadRulesAsTheServer evaluates the same expressions with both.
func TestBrowsersReadRulesAsTheServer(t *testing.T) {
	t.Parallel()
	env := map[string]any{"kind": "svc", "n": 12, "lr": 0.5, "none": nil, "on": true, "off": false, "s": "a'b\"c"}
	known := []string{
		`kind == "svc"`, `kind == 'svc' and on`, `kind != "svc" || off`, `not on`, `!(on && off)`, `n > 10`, `n >= 12 and n <= 12.0`, `lr * n + 1`, `n / 5`, `n - 2 - 3`,
		`n / 2 / 3`, `-n + 1`, `1 + 2 * 3 - 4`, `(1 + 2) * 3`, `kind in ["svc", "forest"]`, `n not in [1, 2]`, `none ?? 3`, `(none ?? 0) > 1`, `1 < none ?? 2`, `none == nil`, `kind == nil`,
		`n > 10 ? "big" : n > 5 ? "middle" : "small"`, `kind startsWith "s"`, `kind endsWith "c" and kind contains "v"`, `len(kind)`, `len([1, 2, 3]) == 3`, `inputs.kind == "svc"`,
		`"a" + kind`, `["x", kind]`, `s == "a'b\"c"`, `n == 12.0`, `"1" == 1`, `[1, 2] == [1, 2]`, `on or none > 1`, `off and none > 1`, `1e2`, `none ?? -1`, `not off and off`, `true == !false`,
	}
	failing := []string{`none > 1`, `kind > 1`, `n and on`, `kind + 1`, `not n`, `n contains "1"`, `len(n)`, `-kind`}
	unknown := []string{`kind matches "s.*"`, `upper(kind)`, `[1, 2][0]`, `{"a": 1}`, `any([1], # > 0)`, `n % 5`, `n ** 2`, `1..3`, `kind.x`, `kind ==`, `let x = 1; x`, `"a\n"`, `n | int`, `0 < n < 20`, `(n > 1) > 0 >= n`}
	page := open(t, options{})
	visit(t, page, "/workflows")
	answer, err := page.Evaluate(`async ([env, texts]) => {
		const { parse } = await import("/static/js/forms/expression.js");
		const read = (name) => env[name] ?? null;
		return JSON.stringify(texts.map((text) => {
			const evaluate = parse(text);
			if (!evaluate) return { unknown: true };
			try { return { value: evaluate(read) }; } catch { return { failed: true }; }
		}));
	}`, []any{env, append(append(append([]string{}, known...), failing...), unknown...)})
	require.NoError(t, err)
	var got []struct {
		Unknown, Failed bool
		Value           any
	}
	require.NoError(t, json.Unmarshal([]byte(answer.(string)), &got))
	env["inputs"] = map[string]any{"kind": "svc"}
	for i, text := range append(append([]string{}, known...), failing...) {
		parsed, err := expression.Parse(text)
		require.NoError(t, err, text)
		v, err := parsed.Value(env)
		require.False(t, got[i].Unknown, text)
		require.Equal(t, err != nil, got[i].Failed, "%s: %v", text, err)
		if err != nil {
			continue
		}
		want, err := json.Marshal(v)
		require.NoError(t, err)
		have, err := json.Marshal(got[i].Value)
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(have), text)
	}
	for i, text := range unknown {
		require.True(t, got[len(known)+len(failing)+i].Unknown, text)
	}
}
