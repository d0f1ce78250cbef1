package typeregistry

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCanonicalExpressions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ expr, want string }{
		{"Integer", "Integer"},
		{" Integer ( max = 200 , min=1 ) ", "Integer(min=1, max=200)"},
		{"Float(min=1e-5, max=1e-1, log_scale=true)", "Float(min=1e-5, max=0.1, log=true)"},
		{"Float(gt=0, lt=1)", "Float(exclusive_min=0, exclusive_max=1)"},
		{"Float(exclusive_min=0, max=1, log=true)", "Float(max=1, exclusive_min=0, log=true)"},
		{"Integer?", "Optional<Integer>"},
		{"Map<Integer>", "Map<String, Integer>"},
		{"Enum(adam, 64: \"sixty-four\", 'it''s')", ""},
		{"Enum(adam, 64: \"sixty-four\", 'it\\'s')", `Enum("adam", 64: "sixty-four", "it's")`},
		{"Union<Union: Struct{a: Integer} | List<Integer> | List<String>>", "Union<Union: Struct{a: Integer} | List<Integer> | List<String>>"},
		{"Struct{a: Integer = 1e0, b?: String, c: Optional<Date>, d: String = 'x' @{required: true},}", `Struct{a: Integer = 1, b?: String, c: Optional<Date>, d: String = "x" @{required: true}}`},
		{`Struct{a: Float @{ui: {label: "Rate"}, description: "How fast", validators: [{rule: less_than, field: b}]}, b: Float}`,
			`Struct{a: Float @{description: "How fast", ui: {label: "Rate"}, validators: [{field: "b", rule: "less_than"}]}, b: Float}`},
		{"Dataset(schema=[image: Tensor[28, ?], 'a label': Integer @{nullable: true}], format=csv)", `Dataset(format="csv", columns=[image: Tensor[28, ?], "a label": Integer @{nullable: true}])`},
		{`Duration(min="90s", max="1 day")`, `Duration(min="PT1M30S", max="PT24H")`},
		{"HyperparameterSet", "HyperparameterSet"},
		{"HyperparameterSet{lr: Float(min=1e-5, max=1e-1, log=true) = 0.01, batch_size: Enum(64,256) = 64}",
			"HyperparameterSet{lr: Float(min=1e-5, max=0.1, log=true) = 0.01, batch_size: Enum(64, 256) = 64}"},
	} {
		typ, err := Builtin().Parse(tc.expr)
		if tc.want == "" {
			if err == nil {
				t.Errorf("Parse(%s) is accepted", tc.expr)
			}
			continue
		}
		if err != nil {
			t.Errorf("Parse(%s): %v", tc.expr, err)
			continue
		}
		if diff := cmp.Diff(tc.want, typ.String()); diff != "" {
			t.Errorf("Parse(%s):\n%s", tc.expr, diff)
		}
	}
}

func TestExpressionErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ expr, want string }{
		{"", "column 1: the end is not expected here; the name of a type should follow"},
		{"Flaot(min=1)", `column 1: “Flaot” is not a type. Did you mean “Float”?`},
		{"Integer(min=1, mx=2)", `column 16: Integer has no parameter “mx”. Did you mean “max”?`},
		{"Integer(min=5, max=2)", "column 1: Integer: min 5 is more than max 2"},
		{"Float(exclusive_min=1, max=1)", "column 1: Float: no number is more than 1 and at most 1"},
		{"Float(min=0, exclusive_min=0)", "column 1: Float: use either min or exclusive_min"},
		{"Float(exclusive_min=-1, log=true)", "column 1: Float: exclusive_min must be 0 or more for a log scale"},
		{"Integer(min=0.5)", "column 1: Integer: min 0.5 is not a whole number"},
		{"List<Integer", `column 13: the end is not expected here; ">" should follow`},
		{"Boolean<Integer>", "column 1: Boolean does not accept a type in < >"},
		{"Struct{a: Integer, a: String}", "column 20: the field “a” appears twice"},
		{"Struct{}", "column 1: Struct must have at least one field, such as Struct{name: String}"},
		{"Struct{a: Integer(max=3) = 9}", "column 8: the default of a: 9 is more than 3. Enter 3 or less."},
		{"Union<Integer>", "column 1: Union must have two or more types separated by |, such as Union<Integer | String>"},
		{"Union<Struct{a: Integer} | Struct{b: Integer}>", "column 28: two variants have the tag “Struct”; give one a different tag, such as other: Struct"},
		{`String(pattern="(")`, "column 1: String: the pattern does not compile (RE2): error parsing regexp: missing closing ): `(`"},
		{"Enum()", "column 1: Enum: there are no options; write Enum(\"a\", \"b\")"},
		{"Enum(a, \"a\")", `column 1: Enum: the option "a" is empty or appears twice`},
		{`String(format="emial")`, "column 1: String: “emial” is not a format; use email, uri, uuid, hostname, ipv4 or ipv6"},
		{"Integer)", "column 8: “)” is not expected after the type"},
		{"Ünt", "column 1: the character “Ü” is not expected here"},
		{`String(pattern="ab`, "column 16: the text is not closed; add \""},
		{"Optional<Integer?>", "column 1: Optional: the value is already optional; remove one Optional"},
		{strings.Repeat("List<", 40) + "Integer", "column 161: types and values can be nested at most 32 levels deep"},
		{"Struct{a: Integer @{validators: [{rule: less_than, field: nope}]}}", "column 8: the validator less_than compares with “nope”, which is not a field here"},
	} {
		_, err := Builtin().Parse(tc.expr)
		fault, ok := errors.AsType[*SyntaxError](err)
		if !ok || fault.Error() != tc.want {
			t.Errorf("Parse(%s):\n got %v\nwant %s", tc.expr, err, tc.want)
		}
	}
}

func TestObjectForm(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ doc, want string }{
		{`"Integer(min=1)"`, "Integer(min=1)"},
		{`{"type": "Integer", "min": 1, "max": 2e2, "unit": "GPUs"}`, `Integer(min=1, max=200, unit="GPUs")`},
		{`{"type": "List", "of": {"type": "String", "max_length": 3}, "max_items": 2}`, "List<String(max_length=3)>(max_items=2)"},
		{`{"type": "Map", "value": "Float"}`, "Map<String, Float>"},
		{`{"type": "Union", "variants": [{"tag": "Adam", "type": "Struct{b: Float}"}, {"type": "Integer", "min": 1}]}`, "Union<Adam: Struct{b: Float} | Integer(min=1)>"},
		{`{"type": "Struct", "fields": [{"name": "a", "type": "Integer", "default_value": 1}, {"name": "b", "type": "Date", "required": false}]}`, "Struct{a: Integer = 1, b?: Date}"},
		{`{"type": "Enum", "values": ["a", {"value": 2, "label": "Two"}]}`, `Enum("a", 2: "Two")`},
		{`{"type_name": "Dataset", "parameters": {"format": "csv"}, "schema": [{"name": "x", "dtype": "Float", "dimensions": [2, null]}]}`, `Dataset(format="csv", columns=[x: Float[2, ?]])`},
		{`{"type": "HyperparameterSet", "parameters": [{"name": "lr", "type": "Float"}]}`, "HyperparameterSet{lr: Float}"},
	} {
		raw, err := DecodeJSON([]byte(tc.doc))
		if err != nil {
			t.Fatal(err)
		}
		typ, err := Builtin().ParseNode(raw)
		if err != nil {
			t.Errorf("ParseNode(%s): %v", tc.doc, err)
			continue
		}
		if typ.String() != tc.want {
			t.Errorf("ParseNode(%s) = %s, want %s", tc.doc, typ, tc.want)
		}
	}
	_, err := Builtin().ParseNode(map[string]any{"type": "Union", "variants": []any{"Integer", map[string]any{"type": "Sting"}}})
	if want := "variants[1]: “Sting” is not a type. Did you mean “String”?"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// FuzzParse: nothing panics, and what is accepted survives its own expression.
func FuzzParse(f *testing.F) {
	for _, expr := range sampleTypes(Builtin()) {
		f.Add(expr)
	}
	for _, e := range Builtin().Entries() {
		f.Add(e.Example)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		typ, err := Builtin().Parse(expr)
		if err != nil {
			return
		}
		canonical := typ.String()
		again, err := Builtin().Parse(canonical)
		if err != nil {
			t.Fatalf("%q became %q, which is refused: %v", expr, canonical, err)
		}
		if again.String() != canonical {
			t.Fatalf("%q became %q, then %q", expr, canonical, again)
		}
	})
}

// FuzzDecodeForm: no form makes decoding, checking or drawing panic.
func FuzzDecodeForm(f *testing.F) {
	f.Add("Union<a: Struct{b: List<Integer>} | c: Map<String, Date>>", "x.$type", "a", "x.a.b.0", "1")
	f.Add("FeatureSet", "x.features", "a", "x", "users@v1")
	f.Fuzz(func(t *testing.T, expr, name1, value1, name2, value2 string) {
		typ, err := Builtin().Parse(expr)
		if err != nil {
			return
		}
		form := Form{Values: map[string][]string{name1: {value1}, name2: {value2}}}
		v, _, _ := typ.DecodeForm(form, "x")
		canonical, problems := typ.Normalize(v)
		typ.EncodeForm(v, "x")
		typ.Render(v)
		if len(problems) > 0 {
			return
		}
		if again, problems := typ.Normalize(canonical); len(problems) > 0 {
			t.Fatalf("%s: %s is accepted but not its canonical form %s: %v", typ, compactJSON(v), compactJSON(again), problems)
		}
	})
}
