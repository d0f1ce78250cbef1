package forms_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/forms/formtest"
)

// TestNonsenseIsKept: the form keeps invalid values as entered, with a message at the
// control and a line in the summary that links to it.
func TestNonsenseIsKept(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t,
		field("epochs", "Integer(min=1, max=200)"), field("day", "Date"), field("at", "DateTime"), field("wait", "Duration"),
		field("kind", "Enum(a, b, c, d, e)"), field("rate", "Float(min=0.001, max=1, log=true)"), field("any", "JSON"),
		field("layers", "List<Struct{width: Integer}>"), field("opt", "Union<Adam: Struct{beta: Float} | Plain: Integer>"), field("w", "Map<String, Float>"), field("span", "DateRange"),
	)
	typed := url.Values{
		"inputs.epochs": {"many"}, "inputs.day": {"someday"}, "inputs.at": {"noonish"}, "inputs.at.$zone": {"Mars/Base"}, "inputs.wait": {"a while"},
		"inputs.kind": {"z"}, "inputs.rate": {"steep"}, "inputs.any": {"{not json"},
		"inputs.layers.0.width": {"8"}, "inputs.layers.1.width": {"wide"},
		"inputs.opt.$type": {"Adam"}, "inputs.opt.Adam.beta": {"gamma"}, "inputs.opt.Plain": {"7"},
		"inputs.w.0.$key": {"x"}, "inputs.w.0.$value": {"heavy"}, "inputs.w.1.$key": {"x"}, "inputs.w.1.$value": {"2"},
		"inputs.span.from": {"2026-03-01"}, "inputs.span.to": {"2026-01-31"},
	}
	got, problems := schema.DecodeForm(typeregistry.Form{Values: typed}, forms.Prefix)
	_, more := schema.CheckAll(got, typeregistry.Env{})
	problems = append(problems, more...)
	form := forms.New(forms.Config{Schema: schema, Values: typed, Problems: problems, Today: today})
	doc := render(t, forms.Fields(form))

	sent := formtest.Submit(doc)
	for name := range typed {
		require.Equal(t, typed.Get(name), sent.Get(name), name)
	}
	labels := map[string]bool{}
	for _, line := range form.ErrorLines() {
		require.NotEmpty(t, line.Target, line.Text)
		require.NotNil(t, formtest.ByID(doc, line.Target), "no element %s for %s", line.Target, line.Label)
		require.Contains(t, formtest.Text(doc), line.Text)
		labels[line.Label] = true
	}
	for _, label := range []string{"Epochs", "Day", "At", "Wait", "Kind", "Rate", "Any", "Layers, entry 2, Width", "Opt, Beta", "Span"} {
		require.True(t, labels[label], "%s is not in %v", label, labels)
	}
	require.Contains(t, formtest.Text(formtest.ByID(doc, "f-span-error")), "2026-01-31 is before the first day")
	require.Contains(t, formtest.Text(doc), "“heavy” is not a number", "the duplicate key hides the error of a value")
	for _, name := range []string{"inputs.epochs", "inputs.layers.1.width", "inputs.opt.Adam.beta"} {
		require.Equal(t, "true", formtest.Attr(formtest.ByName(doc, name)[0], "aria-invalid"), name)
	}
	require.Empty(t, formtest.Attr(formtest.ByName(doc, "inputs.layers.0.width")[0], "aria-invalid"))
}

// TestOtherVariantsAreKept: variants that are not selected keep their values.
func TestOtherVariantsAreKept(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t, field("opt", "Union<Adam: Struct{beta: Float = 0.9} | SGD: Struct{momentum: Float = 0.5}>"))
	doc := draw(t, forms.Config{Schema: schema, Values: url.Values{"inputs.opt.$type": {"SGD"}, "inputs.opt.Adam.beta": {"0.1"}, "inputs.opt.SGD.momentum": {""}}})
	sent := formtest.Submit(doc)
	require.Equal(t, "0.1", sent.Get("inputs.opt.Adam.beta"))
	require.Empty(t, sent.Get("inputs.opt.SGD.momentum"), "a default does not replace a cleared control")
	require.Equal(t, "0.9", formtest.Submit(draw(t, forms.Config{Schema: schema})).Get("inputs.opt.Adam.beta"), "a variant not shown before shows its defaults")
}

func TestHintsArrangeTheForm(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t,
		map[string]any{"name": "a", "type": "Integer", "ui": map[string]any{"section": "Data", "order": 2, "label": "Alpha", "help": "Say it."}},
		map[string]any{"name": "b", "type": "Integer", "ui": map[string]any{"section": "Data", "order": 1}},
		map[string]any{"name": "c", "type": "Integer", "ui": map[string]any{"section": "Other", "advanced": true}},
		map[string]any{"name": "d", "type": "Integer", "default": 4, "ui": map[string]any{"hidden": true}},
	)
	form := forms.New(forms.Config{Schema: schema, Problems: []forms.Problem{{Path: "c", Message: "x"}}})
	sections := form.Sections()
	require.Len(t, sections, 3)
	require.Equal(t, "Data", sections[0].Title)
	require.Equal(t, "B", sections[0].Fields[0].Label)
	require.Equal(t, "Alpha", sections[0].Fields[1].Label)
	require.Equal(t, "Say it.", sections[0].Fields[1].Help)
	require.Len(t, sections[1].Advanced, 1)
	require.True(t, sections[1].AdvancedOpen(), "a message inside expands it")
	require.False(t, sections[2].Open())
	require.Equal(t, "4", sections[2].Hidden[0].Carried().Get("inputs.d"))
}

// TestLeftOutComposites: an optional composite field has a checkbox that enables it.
func TestLeftOutComposites(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t,
		map[string]any{"name": "a", "type": "Struct{x: Integer}", "required": false},
		map[string]any{"name": "b", "type": "List<Integer>", "required": false},
		map[string]any{"name": "c", "type": "DateRange", "required": false},
		map[string]any{"name": "d", "type": "Union<A: Integer | B: String>", "required": false},
	)
	require.JSONEq(t, `{}`, decode(t, schema, draw(t, forms.Config{Schema: schema})))

	inputs := map[string]any{"a": decodeJSON(t, `{"x": 1}`), "b": decodeJSON(t, `[1, 2]`), "c": decodeJSON(t, `{"from": "2026-01-01", "to": "2026-01-02"}`), "d": decodeJSON(t, `{"$type": "A", "value": 1}`)}
	doc := draw(t, forms.Config{Schema: schema, Values: schema.EncodeForm(inputs, forms.Prefix)})
	require.JSONEq(t, encodeJSON(t, inputs), decode(t, schema, doc))

	sent := formtest.Submit(doc)
	for _, name := range []string{"a", "b", "c", "d"} { // the box is unticked
		sent["inputs."+name+".$set"] = []string{"0"}
	}
	got, problems := schema.DecodeForm(typeregistry.Form{Values: sent}, forms.Prefix)
	require.Empty(t, problems)
	require.Empty(t, got)
	again := formtest.Submit(draw(t, forms.Config{Schema: schema, Values: sent}))
	require.Equal(t, "1", again.Get("inputs.a.x"), "disabled values are kept")
	require.Equal(t, []string{"0"}, again["inputs.a.$set"])
}
