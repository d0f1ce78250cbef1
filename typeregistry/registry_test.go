package typeregistry

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowforge/flowforge/apperr"
)

func withTypes(t *testing.T, defs ...CustomType) *Registry {
	t.Helper()
	r, problems := Builtin().With(defs...)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return r
}

func rankingTypes() []CustomType {
	return []CustomType{
		{Name: "Probability", Extends: "Share", UIRenderer: "dial", Rules: []any{map[string]any{"rule": "range", "max": 0.9, "error": "Too sure."}}},
		{Name: "Share", Extends: "Float", Schema: map[string]any{"min": 0, "max": 1}},
		{Name: "RecommendationModel", Extends: "Model", UIRenderer: "model_visualizer_v2",
			Schema: map[string]any{"framework": "pytorch", "input_features": []any{"user_id"}, "output_type": "ranked_items"}},
		{Name: "Optimizer", Extends: "Struct", Schema: map[string]any{"fields": []any{map[string]any{"name": "p", "type": "Probability"}}}},
	}
}

func TestCustomTypes(t *testing.T) {
	t.Parallel()
	r := withTypes(t, rankingTypes()...)
	typ, err := r.Parse("Struct{o: Optimizer, m: RecommendationModel, s: Share = 0.5}")
	if err != nil {
		t.Fatal(err)
	}
	if want := "Struct{o: Optimizer, m: RecommendationModel, s: Share = 0.5}"; typ.String() != want {
		t.Errorf("String() = %s", typ)
	}
	got := typ.Check(map[string]any{"o": map[string]any{"p": 0.95}, "m": "ranker@1", "s": 2}, Env{})
	want := []Problem{{"o.p", "Too sure."}, {"s", "2 is more than 1. Enter 0 to 1."}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	model, _ := typ.FieldNamed("m")
	ui := model.Type.UI(model, Env{})
	if ui.Renderer != "model_visualizer_v2" || ui.Component != "ModelSelector" || ui.Filters["framework"] != "pytorch" {
		t.Errorf("UI %+v", ui)
	}
	entry, ok := r.Lookup("RecommendationModel")
	if !ok || entry.Kind != KindModel || entry.Custom.Schema["output_type"] != "ranked_items" {
		t.Errorf("Lookup %+v", entry)
	}
	if _, err := Builtin().Parse("Share"); err == nil {
		t.Error("With changed the registry it was called on")
	}
}

func TestCustomTypeProblems(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		defs []CustomType
		want []apperr.Field
	}{
		{"circle", []CustomType{{Name: "A", Extends: "List<B>"}, {Name: "B", Extends: "A"}},
			[]apperr.Field{{Path: "types[0].extends", Message: "The definition is circular: A → B → A."}, {Path: "types[1].extends", Message: "column 1: “A” is not a type."}}},
		{"built-in", []CustomType{{Name: "Float", Extends: "Integer"}}, []apperr.Field{{Path: "types[0].type_name", Message: "“Float” is a built-in type. Enter another name."}}},
		{"unknown base", []CustomType{{Name: "A", Extends: "Modell"}}, []apperr.Field{{Path: "types[0].extends", Message: "column 1: “Modell” is not a type. Did you mean “Model”?"}}},
		{"rule", []CustomType{{Name: "A", Extends: "String", Rules: []any{map[string]any{"rule": "range", "min": 1}}}},
			[]apperr.Field{{Path: "types[0].validation_rules", Message: "range applies only to Integer and Float, not to String"}}},
		{"field", []CustomType{{Name: "A", Extends: "Struct", Schema: map[string]any{"fields": []any{map[string]any{"name": "x", "type": "Nope"}}}}},
			[]apperr.Field{{Path: "types[0].schema.fields[0].type", Message: "column 1: “Nope” is not a type."}}},
	} {
		_, got := Builtin().With(tc.defs...)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s:\n%s", tc.name, diff)
		}
	}
}

func TestAssignable(t *testing.T) {
	t.Parallel()
	r := withTypes(t, rankingTypes()...)
	for _, tc := range []struct{ from, to, want string }{
		{"Integer", "Float", ""},
		{"Float", "Integer", "Float is not an Integer"},
		{"Integer(min=5)", "Integer(max=4)", "it is at least 5, but at most 4 is allowed"},
		{"Integer", "Integer(min=1)", ""},
		{"Probability", "Share", ""}, {"Probability", "Float", ""},
		{"Float", "Probability", "Float is not a Probability"},
		{"Share", "Probability", "Share is not a Probability"},
		{"RecommendationModel", "Model(framework=tensorflow)", "its framework is pytorch, but tensorflow is required"},
		{"Integer", "Optional<Integer>", ""},
		{"Optional<Integer>", "Integer", "it may be absent, but Integer is required"},
		{"Enum(a, b)", "Enum(a, b, c)", ""}, {"Enum(a, d)", "Enum(a, b)", `"d" is not one of its options`}, {"Enum(a)", "String", ""},
		{"List<Integer>", "List<Float>", ""}, {"List<String>", "List<Integer>", "its entries: String is not an Integer"},
		{"Struct{a: Integer}", "Struct{a: Float, b?: String}", ""},
		{"Struct{a: Integer}", "Struct{a: Float, b: String}", "its field b is missing"},
		{"Struct{a: Integer, z: Integer}", "Struct{a: Float}", "it has no field z"},
		{"Integer", "Union<Float | String>", ""}, {"Date", "Union<Float | String>", "Date matches none of its variants Float or String"},
		{"Union<Integer | String>", "Union<String | Integer | Date>", ""},
		{"Dataset(format=csv)", "Dataset(format=parquet)", "its format is csv, but parquet is required"},
		{"Dataset(columns=[a: Integer])", "Dataset(columns=[a: Integer, b: Float])", "its column b is missing"},
		{"Dataset(columns=[a: Integer])", "Dataset(columns=[a: Float])", "its column a is Integer, but Float is required"},
		{"Dataset", "Table", ""}, {"Dataset", "File", ""}, {"Image", "File", ""}, {"Directory", "File", "Directory is not a File"},
		{"Metrics", "Map<String, Float>", ""}, {"Integer", "JSON", ""}, {"Model", "JSON", "Model is not a JSON"},
		{"String", "Text", ""}, {"String", "Date", "String is not a Date"},
	} {
		from, err := r.Parse(tc.from)
		if err != nil {
			t.Fatal(err)
		}
		to, err := r.Parse(tc.to)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := Assignable(from, to); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s → %s: got %q, want %q", tc.from, tc.to, got, tc.want)
		}
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	raw, err := DecodeJSON([]byte(`{"fields": [
		{"name": "training_date", "type": "Date", "default": "today"},
		{"name": "feature_set", "type": "FeatureSet"},
		{"name": "hyperparams", "type": "HyperparameterSet"},
		{"name": "batch_size", "type": "Integer(min=1, max=64)", "ui_hints": {"label": "Batch", "section": "Training", "order": -1}}],
		"required_fields": ["training_date", "feature_set", "batch_size"],
		"validators": [{"rule": "pattern", "field": "feature_set", "pattern": "x"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	schema, problems := Builtin().ParseSchema(raw, "input_schema")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	env := Env{Now: time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)}
	values, wrong := schema.CheckAll(map[string]any{"feature_set": "fs://news_feed/user_features/v2"}, env)
	want := `{"batch_size":null,"feature_set":{"feature_set":"news_feed/user_features@v2"},"hyperparams":{},"training_date":"2026-11-21"}`
	if got := compactJSON(values); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if diff := cmp.Diff([]Problem{{"batch_size", "A value is required. Enter 1 to 64."}}, wrong); diff != "" {
		t.Error(diff)
	}
	ui := schema.UISchema(env)
	components := ""
	for _, f := range ui.Fields {
		components += f.Label + "=" + f.Component + " "
	}
	if want := "Batch=NumberInput Training date=DatePicker Feature set=FeatureSetSelector Hyperparams=HyperparameterEditor "; components != want {
		t.Errorf("got %s", components)
	}
	if ui.Fields[1].Default != "2026-11-21" || ui.SubmitURL != "/api/v1/executions" {
		t.Errorf("UI %+v", ui)
	}
	again, problems := Builtin().ParseSchema(viaJSON(schema), "x")
	if len(problems) > 0 || compactJSON(again) != compactJSON(schema) {
		t.Errorf("the schema does not survive JSON: %v\n%s\n%s", problems, compactJSON(again), compactJSON(schema))
	}
}

func TestSchemaProblemsHavePaths(t *testing.T) {
	t.Parallel()
	_, got := Builtin().ParseSchema([]any{
		map[string]any{"name": "a", "type": "Intger"},
		map[string]any{"name": "b", "type": "Integer", "defualt": 1},
		map[string]any{"name": "b", "type": "Integer", "default": "x"},
		map[string]any{"type": "Integer"}, "c",
	}, "inputs")
	want := []apperr.Field{
		{Path: "inputs[1].defualt", Message: "“defualt” is not a known key; a field has name, type, description, default, required, ui, validators, show_if, required_if, min, max and options"},
		{Path: "inputs[3].name", Message: "a field must have a name"},
		{Path: "inputs[4]", Message: "“c” is not a field; write an object with name and type"},
		{Path: "inputs[0].type", Message: "column 1: “Intger” is not a type. Did you mean “Integer”?"},
		{Path: "inputs[2]", Message: "the default of b: “x” is not a whole number. Enter a whole number."},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
