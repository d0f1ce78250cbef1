package typeregistry

import (
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestMessages: what is wrong with the value, then what to enter.
func TestMessages(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ expr, value, path, want string }{
		{"Integer(min=1, max=16, unit=GPUs)", `64`, "", "64 is more than 16. Enter 1 to 16 GPUs."},
		{"Integer(min=1)", `0`, "", "0 is less than 1. Enter 1 or more."},
		{"Integer(min=1, max=16)", `"abc"`, "", "“abc” is not a whole number. Enter 1 to 16."},
		{"Integer", `1.5`, "", "1.5 is not a whole number. Enter a whole number."},
		{"Integer", `1e-4`, "", "1e-4 is not a whole number. Enter a whole number."},
		{"Integer", `1.5e1`, "", ""},
		{"Float(min=0.1)", `0.1`, "", ""},
		{"Float(exclusive_min=0, exclusive_max=1)", `0`, "", "0 is not more than 0. Enter a number that is more than 0 and less than 1."},
		{"Float(exclusive_min=0, exclusive_max=1)", `1.0`, "", "1 is not less than 1. Enter a number that is more than 0 and less than 1."},
		{"Float(exclusive_min=0, max=1, unit=s)", `2`, "", "2 is more than 1. Enter a number that is more than 0 s and at most 1 s."},
		{"Float(exclusive_min=0)", `-1`, "", "-1 is less than 0. Enter a number that is more than 0."},
		{"Float(exclusive_min=0)", `1e-9`, "", ""},
		{"Float", `1e400`, "", "The number is too large. Enter a number."},
		{"String(min_length=2, max_length=4)", `"a"`, "", "The text has 1 character. Enter 2 to 4 characters."},
		{"String", `"a\nb"`, "", "The text has a line break. Enter one line."},
		{`String(pattern="[a-z]+")`, `"aB"`, "", "“aB” does not match the pattern [a-z]+."},
		{"String(format=email)", `"ada"`, "", "“ada” is not an e-mail address. Enter an address such as ada@example.org."},
		{"Boolean", `"maybe"`, "", "“maybe” is not true or false. Choose yes or no."},
		{"Enum(bf16, fp16)", `"fp8"`, "", "“fp8” is not one of the options. Choose bf16 or fp16."},
		{`Date(min="2026-01-01")`, `"2025-12-31"`, "", "2025-12-31 is before 2026-01-01. Enter a date from 2026-01-01 on."},
		{"Date", `"24.01.2026"`, "", "“24.01.2026” is not a date. Enter a date, such as 2026-01-24."},
		{`Date(max=today)`, `"2026-11-22"`, "", "2026-11-22 is after 2026-11-21. Enter a date up to today."},
		{"DateRange", `{"from":"2026-02-01","to":"2026-01-01"}`, "to", "2026-01-01 is before the first day, 2026-02-01. Enter a day from 2026-02-01 on."},
		{"Duration", `"90"`, "", "“90” has no unit. Enter a duration such as 90 s or 90 min."},
		{"Duration", `"3 fortnights"`, "", "“fortnights” is not a unit of time. Enter days, h, min or s."},
		{`Duration(max="2h")`, `"3h 10m"`, "", "3 h 10 min is more than 2 h. Enter 2 h or less."},
		{"DateTime", `"2026-01-24T18:00"`, "", "“2026-01-24T18:00” has no time zone. Add one, such as Z, +01:00 or Europe/Berlin."},
		{"DateTime", `"2026-03-29T02:30 Europe/Berlin"`, "", "02:30 does not exist on 29 March 2026 in Europe/Berlin: the clocks go forward. Enter another time."},
		{"List<Integer>(max_items=1)", `[1, 2]`, "", "There are 2 entries. Enter up to 1 entry."},
		{"List<Integer>", `[1, "x"]`, "1", "“x” is not a whole number. Enter a whole number."},
		{"List<Integer>(unique=true)", `[1, 1.0]`, "1", "1 is already in the list. Enter another value."},
		{`Map<Integer>(key_pattern="[a-z]+")`, `{"A": 1}`, "A", "The key “A” does not match the pattern [a-z]+."},
		{"Struct{a: Struct{b: Integer}}", `{"a": {}}`, "a.b", "A value is required. Enter a whole number."},
		{"Struct{epochs: Integer}", `{"epochs": 1, "epocs": 2}`, "epocs", "There is no field “epocs”. Did you mean “epochs”?"},
		{"Union<Integer | Boolean>", `{"$type": "Text", "value": 1}`, "$type", "There is no variant “Text”. Choose Integer or Boolean."},
		{"Struct{low: Float @{validators: [{rule: less_than, field: high}]}, high: Float}", `{"low": 2, "high": 1}`, "low",
			"2 is not less than high (1). Enter a value less than 1."},
		{"Dataset", `"missing@1"`, "", "There is no dataset “missing@1” that you can use. Choose one from the list."},
		{"File(max_bytes=1024)", `{"$file": "aa00000000000000000000000000000000000000000000000000000000000011", "size": 1536}`, "", "The file has 1.5 KiB. Choose one of up to 1 KiB."},
		{"FeatureSet(features=[age: Integer])", `{"feature_set": "users@v1", "features": ["agee"]}`, "features.0", "There is no feature “agee” here. Choose age."},
	} {
		v, err := DecodeJSON([]byte(tc.value))
		if err != nil {
			t.Fatal(err)
		}
		env := Env{Now: time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC), Exists: func(_ Kind, ref string) bool { return ref != "missing@1" }}
		problems := mustParse(t, tc.expr).Check(v, env)
		var want []Problem
		if tc.want != "" {
			want = []Problem{{Path: tc.path, Message: tc.want}}
		}
		if diff := cmp.Diff(want, problems); diff != "" {
			t.Errorf("%s: %s:\n%s", tc.expr, tc.value, diff)
		}
	}
}

// TestProducedTexts: only people enter one line; programs write what they like.
func TestProducedTexts(t *testing.T) {
	t.Parallel()
	for _, expr := range []string{"String", "Optional<String>", "List<String>"} {
		value := any("a\nb")
		if expr == "List<String>" {
			value = []any{value}
		}
		if _, problems := mustParse(t, expr).CheckValue(value, Env{Produced: true}); len(problems) > 0 {
			t.Errorf("%s: %v", expr, problems)
		}
	}
	if _, problems := mustParse(t, "String(max_length=2)").CheckValue("a\nb", Env{Produced: true}); len(problems) != 1 {
		t.Errorf("the length is not checked: %v", problems)
	}
}

func TestCanonicalValues(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ expr, value, want string }{
		{"Integer", `1e3`, `1000`},
		{"Integer", `12345678901234567890123`, `12345678901234567890123`},
		{"Float", `1.50`, `1.5`}, {"Float", `3e-4`, `0.0003`}, {"Float", `100e-2`, `1`}, {"Float", `-0.0`, `0`}, {"Float", `0.00001`, `1e-5`},
		{"Duration", `"1h30m"`, `"PT1H30M"`}, {"Duration", `"2 h 30 min"`, `"PT2H30M"`}, {"Duration", `"90 s"`, `"PT1M30S"`},
		{"Duration", `"P1DT2H"`, `"PT26H"`}, {"Duration", `"pt1.5s"`, `"PT1.5S"`}, {"Duration", `"1,5 days"`, `"PT36H"`}, {"Duration", `"P2W"`, `"PT336H"`},
		{"DateTime", `"2026-01-24 18:00 Europe/Berlin"`, `"2026-01-24T18:00:00+01:00"`},
		{"DateTime", `"2026-10-25T02:30 Europe/Berlin"`, `"2026-10-25T02:30:00+02:00"`},
		{"DateTime", `"2026-01-24T18:00 UTC"`, `"2026-01-24T18:00:00Z"`},
		{"DateTime", `"2026-01-24T18:00 +05:30"`, `"2026-01-24T18:00:00+05:30"`},
		{"Dataset", `" mnist@1 "`, `{"$catalogue":"mnist@1"}`},
		{"Model", `"01900000-0000-7000-8000-00000000000A"`, `{"$artifact":"01900000-0000-7000-8000-00000000000a"}`},
		{"FeatureSet", `{"feature_store_ref": "fs://news_feed/user_features/v2"}`, `{"feature_set":"news_feed/user_features@v2"}`},
		{"Secret", `"api-key"`, `{"$secret":"api-key"}`},
		{"Connection<postgres>", `" warehouse "`, `{"$connection":"warehouse"}`},
		{`Connection(kind="s3")`, `{"$connection": "lake"}`, `{"$connection":"lake"}`},
		{"Union<Integer | String>", `5`, `{"$type":"Integer","value":5}`},
		{"Union<A: Struct{x: Integer} | B: Struct{y: Integer = 2}>", `{"$type": "B"}`, `{"$type":"B","y":2}`},
		{"Struct{a?: Integer, b: String = 'x', c: Optional<Date>}", `{}`, `{"a":null,"b":"x","c":null}`},
		{"Struct{h: HyperparameterSet{lr: Float = 0.1}}", `{}`, `{"h":{"lr":0.1}}`},
	} {
		v, err := DecodeJSON([]byte(tc.value))
		if err != nil {
			t.Fatal(err)
		}
		out, problems := mustParse(t, tc.expr).Normalize(v)
		if got := compactJSON(out); got != tc.want || len(problems) > 0 {
			t.Errorf("%s: %s became %s (%v), want %s", tc.expr, tc.value, got, problems, tc.want)
		}
	}
}

func TestPlainReadsWhatDecodersMake(t *testing.T) {
	t.Parallel()
	in := map[any]any{"a": uint64(1), "b": []any{int64(-2), 0.1, float32(2)}, 3: nil}
	want := `{"3":null,"a":1,"b":[-2,0.1,2]}`
	if got := compactJSON(Plain(in)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestFormRowsAndControls(t *testing.T) {
	t.Parallel()
	schema, problems := Builtin().ParseSchema([]any{
		map[string]any{"name": "tags", "type": "List<String>"},
		map[string]any{"name": "weights", "type": "Map<String, Float>"},
		map[string]any{"name": "opt", "type": "Union<Adam: Struct{beta: Float} | SGD: Struct{momentum: Float}>"},
		map[string]any{"name": "on", "type": "Boolean"},
		map[string]any{"name": "limit", "type": "Optional<Integer>", "default": 5},
		map[string]any{"name": "at", "type": "DateTime"},
		map[string]any{"name": "data", "type": "Dataset"},
		map[string]any{"name": "epochs", "type": "Integer", "default": 3, "required": true},
	}, "inputs")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	form := Form{Values: url.Values{
		"inputs.tags.$n": {"4"}, "inputs.tags.1": {"a"}, "inputs.tags.3": {"c"},
		"inputs.weights.$n": {"3"}, "inputs.weights.0.$key": {"w"}, "inputs.weights.0.$value": {"0.5"}, "inputs.weights.1.$key": {""}, "inputs.weights.1.$value": {""},
		"inputs.weights.2.$key": {"w"}, "inputs.weights.2.$value": {"x"},
		"inputs.opt.$type": {"SGD"}, "inputs.opt.Adam.beta": {"0.9"}, "inputs.opt.SGD.momentum": {"fast"},
		"inputs.on.$bool": {"1"}, "inputs.limit": {""}, "inputs.at": {"2026-01-24T18:00"}, "inputs.at.$zone": {"Europe/Berlin"},
		"inputs.epochs": {""},
	}, Files: map[string]UploadRef{"inputs.data": {SHA256: "ab", Name: "x.csv", Size: 3}}}
	values, problems2 := schema.DecodeForm(form, "inputs")
	want := `{"at":"2026-01-24T18:00 Europe/Berlin","data":{"$file":"ab","name":"x.csv","size":3},"limit":null,"on":false,` +
		`"opt":{"$type":"SGD","momentum":"fast"},"tags":["a","c"],"weights":{"w":"x"}}`
	if got := compactJSON(values); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	wantProblems := []Problem{
		{"weights.w", "The key “w” is used twice. Enter another key."},
		{"weights.w", "“x” is not a number. Enter a number."},
		{"epochs", "A value is required. Enter a whole number."},
	}
	if diff := cmp.Diff(wantProblems, problems2); diff != "" {
		t.Error(diff)
	}
	for path, control := range map[string]string{
		"opt.momentum": "inputs.opt.SGD.momentum", "opt": "inputs.opt.SGD", "tags.1": "inputs.tags.3", "tags": "inputs.tags",
		"weights.w": "inputs.weights.0.$value", "at": "inputs.at", "data": "inputs.data", "nothing": "inputs",
	} {
		if got := schema.Control(form, "inputs", path); got != control {
			t.Errorf("Control(%s) = %s, want %s", path, got, control)
		}
	}
}

// TestJSONTextsAreStorable: Postgres cannot store NUL in JSON.
func TestJSONTextsAreStorable(t *testing.T) {
	t.Parallel()
	for _, v := range []any{"\x00", []any{map[string]any{"a": "b\x00"}}, map[string]any{"\x00": true}, "\xff"} {
		if _, problems := mustParse(t, "JSON").CheckValue(v, Env{}); len(problems) != 1 {
			t.Errorf("%q: %v", v, problems)
		}
	}
	if _, problems := mustParse(t, "JSON").CheckValue(map[string]any{"a": `\u0000`}, Env{}); len(problems) > 0 {
		t.Errorf("an escaped backslash is refused: %v", problems)
	}
}

func TestJSONTextProblem(t *testing.T) {
	t.Parallel()
	v, present, problems := mustParse(t, "JSON").DecodeForm(Form{Values: url.Values{"x": {"{\n \"a\": }"}}}, "x")
	if len(problems) != 1 || !present || v != "{\n \"a\": }" {
		t.Fatalf("got %v %v %v", v, present, problems)
	}
	if want := "Line 2, column 7: enter a value before “}”."; problems[0].Message != want {
		t.Errorf("got %s, want %s", problems[0].Message, want)
	}
}

// TestJSONProblem: a syntax error has its line and column, and a correction if it is clear.
func TestJSONProblem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a": 1,}`:            "Line 1, column 9: remove the comma before “}”.",
		"[1,\n 2,\n]":          "Line 3, column 1: remove the comma before “]”.",
		`{a: 1}`:               "Line 1, column 2: enter a name in double quotation marks instead of “a”.",
		`{"ä": 'x'}`:           "Line 1, column 7: use double quotation marks instead of single ones.",
		`{"a" 1}`:              "Line 1, column 6: “1” is not expected here.",
		`{"a": `:               "The text is not a single complete JSON value. Enter JSON, such as {\"a\": 1}.",
		"{\n \"a\": }":         "Line 2, column 7: enter a value before “}”.",
		`{"a": 1 "b": "long"}`: "Line 1, column 9: “\"” is not expected here.",
	} {
		_, err := DecodeJSON([]byte(text))
		if err == nil {
			t.Errorf("%s is accepted", text)
		} else if got := JSONProblem(text, err); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
