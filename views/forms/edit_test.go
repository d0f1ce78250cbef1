package forms_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/forms/formtest"
)

// press submits doc with one of its buttons and returns the resulting form.
func press(t *testing.T, schema typeregistry.Schema, doc *html.Node, button, value string) (*html.Node, string) {
	t.Helper()
	found := formtest.Find(doc, func(n *html.Node) bool {
		return n.Data == "button" && formtest.Attr(n, "name") == button && formtest.Attr(n, "value") == value
	})
	require.Len(t, found, 1, "button %s %s", button, value)
	require.True(t, formtest.Has(found[0], "formnovalidate"))
	sent := formtest.Submit(doc)
	sent.Set(button, value)
	values, focus, pressed := forms.Edit(schema, sent)
	require.True(t, pressed)
	return draw(t, forms.Config{Schema: schema, Values: values, Focus: focus, Today: today}), focus
}

func decode(t *testing.T, schema typeregistry.Schema, doc *html.Node) string {
	t.Helper()
	got, _ := schema.DecodeForm(typeregistry.Form{Values: formtest.Submit(doc)}, forms.Prefix)
	return encodeJSON(t, got)
}

// focused is the name or button value of the control with the focus.
func focused(t *testing.T, doc *html.Node) *html.Node {
	t.Helper()
	found := formtest.Find(doc, func(n *html.Node) bool { return formtest.Has(n, "autofocus") })
	require.Len(t, found, 1, "controls with autofocus")
	return found[0]
}

func TestRowsWithoutScript(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t, map[string]any{"name": "tags", "type": "List<String>", "default": []any{"a", "b", "c"}})
	doc := draw(t, forms.Config{Schema: schema})

	doc, _ = press(t, schema, doc, "$add", "inputs.tags")
	require.Equal(t, "inputs.tags.3", formtest.Attr(focused(t, doc), "name"))
	require.Len(t, formtest.ByName(doc, "inputs.tags.3"), 1)

	doc, _ = press(t, schema, doc, "$remove", "inputs.tags.1")
	require.Equal(t, "inputs.tags.2", formtest.Attr(focused(t, doc), "value"), "the focus moves to the neighbour")

	doc, _ = press(t, schema, doc, "$up", "inputs.tags.2")
	require.Equal(t, "$down", formtest.Attr(focused(t, doc), "name"))
	doc, _ = press(t, schema, doc, "$remove", "inputs.tags.3")
	require.JSONEq(t, `{"tags": ["c", "a"]}`, decode(t, schema, doc))

	doc, _ = press(t, schema, doc, "$down", "inputs.tags.0")
	require.JSONEq(t, `{"tags": ["a", "c"]}`, decode(t, schema, doc))
	doc, _ = press(t, schema, doc, "$remove", "inputs.tags.0")
	doc, _ = press(t, schema, doc, "$remove", "inputs.tags.2")
	require.Equal(t, "$add", formtest.Attr(focused(t, doc), "name"))
	require.JSONEq(t, `{"tags": []}`, decode(t, schema, doc), "a list that was emptied does not fall back to its default")
}

func TestRowsOfStructsTakeDefaults(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t, field("layers", "List<Struct{width: Integer = 64, kind: Enum(relu, gelu) = relu, note: String?}>"))
	doc := draw(t, forms.Config{Schema: schema})
	doc, focus := press(t, schema, doc, "$add", "inputs.layers")
	require.Equal(t, "inputs.layers.0.width", focus)
	require.Equal(t, "64", formtest.Attr(formtest.ByName(doc, "inputs.layers.0.width")[0], "value"))
	require.Equal(t, "relu", formtest.Submit(doc).Get("inputs.layers.0.kind"))
	require.Empty(t, formtest.Submit(doc).Get("inputs.layers.0.note"))
}

func TestNestedRowsWithoutScript(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t, field("grid", "List<List<Integer>>"))
	doc := draw(t, forms.Config{Schema: schema, Values: url.Values{"inputs.grid.0.0": {"1"}, "inputs.grid.1.0": {"2"}}})
	doc, _ = press(t, schema, doc, "$add", "inputs.grid.1")
	require.Equal(t, "inputs.grid.1.1", formtest.Attr(focused(t, doc), "name"))
	doc, _ = press(t, schema, doc, "$up", "inputs.grid.1")
	values := formtest.Submit(doc)
	require.Equal(t, "2", values.Get("inputs.grid.0.0"))
	require.Equal(t, "1", values.Get("inputs.grid.1.0"))
}

func TestTokensWithoutScript(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t, field("acts", "List<Enum(relu, gelu)>"))
	doc := draw(t, forms.Config{Schema: schema})
	sent := formtest.Submit(doc)
	sent.Set("inputs.acts.$new", "gelu")
	sent.Set("$add", "inputs.acts")
	values, _, _ := forms.Edit(schema, sent)
	doc = draw(t, forms.Config{Schema: schema, Values: values})
	require.JSONEq(t, `{"acts": ["gelu"]}`, decode(t, schema, doc))
	doc, _ = press(t, schema, doc, "$remove", "inputs.acts.0")
	require.JSONEq(t, `{"acts": []}`, decode(t, schema, doc))
}

func TestMapRowsAndReset(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t, field("weights", "Map<String, Float>"), field("hp", "HyperparameterSet{lr: Float = 0.1, on: Boolean = true}"))
	doc := draw(t, forms.Config{Schema: schema, Values: url.Values{"inputs.hp.lr": {"nonsense"}, "inputs.hp.on.$bool": {"1"}}})
	require.Equal(t, "nonsense", formtest.Attr(formtest.ByName(doc, "inputs.hp.lr")[0], "value"))

	doc, focus := press(t, schema, doc, "$add", "inputs.weights")
	require.Equal(t, "inputs.weights.0.$key", focus)
	doc, _ = press(t, schema, doc, "$reset", "inputs.hp")
	require.Equal(t, "0.1", formtest.Attr(formtest.ByName(doc, "inputs.hp.lr")[0], "value"))
	require.True(t, formtest.Has(formtest.Find(doc, func(n *html.Node) bool { return formtest.Attr(n, "type") == "checkbox" })[0], "checked"))
}

// TestButtonsOutsideTheFormAreHarmless: unknown names change no value.
func TestButtonsOutsideTheFormAreHarmless(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t, field("a", "Integer"))
	for _, name := range []string{"x", "inputs.nope", "inputs.a.b.c", "inputs..", "inputs.a.0", "…", "inputs.a.-1"} {
		for _, button := range forms.Buttons() {
			values, _, pressed := forms.Edit(schema, url.Values{button: {name}, "inputs.a": {"5"}})
			require.True(t, pressed)
			if name != "inputs.a" {
				require.Equal(t, "5", values.Get("inputs.a"))
			}
		}
	}
}

func FuzzEdit(f *testing.F) {
	f.Add("$add", "inputs.a.0", "inputs.a.0.b", "1")
	f.Add("$up", "inputs.a.1", "inputs.a.1", "x")
	f.Fuzz(func(t *testing.T, button, target, name, value string) {
		schema := schemaOf(t, field("a", "List<Struct{b: List<Integer>, c: Map<String, Union<X: Integer | Y: String>>}>"))
		values, focus, _ := forms.Edit(schema, url.Values{button: {target}, name: {value}})
		draw(t, forms.Config{Schema: schema, Values: values, Focus: focus})
	})
}

// TestTemplatesCarryTheirToken: JavaScript creates a row by replacing the token with a
// number in names, ids, references and URLs.
func TestTemplatesCarryTheirToken(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t, field("sets", "List<Struct{data: Dataset, files: List<File>}>"))
	var b strings.Builder
	form := forms.New(forms.Config{Schema: schema, Typeahead: "/typeahead", Upload: "/uploads"})
	require.NoError(t, forms.Fields(form).Render(t.Context(), &b))
	for _, want := range []string{
		`name="inputs.sets.--row0--.data"`, `id="f-sets.--row0--.data"`, `name="inputs.sets.--row0--.files.--row1--"`,
		`name=inputs.sets.--row0--.data&amp;`, `value="inputs.sets.--row0--.files"`,
	} {
		require.Contains(t, b.String(), want)
	}
	require.NotContains(t, formtest.Submit(formtest.Parse(t, "<form>"+b.String()+"</form>")).Encode(), "--row0--")
}

func TestOtherFieldsOfAStruct(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t, map[string]any{"name": "options", "type": "Struct(extra=true){rate: Float}", "default": map[string]any{"rate": 1, "depth": 3}})
	doc := draw(t, forms.Config{Schema: schema})
	require.JSONEq(t, `{"options": {"rate": 1, "depth": 3}}`, decode(t, schema, doc))

	doc, focus := press(t, schema, doc, "$add", "inputs.options.$extra")
	require.Equal(t, "inputs.options.$extra.1.$key", focus)
	values := formtest.Submit(doc)
	values.Set("inputs.options.$extra.1.$key", "seed")
	values.Set("inputs.options.$extra.1.$value", `{"a": [1]}`)
	got, problems := schema.DecodeForm(typeregistry.Form{Values: values}, forms.Prefix)
	require.Empty(t, problems)
	require.JSONEq(t, `{"options": {"rate": 1, "depth": 3, "seed": {"a": [1]}}}`, encodeJSON(t, got))

	values.Set("inputs.options.$extra.1.$value", "{")
	_, problems = schema.DecodeForm(typeregistry.Form{Values: values}, forms.Prefix)
	require.Len(t, problems, 1)
	require.Equal(t, "options.seed", problems[0].Path)
	require.Equal(t, "inputs.options.$extra.1.$value", schema.Control(typeregistry.Form{Values: values}, forms.Prefix, "options.seed"))
	form := forms.New(forms.Config{Schema: schema, Values: values, Problems: []forms.Problem{{Path: "options.seed", Message: "This is not JSON."}}})
	require.Contains(t, form.ErrorLines()[0].Target, "value")

	values.Set("inputs.options.$extra.1.$key", "rate")
	_, problems = schema.DecodeForm(typeregistry.Form{Values: values}, forms.Prefix)
	require.Contains(t, problems[len(problems)-1].Message, "“rate” is used twice")

	doc, _ = press(t, schema, doc, "$remove", "inputs.options.$extra.0")
	require.JSONEq(t, `{"options": {"rate": 1}}`, decode(t, schema, doc))
}
