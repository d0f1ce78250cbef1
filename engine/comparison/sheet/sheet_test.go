package sheet

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
)

func paths(facts []Fact) []string {
	var out []string
	for _, f := range facts {
		out = append(out, f.Path+"="+Text(f.Value))
	}
	return out
}

func TestFlatten(t *testing.T) {
	t.Parallel()
	long := make([]any, listParts+1)
	got := paths(Flatten(Inputs, "model", map[string]any{
		"optimizer": map[string]any{"$type": "SGD", "lr": json.Number("0.10")},
		"layers":    []any{map[string]any{"size": 3}, "x"}, "none": map[string]any{}, "long": long,
		"data": map[string]any{"$catalogue": "digits@1"},
	}))
	want := []string{
		"model.data=digits@1", "model.layers[0].size=3", "model.layers[1]=x", "model.long=" + Text(long),
		"model.none={}", "model.optimizer.$type=SGD", "model.optimizer.lr=0.1",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestIdentity: values are equal if their kind and all their digits are.
func TestIdentity(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b any
		same bool
	}{
		{json.Number("9007199254740993"), json.Number("9007199254740992"), false},
		{int64(9007199254740993), int64(9007199254740992), false},
		{"1", 1, false},
		{"null", nil, false},
		{"true", true, false},
		{json.Number("0.10"), 0.1, true},
		{json.Number("1000"), json.Number("1e3"), true},
		{json.Number("-0"), 0, true},
		{json.Number("100"), json.Number("10"), false},
		{json.Number("-5"), 5, false},
		{1e21, json.Number("1000000000000000000000"), true},
		{json.Number("1e99999999999999999999"), json.Number("1e99999999999999999998"), false},
	} {
		fact := func(v any) []Fact { return []Fact{{Section: Inputs, Path: "seed", Value: v}} }
		rows := Compare([][]Fact{fact(c.a), fact(c.b)}, 0)
		if rows[0].Differs == c.same || rows[0].Cells[1].Changed == c.same {
			t.Errorf("%#v and %#v: differs is %v", c.a, c.b, rows[0].Differs)
		}
	}
	if got := Text(json.Number("9007199254740993")); got != "9007199254740993" {
		t.Errorf("a large number is shown as %s", got)
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	fact := func(section Section, path string, v any) Fact { return Fact{Section: section, Path: path, Value: v} }
	accuracy := func(v float64) Fact {
		return Fact{Section: Metrics, Path: "accuracy", Statistic: Last, Value: v, Better: Higher}
	}
	rows := Compare([][]Fact{
		{fact(Outputs, "b", 1), fact(Inputs, "lr", json.Number("0.1")), fact(Inputs, "dropout", 0.5), accuracy(0.9), {Section: Artifacts, Path: "model", Value: "id1", Same: "sha"}},
		{fact(Inputs, "lr", 0.1), fact(Inputs, "dropout", 0.25), accuracy(math.NaN()), {Section: Artifacts, Path: "model", Value: "id2", Same: "sha"}},
		{fact(Inputs, "lr", 0.1), fact(Inputs, "dropout", "off"), accuracy(0.95), {Section: Artifacts, Path: "model", Value: "id3", Same: "sha"}},
	}, 1)
	byPath := map[string]Row{}
	var order []string
	for _, r := range rows {
		byPath[r.Path] = r
		order = append(order, r.Path)
	}
	if want := []string{"dropout", "lr", "accuracy", "b", "model"}; !reflect.DeepEqual(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
	if byPath["lr"].Differs || byPath["model"].Differs {
		t.Error("equal numbers and equal bytes differ")
	}
	if !byPath["b"].Differs || byPath["b"].Cells[1].Present || !byPath["b"].Cells[0].Changed {
		t.Errorf("a value that others lack: %+v", byPath["b"])
	}
	dropout := byPath["dropout"].Cells
	if dropout[0].Delta == nil || *dropout[0].Delta != 0.25 || dropout[1].Delta != nil || dropout[1].Changed || dropout[2].Delta != nil || !dropout[2].Changed {
		t.Errorf("dropout %+v", dropout)
	}
	if c := byPath["accuracy"].Cells; c[0].Best || c[1].Best || !c[2].Best || c[0].Delta != nil {
		t.Errorf("accuracy %+v", c)
	}
	same, differing := Rest(rows)
	if len(same) != 2 || len(differing) != 3 {
		t.Errorf("%d same, %d differ", len(same), len(differing))
	}
}

func TestReferencesAreShownByName(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"$catalogue", "$secret", "$connection"} {
		if got := Text(map[string]any{key: "digits@2"}); got != "digits@2" {
			t.Errorf("%s: %s", key, got)
		}
	}
}
