package typeregistry

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func listedKernel() map[string]any {
	return map[string]any{"name": "kernel", "type": "String", "default": "rbf", "options": []any{
		map[string]any{"value": "rbf", "label": "Radial basis", "description": "The usual choice"}, "linear", map[string]any{"value": "poly"},
	}}
}

func TestListedOptions(t *testing.T) {
	t.Parallel()
	schema := dependent(t,
		listedKernel(),
		map[string]any{"name": "seeds", "type": "List<Integer>", "default": []any{1}, "options": []any{1, 2, 3}},
		map[string]any{"name": "any", "type": "Float?", "options": map[string]any{"values": []any{0.1, 1}, "free": true}},
		map[string]any{"name": "nested", "type": `Struct{metric: String @{options: ["gini", "entropy"]}}?`},
	)
	for values, want := range map[string]map[string]string{
		`{}`:                              nil,
		`{"kernel": "poly"}`:              nil,
		`{"kernel": "rbff"}`:              {"kernel": "“rbff” is not an option. Did you mean “rbf”?"},
		`{"kernel": "sigmoid"}`:           {"kernel": "“sigmoid” is not an option. Choose rbf, linear or poly."},
		`{"seeds": [1, 9]}`:               {"seeds.1": "9 is not an option. Choose 1, 2 or 3."},
		`{"any": 7}`:                      nil,
		`{"nested": {"metric": "hinge"}}`: {"nested.metric": "“hinge” is not an option. Choose gini or entropy."},
	} {
		decoded, err := DecodeJSON([]byte(values))
		require.NoError(t, err)
		_, problems := schema.CheckAll(decoded.(map[string]any), Env{})
		if want == nil {
			want = map[string]string{}
		}
		require.Equal(t, want, messages(problems), values)
	}
}

// TestSourcesSurviveTheirDocument: what a schema writes reads as the same sources, also inside types.
func TestSourcesSurviveTheirDocument(t *testing.T) {
	t.Parallel()
	schema := dependent(t, listedKernel(),
		map[string]any{"name": "run", "type": `Struct{seed: Integer @{options: {from: executions, where: "inputs.kind = {{inputs.kind}}", value: "inputs.seed", preview: ["metrics.loss"]}}}`},
		map[string]any{"name": "kind", "type": "String", "options": map[string]any{"http": "https://api.example.com/kinds?q={{query}}", "items": ".data", "value": ".id", "cache": "10m", "free": true}},
	)
	written, err := json.Marshal(schema)
	require.NoError(t, err)
	raw, err := DecodeJSON(written)
	require.NoError(t, err)
	twice, err := json.Marshal(dependent(t, raw.([]any)...))
	require.NoError(t, err)
	require.JSONEq(t, string(written), string(twice))
	require.Contains(t, string(written), "The usual choice")

	part, ok := schema.SourceAt("run.seed")
	require.True(t, ok)
	require.Equal(t, []string{"kind"}, schema.SourceReads(part))
	run, _ := schema.Field("run")
	require.Equal(t, []string{"kind"}, run.reads(schema.Fields), "it comes after the input that its part reads")
}

func TestSourcesFillTheirTags(t *testing.T) {
	t.Parallel()
	schema := dependent(t,
		map[string]any{"name": "kind", "type": "String?"},
		map[string]any{"name": "seed", "type": "Integer", "options": map[string]any{"from": "executions", "where": "inputs.kind = {{kind}} and state = SUCCEEDED", "value": "inputs.seed"}},
		map[string]any{"name": "repo", "type": "String", "options": map[string]any{"http": "https://api.example.com/{{kind}}/search?q={{query}}"}},
	)
	resolve := func(name, query string, inputs map[string]any) (Resolved, error) {
		part, ok := schema.SourceAt(name)
		require.True(t, ok)
		return part.Source.Resolve(inputs, query)
	}
	inputs := map[string]any{"kind": `s"v c/`}
	seed, err := resolve("seed", "", inputs)
	require.NoError(t, err)
	require.Equal(t, `inputs.kind = "s\"v c/" and state = SUCCEEDED`, seed.Where)
	repo, err := resolve("repo", "a&b=c #", inputs)
	require.NoError(t, err)
	require.Equal(t, "https://api.example.com/s%22v%20c%2F/search?q=a%26b%3Dc%20%23", repo.URL)
	require.True(t, repo.Searches())
	_, err = resolve("seed", "", map[string]any{"kind": nil})
	require.ErrorContains(t, err, "The options depend on kind. Enter that value first.")
}

// TestOffersDecide: what a source outside of the definition offers is asked once per value, after the
// inputs that it reads, and not at all with free values.
func TestOffersDecide(t *testing.T) {
	t.Parallel()
	query := map[string]any{"from": "executions", "where": "inputs.kind = {{kind}}", "value": "inputs.seed"}
	free := map[string]any{"from": "executions", "value": "inputs.seed", "free": true}
	schema := dependent(t,
		map[string]any{"name": "seeds", "type": "List<Integer>", "options": query},
		map[string]any{"name": "kind", "type": "String"},
		map[string]any{"name": "other", "type": "Integer", "default": 5, "options": free},
	)
	var requested []string
	env := Env{Offers: func(o Offered) string {
		requested = append(requested, o.Field.Name+" "+o.Source.Where+" "+compactJSON(o.Value)+" "+compactJSON(o.Inputs["kind"]))
		if compactJSON(o.Value) == "2" {
			return "2 is not offered."
		}
		return ""
	}}
	_, problems := schema.CheckAll(map[string]any{"kind": "svc", "seeds": []any{json.Number("1"), json.Number("2")}}, env)
	require.Equal(t, map[string]string{"seeds.1": "2 is not offered."}, messages(problems))
	require.Equal(t, []string{`seeds inputs.kind = "svc" 1 "svc"`, `seeds inputs.kind = "svc" 2 "svc"`}, requested)

	requested = nil
	_, problems = schema.CheckAll(map[string]any{"seeds": []any{json.Number("1")}}, env)
	require.Equal(t, []string{"kind"}, []string{problems[0].Path})
	require.Len(t, problems, 1, "the missing input is said once")
	require.Empty(t, requested)
}

func TestFaultySourcesAreRefused(t *testing.T) {
	t.Parallel()
	field := func(kind string, options any) []any {
		return []any{map[string]any{"name": "a", "type": kind, "options": options}}
	}
	http := func(address string) []any { return field("String", map[string]any{"http": address}) }
	for want, fields := range map[string][]any{
		"there are no options":                 field("String", map[string]any{"free": true}),
		"set only one of from and http":        field("String", map[string]any{"from": "models", "http": "https://x.example/"}),
		"has no options of its own":            field("Enum(a, b)", []any{"a"}),
		"appears twice":                        field("Integer", []any{1, 1.0}),
		"option 2: “x”":                        field("Integer", []any{1, "x"}),
		"option 1 has no value":                field("String", []any{map[string]any{"label": "x"}}),
		"unknown field":                        field("String", map[string]any{"form": "models"}),
		"from is “runs”":                       field("String", map[string]any{"from": "runs"}),
		"value is missing":                     field("String", map[string]any{"from": "executions"}),
		"where belongs to from":                field("String", map[string]any{"http": "https://x.example/", "where": "a = 1"}),
		"http is not a valid address":          http("file:///etc/passwd"),
		"the host of http cannot contain tags": http("https://x.example.{{a}}/"),
		"a user name or password":              http("https://me:secret@x.example/"),
		"is not closed":                        http("https://x.example/{{a"),
		"value is “id”":                        field("String", map[string]any{"http": "https://x.example/", "value": "id"}),
		"timeout is 2h":                        field("String", map[string]any{"http": "https://x.example/", "timeout": "2h"}),
		"“soon” is not a duration":             field("String", map[string]any{"http": "https://x.example/", "cache": "soon"}),
		"which is not a field here":            http("https://x.example/{{colour}}"),
		"a → a":                                http("https://x.example/{{a}}"),
		"the default of a: “z” is not an op":   {map[string]any{"name": "a", "type": "String", "default": "z", "options": []any{"x", "y"}}},
	} {
		_, problems := Builtin().ParseSchema(fields, "inputs")
		require.NotEmpty(t, problems, want)
		require.Contains(t, problems[0].Message, want)
	}
}
