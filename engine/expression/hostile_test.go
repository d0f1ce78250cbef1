package expression

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// hostile are texts that try to exhaust time or memory. Each must end with an error, or
// with a result when it is valid.
func hostile() map[string]string {
	doubled := func(start, op string, n int) string {
		var b strings.Builder
		fmt.Fprintf(&b, "let v0 = %s; ", start)
		for i := range n {
			fmt.Fprintf(&b, "let v%d = %s; ", i+1, strings.ReplaceAll(op, "@", fmt.Sprintf("v%d", i)))
		}
		return b.String()
	}
	return map[string]string{
		"a huge range":              `1..9000000000000000000`,
		"a range from far below":    `-9223372036854775807..9223372036854775807`,
		"many ranges":               `map(1..100000, 1..100000)`,
		"nested loops":              `map(1..1000, map(1..1000, map(1..1000, map(1..1000, 1))))`,
		"nested counts":             `count(1..100000, count(1..100000, # > 1) > 0)`,
		"nested reduce":             `reduce(1..1000, reduce(1..1000, reduce(1..1000, #acc + #, 0), 0), 0)`,
		"a growing reduce":          `reduce(1..100000, #acc + #acc, "x")`,
		"a growing list":            `reduce(1..1000, concat(#acc, #acc), [1])`,
		"texts that double":         doubled(`"xxxxxxxx"`, "@ + @", 60) + "len(v60)",
		"lists that double":         doubled("[1]", "concat(@, @)", 60) + "len(v60)",
		"shared lists as JSON":      doubled("[1]", "[@, @, @, @]", 40) + "toJSON(v40)",
		"shared lists as a text":    doubled("[1]", "[@, @, @, @]", 40) + "string(v40)",
		"shared lists as an answer": doubled("[1]", "[@, @, @, @]", 40) + "v40",
		"shared lists compared":     doubled("[1]", "[@, @, @, @]", 40) + "v40 == v39",
		"shared lists flattened":    doubled("[1]", "[@, @, @, @]", 40) + "flatten(v40)",
		"shared lists in a list":    doubled("[1]", "[@, @, @, @]", 40) + "v39 in v40",
		"shared objects":            doubled("{a: 1}", "{a: @, b: @, c: @}", 40) + "toJson(v40)",
		"shared lists sorted":       doubled("[1]", "[@, @, @, @]", 40) + "sortBy(v40, #)",
		"shared lists in sprig":     doubled("[1]", "[@, @, @, @]", 40) + "sprig.toString(v40)",
		"repeat":                    `repeat("x", 9000000000000000000)`,
		"repeat of repeat":          `repeat(repeat(repeat("x", 10000), 10000), 10000)`,
		"repeat in a loop":          `map(1..10000, repeat("x", 10000))`,
		"replace of nothing":        `replace(repeat("x", 100000), "", repeat("y", 100000))`,
		"join with long texts":      `join(map(1..10000, ""), repeat("x", 100000))`,
		"split in a loop":           `map(1..10000, split(repeat("x", 10000), ""))`,
		"upper in a loop":           `let s = repeat("x", 1000000); map(1..100000, upper(s))`,
		"comparing long texts":      `let s = repeat("x", 1000000); map(1..100000, s == s + "")`,
		"searching long texts":      `let s = repeat("x", 1000000); map(1..100000, s contains "y")`,
		"sorting long texts":        `let s = repeat("x", 1000000); sortBy(1..100000, s)`,
		"matching long texts":       `repeat("x", 1000000) matches "(x|y|z)*(a|b|c)*[x-z]{50}q"`,
		"a pattern that repeats":    `"x" matches "((abcdefghij){100}){10}"`,
		"a long pattern":            `"x" matches repeat("(a|b)", 1000)`,
		"patterns in a loop":        `map(1..100000, "x" matches string(#) + "{900}")`,
		"uniq of many":              `uniq(1..100000)`,
		"in a list, in a loop":      `let l = 1..100000; filter(l, # in l)`,
		"many JSON texts":           `map(1..100000, fromJSON(repeat("[", 50) + repeat("]", 50)))`,
		"deep JSON":                 `fromJSON(repeat("[", 9000) + repeat("]", 9000))`,
		"wide JSON":                 `fromJSON("[" + repeat("[],", 4000000) + "1]")`,
		"indented JSON":             `toJSON(fromJSON(repeat("[", 90) + "1" + repeat(",1", 20000) + repeat("]", 90)))`,
		"paths that multiply":       `jsonpath(repeat("[", 60) + "1" + repeat("]", 60), "$" + repeat("..*", 60))`,
		"paths with many names":     `jsonpath(repeat("[", 60) + "1" + repeat("]", 60), "$" + repeat("[0,0,0,0]", 60))`,
		"filters that multiply":     `jsonpath(toJson(1..10000), "$[?(count($, true) > 1)]")`,
		"sprig.repeat":              `sprig.repeat(9000000000000, "x")`,
		"sprig.until":               `sprig.until(9223372036854775807)`,
		"sprig.untilStep":           `sprig.untilStep(0, 9223372036854775807, 4611686018427387904)`,
		"sprig.seq":                 `sprig.seq(1, 1, 900000000)`,
		"sprig.indent":              `sprig.indent(1000000000, "x")`,
		"sprig.nindent":             `sprig.nindent(100000, repeat("\n", 100000))`,
		"sprig.wrapWith":            `sprig.wrapWith(1, repeat("x", 100000), repeat("y", 100000))`,
		"sprig.replace":             `sprig.replace("", repeat("x", 100000), repeat("y", 100000))`,
		"sprig.join":                `sprig.join(repeat("x", 100000), sprig.until(100000))`,
		"sprig.splitList":           `map(1..1000, sprig.splitList("", repeat("x", 100000)))`,
		"sprig.splitn":              `map(1..1000, sprig.splitn("", 100000, repeat("x", 100000)))`,
		"sprig.regexReplaceAll":     `sprig.regexReplaceAll("", repeat("x", 100000), repeat("y", 100000))`,
		"sprig's groups":            `sprig.regexReplaceAll("(.*)", repeat("x", 100000), repeat("$1", 100000))`,
		"sprig.regexFindAll":        `map(1..1000, sprig.regexFindAll("", repeat("x", 100000), -1))`,
		"sprig.uniq":                `sprig.uniq(sprig.until(100000))`,
		"sprig.without":             `sprig.without(sprig.until(1000), ` + strings.Repeat("1,", 1000) + `1)`,
		"a cycle by sprig.set":      `let d = {a: 1}; sprig.set(d, "self", d)`,
		"growth by sprig.set":       `reduce(1..100, sprig.set(#acc, "k", #acc), {a: 1})`,
		"sprig.deepCopy":            doubled("[1]", "sprig.list(@, @, @)", 40) + "sprig.deepCopy(v40)",
		"sprig.dict":                doubled(`{a: 1}`, `sprig.dict("a", @, "b", @)`, 40) + "sprig.toJson(v40)",
		"sprig.randAlpha":           `map(1..100000, sprig.randAlpha(1000))`,
		"sprig.cat":                 doubled(`"xxxxxxxx"`, "sprig.cat(@, @)", 60) + "len(v60)",
		"a long date layout":        `map(1..100000, date("2026-01-01").Format(repeat("Monday", 10000)))`,
		"trim by many characters":   `trim(repeat("é", 100000), repeat("ü", 100000) + "é")`,
		"sprig.trimAll":             `sprig.trimAll(repeat("ü", 100000) + "é", repeat("é", 100000))`,
		"len in a loop":             `let s = repeat("x", 1000000); map(1..100000, len(s))`,
		"zones in a loop":           `map(1..100000, timezone("Europe/Berlin"))`,
		"sprig's zones in a loop":   `map(1..100000, sprig.dateInZone("2006", 0, "Europe/Berlin"))`,
		"flatten of deep lists":     `let l = 1..100000; map(1..100, flatten([[[[[[[[[[l]]]]]]]]]]))`,
		"decimals":                  `map(1..100000, sprig.addf(1e300, 1e-300))`,
		"versions":                  `map(1..100000, sprig.semverCompare("^1.2.0 || >3", "1.2.3"))`,
		"deep brackets":             strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000),
		"deep lists":                strings.Repeat("[", 900) + strings.Repeat("]", 900),
		"deep negation":             strings.Repeat("!", 10000) + "true",
		"a long sum":                "1" + strings.Repeat("+1", 8000),
		"a long chain":              "a" + strings.Repeat(".a", 8000),
		"deep predicates":           strings.Repeat("map([1], ", 500) + "1" + strings.Repeat(")", 500),
		"deep conditions":           strings.Repeat("true ? ", 900) + "1" + strings.Repeat(" : 0", 900),
		"long":                      `"` + strings.Repeat("x", MaxLength) + `"`,
		"powers":                    doubled("10.0", "@ ** @", 60) + "v60",
		"a great number":            strings.Repeat("9", 10000),
	}
}

// harmless reports whether a hostile text is valid but unusual.
func harmless(name string) bool {
	switch name {
	case "deep brackets", "deep lists", "deep predicates", "deep conditions", "powers", "indented JSON", "a cycle by sprig.set":
		return true
	}
	return false
}

//nolint:paralleltest // it measures what the process allocates
func TestHostileExpressionsEnd(t *testing.T) {
	for name, text := range hostile() {
		t.Run(name, func(t *testing.T) {
			const steps, most = MaxSteps / 4, 200 << 20 // a quarter of the limit, for a quick test; -race allocates more
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			m := &meter{left: steps}
			e, err := ParseArgo(text)
			if err == nil {
				_, err = e.evaluate(map[string]any{}, false, m)
			}
			runtime.ReadMemStats(&after)
			if made := after.TotalAlloc - before.TotalAlloc; made > most {
				t.Errorf("it allocated %d MiB", made>>20)
			}
			if err == nil && !harmless(name) {
				t.Errorf("no error after %d steps", steps-m.left)
			}
			if err != nil && len(err.Error()) > 1000 {
				t.Errorf("a message of %d bytes", len(err.Error()))
			}
			t.Logf("%d steps, %d KiB: %v", steps-m.left, (after.TotalAlloc-before.TotalAlloc)>>10, err)
		})
	}
}

// The same work costs the same steps each time, so what ends once ends always.
func TestStepsDoNotDependOnTheMachine(t *testing.T) {
	t.Parallel()
	e, err := ParseArgo(`map(filter(1..1000, # % 2 == 0), ({a: #, b: string(#) + "x", c: keys({z: 1, y: 2})}))`)
	if err != nil {
		t.Fatal(err)
	}
	steps := -1
	for range 3 {
		m := newMeter()
		if _, err := e.evaluate(nil, false, m); err != nil {
			t.Fatal(err)
		}
		if steps >= 0 && m.left != steps {
			t.Errorf("%d steps left, and %d before", m.left, steps)
		}
		steps = m.left
	}
	if spent := MaxSteps - steps; spent < 1000 || spent > 100_000 {
		t.Errorf("%d steps for a thousand turns", spent)
	}
}

// A fan-out of the greatest size that a workflow may have is well within the budget.
func TestTenThousandItemsFit(t *testing.T) {
	t.Parallel()
	items := make([]any, 10_000)
	for i := range items {
		items[i] = map[string]any{"name": fmt.Sprintf("shard-%05d", i), "size": i}
	}
	e, err := ParseArgo(`toJson(map(filter(items, .size % 2 == 0), ({name: .name, half: .size / 2})))`)
	if err != nil {
		t.Fatal(err)
	}
	m := newMeter()
	got, err := e.evaluate(map[string]any{"items": items}, false, m)
	if err != nil {
		t.Fatal(err)
	}
	if text := got.(string); !strings.HasPrefix(text, `[{"half":0,"name":"shard-00000"},{"half":1,`) {
		t.Errorf("got %.80s", text)
	}
	t.Logf("%d steps", MaxSteps-m.left)
}

func TestHostileTemplatesEnd(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	bomb := Scope{Lookup: func(string) (string, bool) { return long, true }}
	if _, err := bomb.RenderString(strings.Repeat("{{a}}", 100)); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("a bomb: %v", err)
	}
	self := Scope{Lookup: func(string) (string, bool) { return "{{a{{a}}}}{{a{{a}}}}", true }}
	got, err := self.RenderString("{{a{{a}}}}")
	if err == nil && len(got) > MaxRendered {
		t.Errorf("tags that make tags: %d bytes", len(got))
	}
	for name, text := range map[string]string{
		"many tags": strings.Repeat("{{a}}", maxTags+1), "too long": "{{a}}" + strings.Repeat("x", MaxTemplate),
		"many loops": strings.Repeat("{{=len(1..100000)}}", 100),
	} {
		if _, err := (Scope{Lookup: func(string) (string, bool) { return "", true }}).RenderString(text); err == nil {
			t.Errorf("%s is no error", name)
		}
	}
	if _, err := (Scope{Partial: true}).RenderString(strings.Repeat("{{={}}"+strings.Repeat(" ", 2_000), 1_900)); !errors.Is(err, errTooMuch) {
		t.Errorf("long expressions: %v", err)
	}
	list := make([]any, 50_000)
	for i := range list {
		list[i] = "{{=(}}"
	}
	if _, err := (Scope{Partial: true}).RenderValue(list); !errors.Is(err, errTooMuch) {
		t.Errorf("many expressions: %v", err)
	}
	for _, text := range []string{strings.Repeat("{{", 100_000), strings.Repeat("{{=", 1000) + "}}", strings.Repeat("}}", 100_000), strings.Repeat("{{=(}}", 900)} {
		if got, err := (Scope{Partial: true}).RenderString(text); err != nil || got != text {
			t.Errorf("%.20s…: %v", text, err)
		}
	}
}

func TestTooMuchIsFoundByPrograms(t *testing.T) {
	t.Parallel()
	e, err := Parse(`map(1..1000, map(1..1000, #))`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = e.Value(nil); !errors.Is(err, errTooMuch) {
		t.Errorf("got %v", err)
	}
}
