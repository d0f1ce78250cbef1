package typeregistry

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func dependent(t *testing.T, fields ...any) Schema {
	t.Helper()
	schema, problems := Builtin().ParseSchema(fields, "inputs")
	require.Empty(t, problems)
	return schema
}

func svc(t *testing.T) Schema {
	t.Helper()
	return dependent(t,
		map[string]any{"name": "kernel", "type": "Enum(rbf, linear)", "show_if": `kind == "svc"`},
		map[string]any{"name": "kind", "type": "Enum(svc, forest)"},
		map[string]any{"name": "depth", "type": "Integer", "required_if": `kind == "forest"`},
		map[string]any{"name": "gamma", "type": "Float", "default": 0.5, "show_if": `kernel == "rbf"`},
		map[string]any{"name": "rows", "type": "Integer(min=1)", "default": 10},
		map[string]any{"name": "batch", "type": "Integer", "default": 2, "min": "2", "max": "inputs.rows / 2"},
		map[string]any{"name": "metric", "type": "String", "default": "gini", "options": `kind == "forest" ? ["gini", "entropy"] : nil`},
	)
}

func messages(problems []Problem) map[string]string {
	out := map[string]string{}
	for _, p := range problems {
		out[p.Path] = p.Message
	}
	return out
}

func TestRulesReadOtherFields(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values string
		want   map[string]string // a part of the message, by path
		plain  string            // of the result, if there are no problems
	}{
		"shown and given":           {`{"kind": "svc", "kernel": "rbf"}`, nil, `{"batch":2,"depth":null,"gamma":0.5,"kernel":"rbf","kind":"svc","metric":"gini","rows":10}`},
		"shown and missing":         {`{"kind": "svc"}`, map[string]string{"kernel": "A value is required."}, ""},
		"hidden with a default":     {`{"kind": "svc", "kernel": "linear"}`, nil, `{"batch":2,"depth":null,"gamma":0.5,"kernel":"linear","kind":"svc","metric":"gini","rows":10}`},
		"hidden and given":          {`{"kind": "svc", "kernel": "linear", "gamma": 0.1}`, map[string]string{"gamma": `It applies only if kernel == "rbf".`}, ""},
		"hidden and its default":    {`{"kind": "svc", "kernel": "linear", "gamma": 0.5}`, nil, `{"batch":2,"depth":null,"gamma":0.5,"kernel":"linear","kind":"svc","metric":"gini","rows":10}`},
		"hidden behind a hidden":    {`{"kind": "forest", "depth": 3}`, nil, `{"batch":2,"depth":3,"gamma":0.5,"kernel":null,"kind":"forest","metric":"gini","rows":10}`},
		"required by another":       {`{"kind": "forest"}`, map[string]string{"depth": "A value is required."}, ""},
		"a bound of another":        {`{"kind": "svc", "kernel": "rbf", "batch": 6}`, map[string]string{"batch": "6 is more than 5, the limit with these values (inputs.rows / 2)."}, ""},
		"the smallest":              {`{"kind": "svc", "kernel": "rbf", "batch": 1}`, map[string]string{"batch": "1 is less than 2"}, ""},
		"options of another":        {`{"kind": "forest", "depth": 3, "metric": "hinge"}`, map[string]string{"metric": `Choose gini, entropy.`}, ""},
		"no limit to options":       {`{"kind": "svc", "kernel": "rbf", "metric": "hinge"}`, nil, `{"batch":2,"depth":null,"gamma":0.5,"kernel":"rbf","kind":"svc","metric":"hinge","rows":10}`},
		"an unknown name":           {`{"kind": "svc", "kernel": "rbf", "colour": 1}`, map[string]string{"colour": "There is no field"}, ""},
		"the other field is faulty": {`{"kind": "tree"}`, map[string]string{"kind": "tree"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			values, err := DecodeJSON([]byte(c.values))
			require.NoError(t, err)
			out, problems := svc(t).CheckAll(values.(map[string]any), Env{})
			present := messages(problems)
			require.Len(t, present, len(c.want), "%v", present)
			for path, part := range c.want {
				require.Contains(t, present[path], part)
			}
			if c.plain != "" {
				require.JSONEq(t, c.plain, compactJSON(out))
			}
		})
	}
}

func TestARuleThatRequiresAValueRefusesNull(t *testing.T) {
	t.Parallel()
	schema := dependent(t,
		map[string]any{"name": "kind", "type": "Enum(svc, forest)"},
		map[string]any{"name": "depth", "type": "Optional<Integer(min=1, max=50)>", "required_if": `kind == "forest"`})
	for _, values := range []map[string]any{{"kind": "forest"}, {"kind": "forest", "depth": nil}} {
		_, problems := schema.CheckAll(values, Env{})
		require.Equal(t, []Problem{{"depth", "A value is required. Enter 1 to 50."}}, problems, values)
	}
	out, problems := schema.CheckAll(map[string]any{"kind": "svc", "depth": nil}, Env{})
	require.Empty(t, problems)
	require.Equal(t, map[string]any{"kind": "svc", "depth": nil}, out)
}

func TestHiddenValuesAreNotSent(t *testing.T) {
	t.Parallel()
	values, problems := svc(t).WithoutHidden(map[string]any{"kind": "forest", "kernel": "rbf", "gamma": "many"}, []Problem{{Path: "gamma", Message: "x"}, {Path: "rows", Message: "y"}}, Env{})
	require.Equal(t, map[string]any{"kind": "forest"}, values)
	require.Equal(t, []Problem{{Path: "rows", Message: "y"}}, problems)
}

func TestARuleThatFailsNamesItsField(t *testing.T) {
	t.Parallel()
	schema := dependent(t, map[string]any{"name": "a", "type": "String", "default": "x"}, map[string]any{"name": "b", "type": "Integer", "default": 1, "show_if": "a + 1"})
	_, problems := schema.CheckAll(map[string]any{}, Env{})
	require.Contains(t, messages(problems)["b"], "show_if cannot be evaluated")
}

func TestFaultyRulesAreRefused(t *testing.T) {
	t.Parallel()
	field := func(name, kind string, rules ...any) map[string]any {
		out := map[string]any{"name": name, "type": kind}
		for i := 0; i < len(rules); i += 2 {
			out[rules[i].(string)] = rules[i+1]
		}
		return out
	}
	for want, fields := range map[string][]any{
		"a → b → a":            {field("a", "Integer", "show_if", "b > 1"), field("b", "Integer", "max", "a")},
		"c → c":                {field("c", "Integer", "required_if", "c > 1")},
		"which is not a field": {field("a", "Integer", "show_if", "colour == 1")},
		"is not an expression": {field("a", "Integer", "show_if", true)},
		"only numbers and dates have bounds": {
			field("a", "String", "max", "b"), field("b", "Integer"),
		},
		"both required and required_if": {field("a", "Integer", "required", true, "required_if", "b"), field("b", "Boolean")},
		"only inputs have rules":        {field("s", "Struct{a: Integer @{show_if: \"b\"}, b: Boolean}")},
		"unexpected token":              {field("a", "Integer", "show_if", "b =")},
	} {
		_, problems := Builtin().ParseSchema(fields, "inputs")
		require.NotEmpty(t, problems, want)
		require.Contains(t, problems[0].Message, want)
		require.True(t, strings.HasPrefix(problems[0].Path, "inputs["), problems[0].Path)
	}
}

// TestRulesSurviveTheirDocument: what a schema writes reads as the same rules.
func TestRulesSurviveTheirDocument(t *testing.T) {
	t.Parallel()
	written, err := json.Marshal(svc(t))
	require.NoError(t, err)
	raw, err := DecodeJSON(written)
	require.NoError(t, err)
	again := dependent(t, raw.([]any)...)
	twice, err := json.Marshal(again)
	require.NoError(t, err)
	require.JSONEq(t, string(written), string(twice))
	kernel, _ := again.Field("kernel")
	require.Equal(t, `kind == "svc"`, kernel.Rules.RequiredIf)
	require.False(t, kernel.Required)
}
