package forms

import (
	"fmt"
	"strings"
	"time"

	"github.com/flowforge/flowforge/typeregistry"
)

// Example is a type with a valid value, for the gallery, the types page and the tests.
type Example struct{ Name, Expression, Value string }

// Examples contains every kind at least once, and nestings that are prone to errors.
func Examples() []Example {
	return append(PlainExamples(), NestedExamples()...)
}

const (
	exampleArtifact = `{"$artifact": "019b0000-0000-7000-8000-000000000001"}`
	exampleDigest   = "abababababababababababababababababababababababababababababababab"
)

func exampleFile(name, mediaType string, size int) string {
	return fmt.Sprintf(`{"$file": %q, "name": %q, "size": %d, "media_type": %q}`, exampleDigest, name, size, mediaType)
}

// PlainExamples are the kinds with a single value.
func PlainExamples() []Example {
	return []Example{
		{"string", `String(min_length=2, max_length=40)`, `"hello <b> & \"you\""`},
		{"string lines", `String(multiline=true)`, `"two\nlines"`},
		{"text", `Text`, `"# Title\n\nsome words"`},
		{"integer", `Integer(min=1, max=200, unit="epochs")`, `20`},
		{"integer big", `Integer`, `9007199254740993`},
		{"float", `Float`, `-0.25`},
		{"float log", `Float(min=1e-5, max=1e-1, log=true)`, `0.003`},
		{"boolean true", `Boolean`, `true`},
		{"boolean false", `Boolean`, `false`},
		{"enum", `Enum(adam, sgd, lamb)`, `"sgd"`},
		{"enum numbers", `Enum(8, 16, 32, 64, 128, 256)`, `64`},
		{"enum many", `Enum(a, b, c, d, e, f, g, h, i, j, k, l, m, n)`, `"m"`},
		{"date", `Date`, `"2026-11-20"`},
		{"datetime", `DateTime`, `"2026-11-20T14:30:00Z"`},
		{"duration", `Duration`, `"PT2H30M"`},
		{"date range", `DateRange`, `{"from": "2026-10-01", "to": "2026-10-31"}`},
		{"json", `JSON`, `{"a": [1, 2, {"b": null}], "c": "x"}`},
		{"dataset", `Dataset`, `{"$catalogue": "mnist@7"}`},
		{"dataset own file", `Dataset`, exampleFile("x.csv", "text/csv", 12)},
		{"feature set", `FeatureSet`, `{"feature_set": "pixels@1", "features": ["a", "b"]}`},
		{"model", `Model(framework="pytorch")`, exampleArtifact},
		{"metrics", `Metrics`, `{"accuracy": 0.99, "loss": 0.1}`},
		{"file", `File`, exampleFile("y.bin", "application/octet-stream", 1)},
		{"file artifact", `File`, exampleArtifact},
		{"directory", `Directory`, exampleArtifact},
		{"image", `Image`, exampleArtifact},
		{"table", `Table`, exampleArtifact},
		{"report", `Report`, exampleArtifact},
		{"secret", `Secret`, `{"$secret": "tracker"}`},
		{"connection", `Connection<postgres>`, `{"$connection": "warehouse"}`},
	}
}

// NestedExamples are the kinds that contain other values.
func NestedExamples() []Example {
	return []Example{
		{"list", `List<String>(min_items=1, max_items=5)`, `["a", "b", "a"]`},
		{"list empty", `List<Integer>`, `[]`},
		{"list tokens", `List<Enum(relu, gelu, tanh)>`, `["tanh", "relu", "relu"]`},
		{"list of booleans", `List<Boolean>`, `[true, false, true]`},
		{"list of structs", `List<Struct{op: Enum(rotate, shift), p: Float(min=0, max=1)}>`, `[{"op": "rotate", "p": 0.5}, {"op": "shift", "p": 1}]`},
		{"list of lists", `List<List<Integer>>`, `[[1, 2], [], [3]]`},
		{"list of struct of union of lists", `List<Struct{shape: Union<Dense: List<Integer> | Names: List<String>>}>`,
			`[{"shape": {"$type": "Dense", "value": [1, 2]}}, {"shape": {"$type": "Names", "value": ["a"]}}]`},
		{"list of union with nothing", `List<Union<A: Struct{x: Integer} | B: Struct{y: String}>>`, `[{"$type": "B", "y": "q"}, {"$type": "A", "x": 1}]`},
		{"list of enum in rows of a struct", `List<Struct{kinds: List<Enum(a, b)>}>`, `[{"kinds": ["b", "a"]}, {"kinds": []}]`},
		{"map", `Map<String, Float>`, `{"4": 1.5, "9": 1.25, "a b": 0}`},
		{"map of structs", `Map<String, Struct{w: Float, on: Boolean}>`, `{"x": {"w": 1, "on": true}, "y": {"w": 2, "on": false}}`},
		{"map of lists", `Map<String, List<Integer>>`, `{"x": [1, 2], "y": []}`},
		{"optional empty", `Integer?`, `null`},
		{"optional", `Integer?`, `5`},
		{"optional struct", `Struct{a: Integer}?`, `{"a": 1}`},
		{"optional struct empty", `Struct{a: Integer}?`, `null`},
		{"optional list", `List<Integer>?`, `[1]`},
		{"optional list empty", `List<Integer>?`, `null`},
		{"optional boolean", `Boolean?`, `false`},
		{"union of structs", `Union<Adam: Struct{beta: Float} | SGD: Struct{momentum: Float, nesterov: Boolean}>`, `{"$type": "SGD", "momentum": 0.9, "nesterov": true}`},
		{"union of lists", `Union<Ints: List<Integer> | Texts: List<String>>`, `{"$type": "Texts", "value": ["1", "2"]}`},
		{"union in union", `Union<A: Union<B: Struct{x: Integer} | C: Integer> | D: String>`, `{"$type": "A", "value": {"$type": "C", "value": 3}}`},
		{"struct", `Struct{a: Integer, b: Struct{c: String, d: Struct{e: Struct{f: Boolean}}}}`, `{"a": 1, "b": {"c": "x", "d": {"e": {"f": true}}}}`},
		{"struct with other fields", `Struct(extra=true){a: Integer}`, `{"a": 1, "b c": [1, {"d": null}], "e": "x"}`},
		{"hyperparameters", `HyperparameterSet{lr: Float(min=1e-5, max=0.1, log=true) = 0.01, batch: Enum(64, 256) = 64, warm: Boolean = false}`, `{"lr": 0.001, "batch": 256, "warm": true}`},
		{"list of files", `List<File>`, "[" + exampleArtifact + ", " + exampleFile("z", "text/plain", 3) + "]"},
	}
}

// Gallery returns the form of every example, filled in, some with a message.
func Gallery(today time.Time, examples []Example) ([]*Form, error) {
	var out []*Form
	for i, e := range examples {
		schema, values, err := e.form()
		if err != nil {
			return nil, err
		}
		config := Config{Schema: schema, Values: values, Today: today}
		if i%5 == 3 {
			config.Problems = []Problem{{Path: schema.Fields[0].Name, Message: "This value is not allowed by the type. Enter another value."}}
		}
		out = append(out, New(config))
	}
	return out, nil
}

// form returns the schema of one field with the example, and the controls of its value.
func (e Example) form() (typeregistry.Schema, map[string][]string, error) {
	name := strings.ReplaceAll(e.Name, " ", "_")
	raw := []any{map[string]any{"name": name, "type": e.Expression, "description": "A one-sentence summary of its purpose."}}
	schema, problems := typeregistry.Builtin().ParseSchema(raw, "gallery")
	if len(problems) > 0 {
		return schema, nil, fmt.Errorf("example %s: %s: %s", e.Name, problems[0].Path, problems[0].Message)
	}
	v, err := typeregistry.DecodeJSON([]byte(e.Value))
	if err != nil {
		return schema, nil, fmt.Errorf("example %s: %w", e.Name, err)
	}
	return schema, schema.EncodeForm(map[string]any{name: v}, Prefix), nil
}
