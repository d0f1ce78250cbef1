package expression

import (
	"encoding/json"
	"flag"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/flowforge/flowforge/apperr"
)

// checkAnswer fails when an evaluation exceeded its budget, returned a value that is
// not plain or not bounded, or failed with an error that is not for users.
func checkAnswer(t *testing.T, m *meter, v any, err error) {
	t.Helper()
	if m.left < 0 {
		t.Errorf("it exceeded the budget by %d steps", -m.left)
	}
	if err != nil {
		checkError(t, err)
		return
	}
	func() {
		defer func() {
			if p := recover(); p != nil {
				t.Errorf("the result is larger than the budget: %v", p)
			}
		}()
		newMeter().weigh(v)
	}()
	checkPlain(t, v)
}

func checkError(t *testing.T, err error) {
	t.Helper()
	if apperr.CodeOf(err) != apperr.Invalid {
		t.Errorf("the error has the code %q: %v", apperr.CodeOf(err), err)
	}
	if s := err.Error(); len(s) > 4_000 || strings.ContainsAny(s, "\x00\n") || strings.Contains(s, "goroutine") {
		t.Errorf("the message is not for users: %q", s)
	}
}

func checkPlain(t *testing.T, v any) {
	t.Helper()
	switch v := v.(type) {
	case nil, bool, int64, float64, string:
	case []any:
		for _, e := range v {
			checkPlain(t, e)
		}
	case map[string]any:
		for _, e := range v {
			checkPlain(t, e)
		}
	default:
		t.Errorf("%T is no plain value", v)
	}
}

func FuzzExpression(f *testing.F) {
	if flag.Lookup("test.fuzz").Value.String() != "" {
		for _, text := range hostile() { // they have a test of their own
			f.Add(text)
		}
	}
	for _, text := range []string{
		`inputs.n > 3 && nodes["my-op"].status == "FAILED"`, `map(inputs.many, .lr)`, `sprig.upper(inputs.name) + string(index)`,
		`inputs?.a?.b ?? item.lr`, `let x = inputs.list; sum(x) / len(x)`, `date("2026-01-02").Add(duration("1h")).Format("2006")`,
		`jsonpath(toJson(inputs), "$.many[?(@.lr > 0.1)]..lr")`, `groupBy(inputs.list, # % 2)`, `sortBy(1..20, -#)`, `reduce(1..9, #acc * #)`,
		`sprig.dict("a", 1)`, `if index > 1 { "a" } else { b"b" }`, `inputs | keys() | join(",")`, `"a" in item and not (1 in [2])`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, parse := range []func(string) (*Expression, error){Parse, ParseArgo} {
			e, err := parse(text)
			if err != nil {
				checkError(t, err)
				continue
			}
			for _, name := range e.Names() {
				if strings.Contains(name, helper) {
					t.Errorf("it reads %q", name)
				}
			}
			m := newMeter()
			v, err := e.evaluate(env(), !e.dialect.sprig, m)
			checkAnswer(t, m, v, err)
		}
	})
}

func FuzzTemplate(f *testing.F) {
	for _, text := range []string{
		"{{inputs.parameters.message}} {{=1 + 1}} {{ item }}", "{{inputs.parameters.{{item}}}}", "{{={a: {b: 1}}}}", "{{{{}}}}", "{{=}}", "{{=retries}}", "a {{ b", "{{=[[1]][0]}}", "{{a{{=1}}}}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tpl, err := ParseTemplate(text)
		if err != nil {
			checkError(t, err)
			return
		}
		var b strings.Builder
		for _, p := range tpl.parts {
			b.WriteString(p.text)
		}
		if b.String() != text {
			t.Errorf("its parts are %q", b.String())
		}
		s := scope()
		if got, err := s.render(tpl, newMeter(), 0); err != nil {
			checkError(t, err)
		} else if len(got) > MaxRendered {
			t.Errorf("%d bytes", len(got))
		}
		s.Partial = true
		if _, err := s.render(tpl, newMeter(), 0); err != nil {
			checkError(t, err)
		}
		got, err := s.RenderValue(map[string]any{"a": []any{text}})
		if err == nil && utf8.ValidString(text) {
			if _, err := json.Marshal(got); err != nil {
				t.Errorf("no JSON: %v", err)
			}
		}
	})
}

func FuzzWhen(f *testing.F) {
	for _, text := range []string{
		`heads == tails`, `"a" == 'a'`, `3 > 2 && (a != b)`, `'a' in ('a','b')`, `x =~ "a{100}"`, `[a b] !~ b`, `1 + 2 ** 3 == 9`, `true ? 1 : 2`, `"2026-01-01" < "2026-01-02"`, `a ?? b == c`, `~1 == -2`, `0xFF >> 1 == 127`, `a.b == 1`, `(((true)))`, `"\"" == '\''`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := When(text); err != nil {
			checkError(t, err)
		}
	})
}

func FuzzJSONPath(f *testing.F) {
	const doc = `{"a":[{"b":1,"c":[1,2,[3]]},{"b":"x"}],"d":{"e":null,"f":true}}`
	for _, path := range []string{`$`, `$.a[0].b`, `$..b`, `$.a[*].c[-1:]`, `$['d','a']`, `$.a[?(@.b == 1)]`, `$..[?(@.c[0] > $.a[0].b)]`, `$..*..*`, `$[?(@)]`, `$[::2]`} {
		f.Add(doc, path)
	}
	e, err := ParseArgo(`jsonpath(doc, path)`)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, doc, path string) {
		m := newMeter()
		v, err := e.evaluate(map[string]any{"doc": doc, "path": path}, false, m)
		checkAnswer(t, m, v, err)
	})
}
