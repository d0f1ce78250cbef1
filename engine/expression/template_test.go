package expression

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/flowforge/flowforge/apperr"
	"pgregory.net/rapid"
)

// scope is the scope of an Argo template: simple tags by name, and the same values as
// nested maps.
func scope() Scope {
	flat := map[string]string{
		"inputs.parameters.message":             "hello",
		"inputs.parameters.my-x":                "5",
		"inputs.parameters":                     `{"message":"hello"}`,
		"steps.flip-coin.outputs.result":        "heads",
		"tasks.a.outputs.parameters.b":          "B",
		"tasks.a[0].ip":                         "10.0.0.1",
		"item":                                  "debian",
		"item.os":                               "linux",
		"workflow.creationTimestamp.Y":          "2026",
		"workflow.parameters.quote":             "say \"hi\"\nback\\slash",
		"inputs.parameters.debian":              "nested",
		"workflow.parameters.dangerous":         "{{item}}",
		"inputs.artifacts.in.path":              "/tmp/in",
		"outputs.parameters.metric-1.path":      "/tmp/m",
		"resourcesDuration.cpu":                 "12",
		"workflow.annotations.a.b/c":            "annotated",
		"workflow.scheduledTime":                "2026-01-02T03:04:05Z",
		"inputs.parameters.with space":          "odd",
		"tasks.loop(0:a).outputs.result":        "first",
		"steps.generate.outputs.parameters.num": "1",
	}
	return Scope{
		Lookup: func(name string) (string, bool) { v, ok := flat[name]; return v, ok },
		Env: map[string]any{
			"inputs": map[string]any{"parameters": map[string]any{
				"x": "3", "my-x": "5", "json": `{"some": {"path": [1, 2]}, "t": "v"}`, "list": `["a","b"]`, "on": "true", "text": "  padded ", "empty": "",
			}},
			"tasks":    map[string]any{"a-b": map[string]any{"outputs": map[string]any{"result": "tails"}, "status": "Succeeded"}},
			"workflow": map[string]any{"status": "Failed", "name": "wf", "parameters": map[string]any{"json": `{}`}},
			"item":     "debian",
		},
	}
}

func TestTagsAreReplaced(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain":                         "plain",
		"":                              "",
		"{{inputs.parameters.message}}": "hello",
		"{{ inputs.parameters.message }} {{item}}!":                  "hello debian!",
		"{{steps.flip-coin.outputs.result}} == heads":                "heads == heads",
		"{{tasks.a[0].ip}}":                                          "10.0.0.1",
		"{{workflow.creationTimestamp.Y}}":                           "2026",
		"{{inputs.parameters.with space}}":                           "odd",
		"{{tasks.loop(0:a).outputs.result}}":                         "first",
		"{{workflow.annotations.a.b/c}}":                             "annotated",
		"{{inputs.parameters.{{item}}}}":                             "nested",
		"{{workflow.parameters.dangerous}}":                          "{{item}}",
		"a {{ b":                                                     "a {{ b",
		"a }} b":                                                     "a }} b",
		"{{=1 + 2}}":                                                 "3",
		"{{= 1.5 }}":                                                 "1.5",
		"{{=true}}":                                                  "true",
		"{{=asInt(inputs.parameters.x) * 2}}":                        "6",
		"{{=asFloat(inputs.parameters['my-x']) / 2}}":                "2.5",
		"{{=string(1)}}":                                             "1",
		"{{=toJson([1, 2])}}":                                        "[1,2]",
		"{{=[1, 2]}}":                                                "[1,2]",
		"{{=filter([1, 2], { # > 1})}}":                              "[2]",
		"{{=map([1, 2], { # * 2 })}}":                                "[2,4]",
		"{{={a: {b: 1}}}}":                                           `{"a":{"b":1}}`,
		"{{=sprig.trim(inputs.parameters['text'])}}":                 "padded",
		"{{=jsonpath(inputs.parameters.json, '$.t')}}":               "v",
		"{{=jsonpath(inputs.parameters.json, '$.some.path')}}":       "[1,2]",
		"{{=tasks['a-b'].outputs.result}}":                           "tails",
		"{{=workflow.status == 'Failed' ? 'bad' : 'good'}}":          "bad",
		"{{=inputs.parameters.missing ?? 'none'}}":                   "none",
		"{{=inputs.parameters['missing'] == nil ? 'unset' : 'set'}}": "unset",
		"{{=toBase64(item)}}":                                        "ZGViaWFu",
		"{{=sprig.int('7') + 1}}":                                    "8",
		"{{=sprig.sub(5, 2)}}":                                       "3",
		"{{=sprig.int64(inputs.parameters.x) - 1}}":                  "2",
		"{{=sprig.dateInZone('2006', sprig.toDate('2006-01-02', '2026-05-06'), 'UTC')}}": "2026",
		"{{=sprig.fromJson(inputs.parameters.list)[1]}}":                                 "b",
		"{{=sprig.toString(sprig.add(1, 2, 3))}}":                                        "6",
		"{{=sprig.ternary('a', 'b', inputs.parameters.on == 'true')}}":                   "a",
		"{{=sprig.regexReplaceAll('[0-9]+', 'a1b22', '<${0}>')}}":                        "a<1>b<22>",
		"{{=sprig.semver('1.2.3').Major()}}":                                             "1",
		"{{=sprig.dig('a', 'b', 'x', {a: {b: 1}})}}":                                     "1",
		"{{=sprig.until(3)}}":                                                            "[0,1,2]",
		"{{=sprig.seq(1, 3)}}":                                                           "1 2 3",
		"{{=sprig.default('d', inputs.parameters.empty)}}":                               "d",
		"{{=sprig.repeat(3, 'ab')}}":                                                     "ababab",
		"{{=sprig.join('-', ['a', 'b'])}}":                                               "a-b",
		"{{=sprig.splitList(',', 'a,b')}}":                                               `["a","b"]`,
		"{{=sprig.merge({a: 1}, {b: 2})}}":                                               `{"a":1,"b":2}`,
		"x={{=sprig.upper(workflow.name)}}, y={{inputs.parameters.message}}, z":          "x=WF, y=hello, z",
	} {
		if got, err := scope().RenderString(text); err != nil || got != want {
			t.Errorf("%s = %q, %v; want %q", text, got, err, want)
		}
	}
}

// From the tests and examples of Argo: what it makes of these texts.
func TestArgosOwnExamples(t *testing.T) {
	t.Parallel()
	const staff = `{"employees": [{"name": "Baris", "age":43, "friends": ["Mo", "Jai"]}, {"name": "Mo", "age": 42}, {"name": "Jai", "age" :44}]}`
	s := Scope{
		Lookup: func(name string) (string, bool) {
			v, ok := map[string]string{"inner": "suffix", "outer-suffix": "final-value", "C": "valC", "B valC": "valB", "A valB": "final", "message": "hello world"}[name]
			return v, ok
		},
		Env: map[string]any{
			"workflow": map[string]any{"parameters": map[string]any{"config": staff}},
			"message":  "hello world", "foo": "bar", "data": []any{"a.log", "b/main.log"},
			"tasks": map[string]any{
				"load":  map[string]any{"outputs": map[string]any{"result": `{"other": 1}`}},
				"left":  map[string]any{"status": "Succeeded", "outputs": map[string]any{"parameters": map[string]any{"task-id": "7"}}},
				"right": map[string]any{"status": "Skipped"},
			},
		},
		Partial: false,
	}
	for text, want := range map[string]string{
		"{{outer-{{inner}}}}":                        "final-value",
		"{{A {{B {{C}}}}}}":                          "final",
		"{{='test'}}":                                "test",
		`{{='some\\path'}}`:                          `some\path`,
		`{{='some\nstring'}}`:                        "some\nstring",
		"{{=1 + \n1}}":                               "2",
		"{{=toJson('test')}}":                        `"test"`,
		"{{=toJson([1, '2', {an: 'object'}])}}":      `[1,"2",{"an":"object"}]`,
		`{{="'"}}`:                                   "'",
		`{{='"'}}`:                                   `"`,
		"{{=true == false}}":                         "false",
		"test {{= sprig.trunc(5, message) }}":        "test hello",
		"test {{= sprig.trunc(-5, message) }}":       "test world",
		`{{=filter(data, {# endsWith "main.log"})}}`: `["b/main.log"]`,
		"{{=toJson(filter([1, 3], {# > 1}))}}":       "[3]",
		"{{=sprig.fromJson(tasks['load'].outputs.result).skip != true}}": "true",
		"{{=tasks.gone.status == 'Succeeded'}}":                          "false",
		"{{=tasks['left'].status == 'Succeeded' ? tasks['left'].outputs.parameters['task-id'] : tasks['right'].outputs.parameters['task-id']}}":               "7",
		"{{=sprig.trimSuffix(',', (tasks['left'].status == 'Succeeded' ? 'l,' : '') + (tasks['right'].status == 'Succeeded' ? tasks.right.outputs.x : ''))}}": "l",
		"{{=tasks['right']?.outputs?.parameters ?? 'none'}}":                                    "none",
		"{{=toJSON(fromJSON(tasks.load.outputs.result)['other'])}}":                             "1",
		"{{=toJSON(sprig.dict('a', 'b', 'c', fromJSON('[1]')))}}":                               "{\n  \"a\": \"b\",\n  \"c\": [\n    1\n  ]\n}",
		`{{=jsonpath(workflow.parameters.config, '$.employees[?(@.name=="Baris")].age')}}`:      "[43]",
		"{{=jsonpath(workflow.parameters.config, '$.employees[?(@.age>42 && @.age<44)].age')}}": "[43]",
		"{{=jsonpath(workflow.parameters.config, '$.employees[*].name')}}":                      `["Baris","Mo","Jai"]`,
		"{{=jsonpath(workflow.parameters.config, '$.employees[0].friends')}}":                   `["Mo","Jai"]`,
		"{{=jsonpath(workflow.parameters.config, '$.employees[1]')}}":                           `{"age":42,"name":"Mo"}`,
		"{{=jsonpath(workflow.parameters.config, '$.employees[0:1]')}}":                         `[{"age":43,"friends":["Mo","Jai"],"name":"Baris"}]`,
	} {
		if got, err := s.RenderString(text); err != nil || got != want {
			t.Errorf("%s = %q, %v; want %q", text, got, err, want)
		}
	}
	s.Partial = true
	for text, want := range map[string]string{
		"{{- with secret \"{{message}}\" -}}\n {{ .Data.data }}\n {{- end }}":    "{{- with secret \"hello world\" -}}\n {{ .Data.data }}\n {{- end }}",
		"{{- with {{ {{ }} secret \"{{message}}\" -}} }} {{ .Data }} {{- end }}": "{{- with {{ {{ }} secret \"hello world\" -}} }} {{ .Data }} {{- end }}",
		"{{=tasks.gone.status == 'Succeeded'}}":                                  "{{=tasks.gone.status == 'Succeeded'}}",
	} {
		if got, err := s.RenderString(text); err != nil || got != want {
			t.Errorf("%s, for now, = %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestWhatIsNotKnown(t *testing.T) {
	t.Parallel()
	for text, name := range map[string]string{
		"{{retries}}":                               "retries",
		"a {{pod.name}} b":                          "pod.name",
		"{{=sprig.int(retries) + 1}}":               "retries",
		"{{=asInt(steps.x.outputs.result)}}":        "steps",
		"{{=inputs.parameters.nope}}":               "inputs.parameters.nope",
		"{{=workflow.failures}}":                    "workflow.failures",
		"{{=true ? workflow.duration : 'x'}}":       "workflow.duration",
		"{{inputs.parameters.{{retries}}}}":         "retries",
		"{{=workflow.parameters['text'] + 'more'}}": "workflow.parameters.text",
	} {
		_, err := scope().RenderString(text)
		u, ok := errors.AsType[*UnknownError](err)
		if !ok || u.Name != name || apperr.CodeOf(err) != apperr.Invalid || !strings.Contains(apperr.MessageOf(err), name) {
			t.Errorf("%s: %v, want an error about %s", text, err, name)
		}
		later := scope()
		later.Partial = true
		if got, err := later.RenderString(text); err != nil || got != text {
			t.Errorf("%s, for now, = %q, %v", text, got, err)
		}
	}
}

func TestPartialReplacesTheRest(t *testing.T) {
	t.Parallel()
	s := scope()
	s.Partial = true
	got, err := s.RenderString("{{item}} {{retries}} {{=1 + 1}} {{=asInt(retries) + 1}} {{=retries ?? 0}} {{=bad bad}} {{")
	if want := "debian {{retries}} 2 {{=asInt(retries) + 1}} {{=retries ?? 0}} {{=bad bad}} {{"; err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
	s.Partial, s.Env["retries"] = false, "2"
	if got, err = s.RenderString("{{=asInt(retries) + 1}} {{=retries ?? 0}}"); err != nil || got != "3 2" {
		t.Errorf("later: %q, %v", got, err)
	}
}

func TestWrongExpressionsInTags(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{{=1 +}}":                                     "unexpected end",
		"{{=nil}}":                                     "is null",
		"{{=asInt('x')}}":                              "asInt: the text «x» is not an integer",
		"{{=sprig.env('HOME')}}":                       "sprig.env is not available, because it reads the environment",
		"{{=sprig.expandenv('$HOME')}}":                "reads the environment",
		"{{=sprig.getHostByName('x')}}":                "accesses the network",
		"{{=sprig.genPrivateKey('rsa')}}":              "keys",
		"{{=sprig.htpasswd('a', 'b')}}":                "keys",
		"{{=sprig.randBytes(10)}}":                     "not text",
		"{{=sprig.randAlpha(100000)}}":                 "between 0 and 1,000",
		"{{=sprig.uper('x')}}":                         "there is no function sprig.uper: did you mean sprig.upper?",
		"{{=sprig.trim(1)}}":                           "sprig.trim: argument 1 must be a string, but is the number 1",
		"{{=sprig.trim()}}":                            "sprig.trim: expected 1 arguments, got 0",
		"{{=sprig.fail('because')}}":                   "sprig.fail: because",
		"{{=sprig}}":                                   "sprig cannot be used as a value",
		"{{=jsonpath(inputs.parameters.json, '$.q')}}": "has no value at «.q»",
		"{{=jsonpath('{', '$.q')}}":                    "is not valid JSON",
		"{{=1.0 / 0}}":                                 "is not a number",
	} {
		if got, err := scope().RenderString(text); err == nil || !strings.Contains(err.Error(), want) || apperr.CodeOf(err) != apperr.Invalid {
			t.Errorf("%s = %q, %v; want %s", text, got, err, want)
		}
	}
}

func TestTagsAreListed(t *testing.T) {
	t.Parallel()
	tpl, err := ParseTemplate("a {{ item }} {{=inputs.x + 1}} {{=bad bad}} {{item}}{{a.{{b}}}}")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tag := range tpl.Tags() {
		switch {
		case tag.Err != nil:
			got = append(got, "!"+tag.Text)
		case tag.Expression != nil:
			got = append(got, strings.Join(tag.Expression.Names(), ","))
		default:
			got = append(got, tag.Name)
		}
	}
	if want := []string{"item", "inputs.x", "!{{=bad bad}}", "item", "b"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// A value that replaces a tag stays inside the text that contained the tag.
func TestValuesCannotLeaveTheirText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		hostile := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{`", "admin": "yes`, "\\", "\x00", "{{item}}", "\u2028</script>", "'"})).Draw(t, "value")
		s := Scope{Lookup: func(string) (string, bool) { return hostile, true }, Env: map[string]any{"v": hostile}}
		doc := map[string]any{"a": "<{{v}}>", "b": []any{"{{=v}}", json.Number("1.50"), nil, true}, "c": map[string]any{"n": 1}}
		got, err := s.RenderValue(doc)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]any{"a": "<" + hostile + ">", "b": []any{hostile, json.Number("1.50"), nil, true}, "c": map[string]any{"n": 1}}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %#v", got)
		}
		if doc["a"] != "<{{v}}>" {
			t.Fatal("the document itself changed")
		}
	})
}

func TestRenderValueReplacesKeysAndRefusesTwins(t *testing.T) {
	t.Parallel()
	got, err := scope().RenderValue(map[string]any{"{{item}}": "{{item.os}}"})
	if err != nil || !reflect.DeepEqual(got, map[string]any{"debian": "linux"}) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err = scope().RenderValue(map[string]any{"{{item}}": 1, "debian": 2}); apperr.CodeOf(err) != apperr.Invalid {
		t.Errorf("twins: %v", err)
	}
	var deep any = "x"
	for range 200 {
		deep = []any{deep}
	}
	if _, err = scope().RenderValue(deep); apperr.CodeOf(err) != apperr.Invalid {
		t.Errorf("deep: %v", err)
	}
}

// A text without tags, and one that only looks like some, comes out as it went in.
func TestTextWithoutTagsIsUnchanged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z {}=.\n"]*`).Draw(t, "text")
		s := Scope{Partial: true}
		tpl, err := ParseTemplate(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, tag := range tpl.Tags() {
			if tag.Expression != nil {
				t.Skip("it has an expression")
			}
		}
		if got, err := s.render(tpl, newMeter(), 0); err != nil || got != text {
			t.Fatalf("%q became %q, %v", text, got, err)
		}
	})
}

func TestJSONPaths(t *testing.T) {
	t.Parallel()
	const doc = `{"store":{"book":[{"title":"A","price":8,"tags":["x"]},{"title":"B","price":12},{"title":"C","price":9,"isbn":"1"}],"bike":{"price":20}},"a.b":1,"it's":2,"e":[]}`
	for path, want := range map[string]string{
		`$`:                                   doc,
		`$.store.book[0].title`:               `"A"`,
		`$.store.book[-1].title`:              `"C"`,
		`$['store']['book'][1]["price"]`:      `12`,
		`$.store.book[*].title`:               `["A","B","C"]`,
		`$..price`:                            `[20,8,12,9]`,
		`$.store..tags[0]`:                    `["x"]`,
		`$.store.book[0:2].title`:             `["A","B"]`,
		`$.store.book[1:].title`:              `["B","C"]`,
		`$.store.book[::2].title`:             `["A","C"]`,
		`$.store.book[-2:].title`:             `["B","C"]`,
		`$.store.book[0,2].title`:             `["A","C"]`,
		`$.store.book[0]['title','price']`:    `["A",8]`,
		`$.store.book[?(@.price < 10)].title`: `["A","C"]`,
		`$.store.book[?(@.isbn)].title`:       `["C"]`,
		`$.store.book[?(@.price < $.store.bike.price - 10)].title`: `["A","C"]`,
		`$.store.book[?(@.title == 'B' || @.title == "@")].price`:  `[12]`,
		`$.store.book[?(@['title'] matches '^[AB]$')].price`:       `[8,12]`,
		`$.store.book[?(@.price > 100)].title`:                     `[]`,
		`$['a.b']`:                                                 `1`,
		`$['it\'s']`:                                               `2`,
		`$.store.*`:                                                `[{"price":20},[{"price":8,"tags":["x"],"title":"A"},{"price":12,"title":"B"},{"isbn":"1","price":9,"title":"C"}]]`,
		`$.e[*]`:                                                   `[]`,
		`$.store.bike.price`:                                       `20`,
	} {
		e, err := ParseArgo(`jsonpath(doc, path)`)
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.Value(map[string]any{"doc": doc, "path": path})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		var w any
		if err := json.Unmarshal([]byte(want), &w); err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(w)
		if string(a) != string(b) {
			t.Errorf("%s = %s, want %s", path, a, b)
		}
	}
	for path, want := range map[string]string{
		`store`: `begin with $`, `$.`: `a name is missing`, `$[`: `a ] is missing`, `$['a`: `a quote is missing`, `$[x]`: `is not an index`,
		`$[0`: `a ] is missing`, `$.a.b`: `has no value at «.a»`, `$.store.book[9]`: `has no value at «[9]»`, `$[?(@.a]`: ``, `$[?(@.a > )]`: `not valid`, `$[0:1:0]`: `above 0`, `$x`: `a dot before it`,
	} {
		e, err := ParseArgo(`jsonpath(doc, path)`)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := e.Value(map[string]any{"doc": doc, "path": path}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s = %v, %v; want %s", path, got, err, want)
		}
	}
}
