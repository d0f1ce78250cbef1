package typeregistry

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
)

// jsonKind is JSON: any value at all, typed as JSON.
type jsonKind struct{ single }

func (jsonKind) entry() Entry {
	return Entry{Name: "JSON", Group: "scalar", Summary: "Any JSON value.", Example: "JSON"}
}
func (jsonKind) noun(*Type) string { return "a JSON value" }
func (jsonKind) hint(*Type) string { return "Enter JSON, such as {\"a\": 1}." }

func (jsonKind) normalize(c *checker, t *Type, path string, v any) any {
	return canonicalJSON(c, t, path, v, 0)
}

// canonicalJSON writes the numbers of v canonically and refuses what is no JSON.
func canonicalJSON(c *checker, t *Type, path string, v any, depth int) any {
	if depth > 100 {
		c.problem(path, "The value is nested more than 100 deep. Enter a flatter one.")
		return v
	}
	switch x := v.(type) {
	case nil, bool, string:
		return v
	case json.Number:
		if d, ok := parseDecimal(x.String()); ok {
			return d.canonical()
		}
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = canonicalJSON(c, t, path, e, depth+1)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, e := range x {
			out[k] = canonicalJSON(c, t, path, e, depth+1)
		}
		return out
	}
	return c.wrong(t, path, v)
}

func (jsonKind) jsonSchema(*Type) map[string]any { return map[string]any{} }

func (jsonKind) ui(_ *Type, f *UIField, _ Env) { f.Component = "JSONEditor" }

func (jsonKind) decode(r *formReader, _ *Type, name, path string) (any, bool) {
	text, ok := r.text(name)
	if !ok || text == "" {
		return nil, false
	}
	v, err := DecodeJSON([]byte(text))
	if err != nil {
		r.problem(path, jsonProblem(text, err))
		return text, true
	}
	return v, true
}

// jsonProblem says where JSON stops making sense.
func jsonProblem(text string, err error) string {
	fault, ok := errors.AsType[*json.SyntaxError](err)
	if !ok || fault.Offset > int64(len(text)) {
		return "The text is not complete JSON. Enter JSON, such as {\"a\": 1}."
	}
	line := 1 + strings.Count(text[:max(0, fault.Offset-1)], "\n")
	return "Line " + inputText(Plain(line)) + " is not JSON: " + fault.Error() + ". Enter JSON, such as {\"a\": 1}."
}

func (jsonKind) encode(_ *Type, v any, name string, out url.Values) {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		b = []byte(inputText(v))
	}
	out.Set(name, string(b))
}

func (jsonKind) render(_ *Type, v any) string { return compactJSON(v) }

func (jsonKind) accept(t, from *Type) error {
	if from.IsBlob() {
		return mismatch(t, from)
	}
	return nil
}
