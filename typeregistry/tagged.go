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

// fillText fills the tags of a text, which may be nil; write gives each value the form of its
// surroundings.
func fillText(t *expression.Text, env map[string]any, write func(any) (string, error)) (string, error) {
	if t == nil {
		return "", nil
	}
	return t.Fill(func(tag *expression.Expression) (string, error) {
		v, err := evaluateTag(tag, env)
		if err != nil {
			return "", err
		}
		return write(v)
	})
}

// evaluateTag returns the value of a tag. Null is an error that names the inputs without a value.
func evaluateTag(tag *expression.Expression, env map[string]any) (any, error) {
	v, err := tag.Value(env)
	if err == nil && v != nil {
		return Plain(v), nil
	}
	var missing []string
	for _, ref := range tag.References() {
		if valueAt(env, ref.Path) == nil {
			missing = append(missing, ref.Path[len(ref.Path)-1])
		}
	}
	switch {
	case len(missing) > 0:
		return nil, apperr.New(apperr.Invalid, "The options depend on %s. Enter that value first.", listed(missing))
	case err != nil:
		return nil, apperr.New(apperr.Invalid, "The tag {{%s}} of the options cannot be evaluated: %s", tag, apperr.MessageOf(err))
	}
	return nil, apperr.New(apperr.Invalid, "The tag {{%s}} of the options has no value.", tag)
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
	return "", apperr.New(apperr.Invalid, "%s cannot be part of a query. Use a string, a number or a Boolean.", quote(v))
}

// addressText writes a value for a path or a query of an address.
func addressText(v any) (string, error) {
	switch v.(type) {
	case json.Number, bool, string:
		return strings.ReplaceAll(url.QueryEscape(inputText(v)), "+", "%20"), nil
	}
	return "", apperr.New(apperr.Invalid, "%s cannot be part of an address. Use a string, a number or a Boolean.", quote(v))
}
