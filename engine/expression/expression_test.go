package expression

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/flowforge/flowforge/apperr"
	"pgregory.net/rapid"
)

// env is like decoded JSON, with every type of number that callers use.
func env() map[string]any {
	return map[string]any{
		"inputs": map[string]any{
			"rate": json.Number("0.5"), "n": json.Number("7"), "big": json.Number("123456789012345678901234567890"), "name": "cat", "on": true,
			"list": []any{json.Number("3"), int64(1), 2.0}, "many": []any{map[string]any{"lr": 0.1}, map[string]any{"lr": json.Number("0.2")}},
			"none": nil,
		},
		"nodes": map[string]any{
			"train": map[string]any{"status": "SUCCEEDED", "outputs": map[string]any{"accuracy": 0.93, "files": []string{"a", "b"}}},
			"my-op": map[string]any{"status": "FAILED", "exit_code": int32(137)},
		},
		"item":  map[string]any{"lr": 0.1, "i": int64(4)},
		"index": 4,
	}
}

func TestExpressionsGiveTheirValues(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		`inputs.n > 3`:   true,
		`inputs.n == 7`:  true,
		`inputs.n + 1`:   int64(8),
		`inputs.rate`:    0.5,
		`inputs.big > 1`: true,
		`nodes.train.outputs.accuracy >= 0.9 && nodes.train.status == "SUCCEEDED"`: true,
		`nodes["my-op"].status`:                             "FAILED",
		`nodes["my-op"].exit_code in [137, 143]`:            true,
		`item.lr * 10`:                                      1.0,
		`item.i == index`:                                   true,
		`inputs.missing ?? 3`:                               int64(3),
		`inputs?.missing?.deeper ?? "x"`:                    "x",
		`inputs.missing == nil`:                             true,
		`inputs.none == nil`:                                true,
		`inputs.none?.x`:                                    nil,
		`"lr" in item ? item.lr : 0`:                        0.1,
		`"x" in item ? item.x : 0`:                          int64(0),
		`get(item, "x") ?? 1`:                               int64(1),
		`sum(inputs.list)`:                                  6.0,
		`map(inputs.many, .lr)`:                             []any{0.1, 0.2},
		`map(inputs.many, #.lr * 10)[1]`:                    2.0,
		`filter(inputs.list, # > 1)`:                        []any{int64(3), 2.0},
		`inputs.list[0]`:                                    int64(3),
		`inputs.list[-1]`:                                   2.0,
		`inputs.list[0:1]`:                                  []any{int64(3)},
		`inputs[inputs.name == "cat" ? "n" : "rate"]`:       int64(7),
		`let x = inputs.n; x * x`:                           int64(49),
		`let x = inputs; x.n`:                               int64(7),
		`1..3`:                                              []any{int64(1), int64(2), int64(3)},
		`3..1`:                                              []any{},
		`"abc" matches "^a.c$"`:                             true,
		`not ("b" in ["a"])`:                                true,
		`"a" + "b"`:                                         "ab",
		`repeat("ab", 3)`:                                   "ababab",
		`join(nodes.train.outputs.files, "-")`:              "a-b",
		`split("a,b", ",")`:                                 []any{"a", "b"},
		`replace("aXbX", "X", "--")`:                        "a--b--",
		`trim("--x--", "-") + string(len("é"))`:             "x1",
		`flatten([1, [2, [3, []]]])`:                        []any{int64(1), int64(2), int64(3)},
		`"  x " | trim() | upper()`:                         "X",
		`keys({b: 1, a: 2})`:                                []any{"a", "b"},
		`toPairs({b: 1, a: 2})`:                             []any{[]any{"a", int64(2)}, []any{"b", int64(1)}},
		`{a: [1, {b: nil}]}`:                                map[string]any{"a": []any{int64(1), map[string]any{"b": nil}}},
		`uniq([1, 2, 1, "1"])`:                              []any{int64(1), int64(2), "1"},
		`fromJSON('{"a": [1.5, 2]}').a`:                     []any{1.5, int64(2)},
		`toJson({b: [1, "<x>"], a: 1.5})`:                   `{"a":1.5,"b":[1,"<x>"]}`,
		`asInt("12") + asFloat("0.5")`:                      12.5,
		`jsonpath('{"a":[{"b":1},{"b":2}]}', '$.a[*].b')`:   []any{int64(1), int64(2)},
		`reduce(1..4, #acc + #, 0)`:                         int64(10),
		`count(inputs.list, # == 1)`:                        int64(1),
		`sortBy(inputs.many, -.lr)[0].lr`:                   0.2,
		`groupBy([1, 2, 3], # % 2 == 0 ? "even" : "odd")`:   map[string]any{"even": []any{int64(2)}, "odd": []any{int64(1), int64(3)}},
		`duration("90m")`:                                   "1h30m0s",
		`duration("90m").Hours()`:                           1.5,
		`date("2026-01-02").Year()`:                         int64(2026),
		`date("2026-01-02T03:04:05Z")`:                      "2026-01-02T03:04:05Z",
		`inputs.on ? 1 : inputs.missing`:                    int64(1),
		`if inputs.on { "yes" } else { "no" }`:              "yes",
		`len(inputs.list) == 3 and all(inputs.list, # > 0)`: true,
	} {
		e, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := e.Value(env())
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s = %#v, %v; want %#v", text, got, err, want)
		}
	}
}

func TestErrorsAreForPeople(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`inputs.rat > 3`:       `not valid at column 1: there is no inputs.rat: did you mean inputs.rate?`,
		`1 + nodez.train`:      `not valid at column 5: there is no nodez: did you mean nodes?`,
		`item.lr.x`:            `not valid at column 1: item.lr is the number 0.1, which has no «x»`,
		`inputs.none.x == 1`:   `inputs.none is null, which has no «x»`,
		`inputs.name && true`:  `expected true or false, got a string`,
		`inputs.name > 3`:      `operator > does not apply to a string and a number`,
		`filter([1], #)`:       `expected true or false, got a number`,
		`foo(1)`:               `there is no function foo`,
		`splitt("a", "b")`:     `there is no function splitt: did you mean split?`,
		`$env`:                 `$env cannot be used as a value`,
		`now()`:                `evaluation must be repeatable`,
		`1 +`:                  `at column 3: unexpected end`,
		"1 ==\n  ==":           `at line 2, column 3: unexpected token`,
		`asInt("a")`:           `asInt: the text «a» is not an integer`,
		`repeat(1, 2)`:         `repeat: argument 1 must be a string, but is the number 1`,
		`keys([1])`:            `keys: argument 1 must be an object, but is a list`,
		`inputs.list["a"]`:     `inputs.list is a list, which has no «a»`,
		`inputs.list[7]`:       `index 7 is out of range: the list has 3 elements`,
		`"a" matches "("`:      `is not a valid pattern: missing closing )`,
		`fromJSON("{")`:        `is not valid JSON`,
		`fromJSON("5}")`:       `contains more than one JSON value`,
		`fromJSON("5]")`:       `contains more than one JSON value`,
		`fromJSON("5 6")`:      `contains more than one JSON value`,
		`sprig.upper("a")`:     `there is no sprig`,
		`date("2026-01-02").x`: `x`,
		`inputs.list.map()`:    `method map of a list`,
		``:                     `The expression is empty.`,
		"a\x00b":               `NUL`,
	} {
		err := evaluate(text)
		if err == nil || !strings.Contains(err.Error(), want) || apperr.CodeOf(err) != apperr.Invalid {
			t.Errorf("%s:\n got %v\nwant %s", text, err, want)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\x00\n") {
			t.Errorf("%s: the message is not one clean line: %q", text, err)
		}
	}
}

func evaluate(text string) error {
	e, err := Parse(text)
	if err != nil {
		return err
	}
	_, err = e.Value(env())
	return err
}

func TestBoolRequiresABool(t *testing.T) {
	t.Parallel()
	e, err := Parse(`inputs.name`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = e.Bool(env()); err == nil || err.Error() != "The expression «inputs.name» must be true or false, but is the text «cat»." {
		t.Errorf("got %v", err)
	}
}

func TestUnknownNamesAreFoundByPrograms(t *testing.T) {
	t.Parallel()
	u, ok := errors.AsType[*UnknownError](evaluate(`nodes.trian.status == "x"`))
	if !ok || u.Name != "nodes.trian" || !slices.Equal(u.Near, []string{"nodes.train"}) {
		t.Errorf("got %+v", u)
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`inputs.rate > 0 && nodes.train.outputs.accuracy < 1 && nodes.train.status == "x"`: {"inputs.rate", "nodes.train.outputs.accuracy", "nodes.train.status"},
		`nodes["my-op"].status`:             {"nodes.my-op.status"},
		`item + item`:                       {"item"},
		`item.lr`:                           {"item.lr"},
		`index`:                             {"index"},
		`nodes[item].status`:                {"item", "nodes"},
		`inputs.list[0].x`:                  {"inputs.list"},
		`let x = inputs.a; x.b + inputs.c`:  {"inputs.a", "inputs.c"},
		`map(inputs.list, {let y = #; y})`:  {"inputs.list"},
		`filter(inputs.list, .x == item.y)`: {"inputs.list", "item.y"},
		`inputs.a ?? 1`:                     {"inputs.a?"},
		`inputs?.a.b`:                       {"inputs?"},
		`inputs.a == nil ? 0 : inputs.a`:    {"inputs.a"},
		`1 + 2`:                             nil,
		`"inputs.a"`:                        nil,
		`len(keys(inputs)) > index`:         {"index", "inputs"},
		`lastRetry.exitCode`:                {"lastRetry.exitCode"},
	} {
		e, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for _, r := range e.References() {
			name := r.String()
			if r.Optional {
				name += "?"
			}
			got = append(got, name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s reads %q, want %q", text, got, want)
		}
	}
}

func TestArgosRetryExpressions(t *testing.T) {
	t.Parallel()
	last := map[string]any{"lastRetry": map[string]any{"exitCode": "137", "status": "Error", "duration": "12", "message": "node lost"}}
	for text, want := range map[string]bool{
		`asInt(lastRetry.exitCode) >= 2`:                                        true,
		`lastRetry.status == "Error"`:                                           true,
		`lastRetry.exitCode != '2'`:                                             true,
		`lastRetry.status == "Failed" || asInt(lastRetry.exitCode) in [137, 1]`: true,
		`asInt(lastRetry.duration) < 10`:                                        false,
		`lastRetry.message matches 'lost$'`:                                     true,
		`sprig.contains("lost", lastRetry.message)`:                             true,
		`sprig.int(lastRetry.exitCode) == 137`:                                  true,
	} {
		e, err := ParseArgo(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := e.Bool(last); err != nil || got != want {
			t.Errorf("%s = %v, %v", text, got, err)
		}
	}
}

func TestExpressionsLeaveTheirEnvironmentAlone(t *testing.T) {
	t.Parallel()
	given := env()
	for _, text := range []string{`sprig.set(inputs, "x", 1)`, `sprig.unset(inputs, "n")`, `sprig.merge(item, {a: 1})`, `sortBy(inputs.list, #)`, `sort(inputs.list)`} {
		e, err := ParseArgo(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = e.Value(given); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if !reflect.DeepEqual(given, env()) {
			t.Fatalf("%s changed its environment: %v", text, given)
		}
	}
}

// Numbers compare by their value, however they were decoded.
func TestNumbersOfAnyTypeAreOneKind(t *testing.T) {
	t.Parallel()
	e, err := Parse(`a == b && a >= b && a <= b && [a] == [b] && a in [b] && a + 1 > b`)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int32().Draw(t, "n")
		encoded, err := json.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		forms := []any{int(n), int64(n), n, float64(n), json.Number(encoded)}
		a, b := rapid.SampledFrom(forms).Draw(t, "a"), rapid.SampledFrom(forms).Draw(t, "b")
		if got, err := e.Bool(map[string]any{"a": a, "b": b}); err != nil || !got {
			t.Fatalf("%T(%v) and %T(%v): %v, %v", a, a, b, b, got, err)
		}
	})
}

func TestValuesThatHaveNoPlaceAreErrors(t *testing.T) {
	t.Parallel()
	cyclic := map[string]any{}
	cyclic["self"] = cyclic
	for name, v := range map[string]any{"a cycle": cyclic, "a channel": make(chan int), "no number": json.Number("x")} {
		e, err := Parse(`x`)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := e.Value(map[string]any{"x": v}); apperr.CodeOf(err) != apperr.Invalid {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	e, err := Parse(`x > 1`)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := e.Bool(map[string]any{"x": math.Inf(1)}); err != nil || !got {
		t.Errorf("infinity: %v, %v", got, err)
	}
}
