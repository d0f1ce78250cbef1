package typeregistry

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func mustParse(t *testing.T, expr string) *Type {
	t.Helper()
	typ, err := Builtin().Parse(expr)
	if err != nil {
		t.Fatalf("Parse(%s): %v", expr, err)
	}
	return typ
}

// TestRoundTrip takes values of every kind through form → value → JSON → form.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	seen := map[Kind]bool{}
	for _, expr := range sampleTypes(Builtin()) {
		typ := mustParse(t, expr)
		seen[typ.Kind] = true
		values := samples(typ)
		if len(values) == 0 {
			t.Errorf("%s: no samples", expr)
		}
		for _, v := range values {
			if roundTripsAsAbsent(typ, v) {
				continue
			}
			roundTrip(t, typ, v)
		}
	}
	for _, e := range Builtin().Entries() {
		if !seen[e.Kind] {
			t.Errorf("the kind %s has no round trip", e.Kind)
		}
	}
}

// roundTripsAsAbsent: a form cannot tell these from nothing given.
func roundTripsAsAbsent(typ *Type, v any) bool {
	return v == "" && typ.Kind == KindOptional
}

func roundTrip(t *testing.T, typ *Type, v any) {
	t.Helper()
	canonical, problems := typ.Normalize(v)
	if len(problems) > 0 {
		t.Errorf("%s: sample %s is refused: %v", typ, compactJSON(v), problems)
		return
	}
	again, problems := typ.Normalize(canonical)
	if diff := cmp.Diff(canonical, again); diff != "" || len(problems) > 0 {
		t.Errorf("%s: Normalize is not idempotent for %s: %v\n%s", typ, compactJSON(v), problems, diff)
	}
	form := typ.EncodeForm(canonical, "inputs.x")
	decoded, _, problems := typ.DecodeForm(Form{Values: form}, "inputs.x")
	if len(problems) > 0 {
		t.Errorf("%s: DecodeForm(%v): %v", typ, form, problems)
	}
	back, problems := typ.Normalize(decoded)
	if len(problems) > 0 {
		t.Errorf("%s: decoded %s is refused: %v", typ, compactJSON(decoded), problems)
	}
	data, err := encodeJSON(back)
	if err != nil {
		t.Fatal(err)
	}
	fromJSON, err := DecodeJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(canonical, fromJSON); diff != "" {
		t.Errorf("%s: the value changed (-want +got):\n%s\nform %v", typ, diff, form)
	}
	if diff := cmp.Diff(form, typ.EncodeForm(fromJSON, "inputs.x")); diff != "" {
		t.Errorf("%s: the form changed:\n%s", typ, diff)
	}
	if typ.Render(canonical) == "" && canonical != nil && canonical != "" {
		t.Errorf("%s: %s renders as nothing", typ, compactJSON(canonical))
	}
}

// intruders are values that most types refuse.
func intruders() []any {
	var out []any
	for _, values := range scalarSamples() {
		out = append(out, values...)
	}
	return append(out, nil, []any{"a"}, []any{nil}, map[string]any{"from": "2026-01-01"}, map[string]any{"a": "x"},
		map[string]any{"$type": "Nope"}, map[string]any{"$file": "ab"}, "2026-13-01", "line\nbreak")
}

// TestJSONSchemaAgrees compares every JSON Schema with Check, value by value.
func TestJSONSchemaAgrees(t *testing.T) {
	t.Parallel()
	exprs := append(sampleTypes(Builtin()), "Integer(min=1, max=5)", "Float(max=0.1)", `String(pattern="[a-z]+", max_length=5)`,
		`String(format="email")`, `String(format="uuid")`, "List<Integer>(min_items=1, max_items=2, unique=true)",
		`Map<String, Integer>(key_pattern="[a-z]+", max_items=1)`, "Struct{a?: Integer, b: String = \"x\"}", "Metrics(min_items=1)",
		"Struct{a: String, h: HyperparameterSet{x: Integer = 1}}", `FeatureSet(features=[age: Integer])`)
	for _, expr := range exprs {
		typ := mustParse(t, expr)
		schema := compileSchema(t, typ)
		for _, v := range append(samples(typ), intruders()...) {
			if typ.Kind == KindDuration || typ.Kind == KindUnion && expr == "Union<DateRange | Date | JSON>" {
				continue // the language of JSON Schema cannot say them
			}
			agree(t, typ, schema, v)
		}
	}
}

func agree(t *testing.T, typ *Type, schema *jsonschema.Schema, v any) {
	t.Helper()
	if s, ok := v.(string); ok && typ.Kind != KindString && s != "" && (s[0] == ' ' || s[len(s)-1] == ' ') {
		return // names and references are trimmed
	}
	problems := typ.Check(v, Env{})
	err := schema.Validate(v)
	if (err == nil) != (len(problems) == 0) {
		t.Errorf("%s: %s: Check says %v, the JSON Schema %v", typ, compactJSON(v), problems, err)
	}
}

func compileSchema(t *testing.T, typ *Type) *jsonschema.Schema {
	t.Helper()
	data, err := encodeJSON(typ.JSONSchema())
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource("type.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("type.json")
	if err != nil {
		t.Fatalf("%s: %v\n%s", typ, err, data)
	}
	return schema
}

// TestEveryKindIsDescribed checks what pages and the API rely on.
func TestEveryKindIsDescribed(t *testing.T) {
	t.Parallel()
	for _, e := range Builtin().Entries() {
		typ := mustParse(t, e.Example)
		if typ.Kind != e.Kind || e.Summary == "" || e.Group == "" {
			t.Errorf("%s: incomplete entry %+v", e.Name, e)
		}
		ui := typ.UI(Field{Name: "x", Type: typ, Required: true}, Env{})
		if ui.Component == "" || ui.Label != "X" || ui.Hint == "" {
			t.Errorf("%s: incomplete UI %+v", e.Name, ui)
		}
		if problems := typ.Check(map[string]any{"no": []any{}, "such": nil}, Env{}); len(problems) == 0 && typ.Kind != KindJSON {
			t.Errorf("%s: takes anything", e.Name)
		}
	}
}
