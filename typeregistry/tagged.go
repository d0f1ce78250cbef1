package typeregistry

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/expression"
)

// queryTag is the name of what users type in the address of an HTTP source.
const queryTag = "query"

// tagged is a text with tags: its parts in order.
type tagged []taggedPart

// taggedPart is a plain text, or an expression between {{ and }}.
type taggedPart struct {
	plain      string
	expression *expression.Expression
}

// readTagged parses the tags of a text.
func readTagged(text string) (tagged, error) {
	var out tagged
	for text != "" {
		plain, rest, found := strings.Cut(text, "{{")
		if plain != "" {
			out = append(out, taggedPart{plain: plain})
		}
		if !found {
			break
		}
		inner, after, closed := strings.Cut(rest, "}}")
		if !closed {
			return nil, fmt.Errorf("the tag {{%s is not closed; add }}", rest)
		}
		parsed, err := expression.Parse(strings.TrimSpace(inner))
		if err != nil {
			return nil, err
		}
		out, text = append(out, taggedPart{expression: parsed}), after
	}
	return out, nil
}

// text fills the tags; write gives each value the form of its surroundings.
func (t tagged) text(env map[string]any, write func(any) (string, error)) (string, error) {
	var b strings.Builder
	for _, p := range t {
		if p.expression == nil {
			b.WriteString(p.plain)
			continue
		}
		v, err := p.evaluate(env)
		if err != nil {
			return "", err
		}
		text, err := write(v)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// evaluate returns the value of a tag. Null is an error that names the inputs without a value.
func (p taggedPart) evaluate(env map[string]any) (any, error) {
	v, err := p.expression.Value(env)
	if err == nil && v != nil {
		return Plain(v), nil
	}
	var missing []string
	for _, ref := range p.expression.References() {
		if valueAt(env, ref.Path) == nil {
			missing = append(missing, ref.Path[len(ref.Path)-1])
		}
	}
	switch {
	case len(missing) > 0:
		return nil, apperr.New(apperr.Invalid, "The options depend on %s. Enter that value first.", listed(missing))
	case err != nil:
		return nil, apperr.New(apperr.Invalid, "The tag {{%s}} of the options cannot be evaluated: %s", p.expression, apperr.MessageOf(err))
	}
	return nil, apperr.New(apperr.Invalid, "The tag {{%s}} of the options has no value.", p.expression)
}

// valueAt follows a path in nested objects; nil without a value.
func valueAt(v any, path []string) any {
	for _, name := range path {
		object, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = object[name]
	}
	return v
}

// SearchText writes a value of a single type for the query language.
func SearchText(v any) string {
	text, _ := searchText(v) // only objects and lists have none
	return text
}

// searchText writes a value for the query language: texts in quotes.
func searchText(v any) (string, error) {
	switch x := v.(type) {
	case json.Number:
		return x.String(), nil
	case bool:
		return fmt.Sprint(x), nil
	case string:
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(x) + `"`, nil
	}
	return "", apperr.New(apperr.Invalid, "%s cannot be part of a query. Use a text, a number or a boolean.", quote(v))
}

// addressText writes a value for a path or a query of an address.
func addressText(v any) (string, error) {
	switch v.(type) {
	case json.Number, bool, string:
		return strings.ReplaceAll(url.QueryEscape(inputText(v)), "+", "%20"), nil
	}
	return "", apperr.New(apperr.Invalid, "%s cannot be part of an address. Use a text, a number or a boolean.", quote(v))
}
