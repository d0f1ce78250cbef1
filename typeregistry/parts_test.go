package typeregistry

import (
	"runtime"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDottedNamesSetParts(t *testing.T) {
	t.Parallel()
	raw, err := DecodeJSON([]byte(`{"fields": [
		{"name": "epochs", "type": "Integer", "default": 2},
		{"name": "params", "type": "HyperparameterSet{lr: Float = 0.1, size: Integer = 3}", "default": {"lr": 0.5, "size": 8}},
		{"name": "deep", "type": "Struct{inner: Struct{a: Integer = 1, b: Integer = 2}}"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	schema, problems := Builtin().ParseSchema(raw, "input_schema")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for name, c := range map[string]struct{ given, want, wrong string }{
		"a part of the default":   {`{"params.lr": 0.2}`, `{"deep":{"inner":{"a":1,"b":2}},"epochs":2,"params":{"lr":0.2,"size":8}}`, ""},
		"a part of a given value": {`{"params": {"size": 4}, "params.lr": 0.2}`, `{"deep":{"inner":{"a":1,"b":2}},"epochs":2,"params":{"lr":0.2,"size":4}}`, ""},
		"a part of a part":        {`{"deep.inner.b": 7}`, `{"deep":{"inner":{"a":1,"b":7}},"epochs":2,"params":{"lr":0.5,"size":8}}`, ""},
		"an unknown part":         {`{"params.rate": 1}`, "", "params.rate: There is no field “rate”. The fields are lr, size."},
		"a part of a number":      {`{"epochs.lr": 1}`, "", "epochs.lr: There is no field “epochs.lr”. The fields are epochs, params, deep."},
		"a part of a given part":  {`{"deep.inner": {"a": 5}, "deep.inner.b": 7}`, `{"deep":{"inner":{"a":5,"b":7}},"epochs":2,"params":{"lr":0.5,"size":8}}`, ""},
		"a part of no object":     {`{"deep.other.b": 7}`, "", "deep.other.b: There is no field “deep.other.b”. The fields are epochs, params, deep."},
		"an unknown name":         {`{"rate": 1}`, "", "rate: There is no field “rate”. The fields are epochs, params, deep."},
		"the name of a part":      {`{"lr": 1}`, "", "lr: There is no field “lr”. Did you mean “params.lr”?"},
		"the name of a deep part": {`{"b": 1}`, "", "b: There is no field “b”. Did you mean “deep.inner.b”?"},
		"a wrong value of a part": {`{"params.lr": "fast"}`, "", "params.lr: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			given, err := DecodeJSON([]byte(c.given))
			if err != nil {
				t.Fatal(err)
			}
			values, wrong := schema.CheckAll(given.(map[string]any), Env{})
			if c.want != "" {
				if diff := cmp.Diff(c.want, compactJSON(values)); diff != "" || len(wrong) > 0 {
					t.Error(diff, wrong)
				}
				return
			}
			if len(wrong) != 1 || len(wrong[0].Message) == 0 {
				t.Fatal(wrong)
			}
			if got := wrong[0].Path + ": " + wrong[0].Message; len(got) < len(c.wrong) || got[:len(c.wrong)] != c.wrong {
				t.Error(got)
			}
		})
	}
}

// Many parts of one object copy it once, not once each: twice as many need about twice the memory,
// not four times.
//
//nolint:paralleltest // it measures what the process allocates
func TestManyDottedNames(t *testing.T) {
	raw, err := DecodeJSON([]byte(`{"fields": [{"name": "params", "type": "Struct{a: Integer = 1}"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	schema, problems := Builtin().ParseSchema(raw, "input_schema")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	allocated := func(count int) uint64 {
		values := make(map[string]any, count)
		for i := range count {
			values["params.x"+strconv.Itoa(i)] = 1
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		out := schema.Assemble(values, Env{})
		runtime.ReadMemStats(&after)
		if params, _ := out["params"].(map[string]any); len(out) != 1 || len(params) != count {
			t.Errorf("%d values, %d parts", len(out), len(params))
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	if once, twice := allocated(2000), allocated(4000); twice > 3*once {
		t.Errorf("2,000 names allocate %d bytes, 4,000 names %d", once, twice)
	}
}
