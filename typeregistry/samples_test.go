package typeregistry

import (
	"encoding/json"
	"strconv"
)

// samples returns canonical values of t that are worth a test: ordinary ones,
// edges, foreign scripts, empty and nested ones.
func samples(t *Type) []any {
	switch t.impl.shape() {
	case elemShape:
		if t.Kind == KindOptional {
			return append([]any{nil}, samples(t.Elem)...)
		}
		inner := samples(t.Elem)
		return []any{[]any{}, []any{inner[0]}, inner}
	case mapShape:
		full := map[string]any{}
		for i, v := range samples(t.Elem) {
			full[[]string{"a", "b.c", "$n", "ключ", " spaced ", "0"}[i%6]+strconv.Itoa(i/6)] = v
		}
		return []any{map[string]any{}, full}
	case variantsShape:
		var out []any
		for _, v := range t.Variants {
			for _, value := range samples(v.Type) {
				out = append(out, wrapVariant(v.Tag, v.Type, value))
			}
		}
		return out
	case optionsShape:
		var out []any
		for _, o := range t.Params.Options {
			out = append(out, o.Value)
		}
		return out
	}
	if len(t.Fields) > 0 {
		return structSamples(t)
	}
	return scalarSamples()[t.Kind]
}

// structSamples gives every field each of its samples in turn.
func structSamples(t *Type) []any {
	most := 0
	for _, f := range t.Fields {
		most = max(most, len(samples(f.Type)))
	}
	var out []any
	for i := range most {
		object := map[string]any{}
		if t.Params.Extra && i > 0 {
			object["b.c"], object["$n"], object["ключ"] = json.Number("1"), nil, []any{map[string]any{"a": true}}
		}
		for _, f := range t.Fields {
			values := samples(f.Type)
			v := values[i%len(values)]
			if v == "" && f.blankIsMissing() {
				v = "filled"
			}
			object[f.Name] = v
		}
		out = append(out, object)
	}
	return out
}

func scalarSamples() map[Kind][]any {
	references := []any{
		map[string]any{"$catalogue": "mnist@1.2.0"},
		map[string]any{"$catalogue": "vision/mnist"},
		map[string]any{"$artifact": "01900000-0000-7000-8000-00000000000a"},
		map[string]any{"$file": "aa00000000000000000000000000000000000000000000000000000000000011", "name": "données 1.csv", "size": json.Number("123"), "media_type": "text/csv"},
	}
	out := map[Kind][]any{
		KindString:   {"plain", "", "  spaced  ", "naïve 漢字 🙂", `quotes " and ' and <b>`, "0", "null"},
		KindText:     {"one line", "", "two\nlines\n", "  indented\n\tтекст"},
		KindInteger:  {json.Number("0"), json.Number("-7"), json.Number("123456789012345678901234567890")},
		KindFloat:    {json.Number("0.1"), json.Number("-2.5e-9"), json.Number("1e300"), json.Number("12345678901234567890.125"), json.Number("3")},
		KindBoolean:  {true, false},
		KindDate:     {"2026-01-24", "2024-02-29", "0001-01-01"},
		KindDateTime: {"2026-01-24T18:00:00Z", "2026-01-24T18:00:00.25+05:30", "1969-12-31T23:59:59-08:00"},
		KindDuration: {"PT1H30M", "PT0S", "PT0.25S", "PT36H", "PT1M0.000000001S"},
		KindDateRange: {
			map[string]any{"from": "2026-01-01", "to": "2026-01-31"}, map[string]any{"from": "2026-01-01", "to": "2026-01-01"},
		},
		KindJSON: {map[string]any{"a": []any{json.Number("1"), nil, "x"}}, "text", json.Number("0.5"), []any{}, true, nil},
		KindHyperparam: {
			map[string]any{}, map[string]any{"lr": json.Number("0.01"), "name": "adam", "nesterov": true, "five": "5", "yes": "true", "quoted": `"x"`, "weiß": "ä\nb"},
		},
		KindMetrics:    {map[string]any{}, map[string]any{"accuracy": json.Number("0.9934"), "loss": json.Number("-1e-9")}},
		KindSecret:     {map[string]any{"$secret": "team/api-key"}},
		KindConnection: {map[string]any{"$connection": "warehouse"}},
		KindFeatureSet: {
			map[string]any{"feature_set": "users/core@v2"},
			map[string]any{"feature_set": "users/core", "features": []any{"age", "country"}},
			map[string]any{"feature_set": "users/core", "features": []any{}},
			map[string]any{"$artifact": "01900000-0000-7000-8000-00000000000a", "features": []any{"age"}},
		},
	}
	for _, kind := range []Kind{KindDataset, KindModel, KindFile, KindDirectory, KindImage, KindTable, KindReport} {
		out[kind] = references
	}
	return out
}

// sampleTypes are expressions that together use every kind, plain and nested.
func sampleTypes(r *Registry) []string {
	exprs := []string{
		"Optional<String>", "Optional<Boolean>", "Optional<List<Integer>>", "Optional<Struct{a: Integer, b?: String}>",
		"List<String>", "List<Optional<Integer>>", "List<Boolean>", "List<List<Float>>", "List<Optional<List<String>>>",
		"List<Struct{name: String(min_length=0), on: Boolean, when: Optional<DateTime>}>", "List<Union<Integer | Text>>",
		"List<Optional<Struct{a: Integer}>>", "List<DateRange>", "List<File>", "List<FeatureSet>", "List<JSON>",
		"Map<String, Integer>", "Map<String, List<String>>", "Map<String, Struct{a: Float, b: Map<String, Boolean>}>", "Map<Optional<Duration>>",
		"Union<Integer | String>", "Union<List<Integer> | List<String>>", "Union<DateRange | Date | JSON>",
		"Union<Adam: Struct{beta: Float} | SGD: Struct{momentum: Float, steps: List<Integer>} | None: Struct{seed?: Integer}>",
		"Union<a: Union<Integer | Boolean> | b: List<Map<String, Dataset>>>", "Union<Metrics | HyperparameterSet | Secret>",
		"Struct{a: Struct{b: Struct{c: List<Struct{d: Boolean}>}}, e: Optional<Enum(1, 2)>}",
		"HyperparameterSet{learning_rate: Float(min=-1e3) = 0.01, batch_size: Enum(64, 256) = 64, schedule: Optional<Map<String, Float>>, optimizer: Union<Adam: Struct{b: Float} | Plain: Boolean>}",
		"Struct(extra=true){a: String}", "List<Struct(extra=true){a: Optional<Integer>}>", "Optional<Struct(extra=true){a: Boolean}>",
		"Union<Adam: Struct(extra=true){beta: Integer} | Boolean>",
		`Enum("a b", "ü", 5, 0.5, true)`, "String(multiline=true)", "List<Enum(a, b)>(unique=true)",
	}
	for _, e := range r.Entries() {
		exprs = append(exprs, bareExpression(e))
	}
	return exprs
}

// bareExpression is the kind without limits where it has such a form, else its example.
func bareExpression(e Entry) string {
	if _, err := Builtin().Parse(e.Name); err == nil {
		return e.Name
	}
	return map[Kind]string{KindEnum: "Enum(x, y)", KindList: "List<Integer>", KindMap: "Map<String, Float>", KindOptional: "Optional<Integer>",
		KindUnion: "Union<Integer | String>", KindStruct: "Struct{a: String, b: Integer}"}[e.Kind]
}
