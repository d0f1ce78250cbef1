package expression

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// function is a bounded function of a dialect. Its arguments are weighed before it is called.
type function func(m *meter, args []any) (any, error)

// dialect is the set of functions that one kind of expression may call in addition to
// the language.
type dialect struct {
	sprig     bool // sprig.name(…) is a call
	clock     bool // now() is allowed
	functions func() map[string]function
}

func native() *dialect { return &dialect{functions: common} }

func argo() *dialect { return &dialect{sprig: true, clock: true, functions: withSprig} }

// common are the functions of both dialects.
//
//nolint:gochecknoglobals // the same table for every expression, never written again
var common = sync.OnceValue(func() map[string]function {
	all := maps.Clone(basic())
	all["jsonpath"] = fixed(2, jsonPath)
	return all
})

// basic are the functions that are also available in filters of JSON paths. Most
// replace a function of the language with the same name, whose result may be larger
// than its arguments or have a random order.
//
//nolint:gochecknoglobals // the same table for every expression, never written again
var basic = sync.OnceValue(func() map[string]function {
	return map[string]function{
		"matches":    fixed(2, matches),
		"..":         fixed(2, between),
		"repeat":     fixed(2, repeat),
		"join":       joined,
		"replace":    fixed(3, replace),
		"split":      split,
		"splitAfter": split,
		"keys":       fixed(1, keys),
		"values":     fixed(1, values),
		"toPairs":    fixed(1, toPairs),
		"uniq":       fixed(1, uniq),
		"trim":       trim,
		"flatten":    fixed(1, flatten),
		"fromJSON":   fixed(1, fromJSON),
		"toJSON":     fixed(1, toPrettyJSON),
		"toJson":     fixed(1, toJSON),
		"asInt":      fixed(1, asInt),
		"asFloat":    fixed(1, asFloat),
	}
})

// between returns a..b, both inclusive.
func between(m *meter, args []any) (any, error) {
	from, err := intAt(args, 0)
	if err != nil {
		return nil, err
	}
	to, err := intAt(args, 1)
	if err != nil {
		return nil, err
	}
	if to < from {
		return []any{}, nil
	}
	m.spend(count(from, to))
	out := make([]any, 0, to-from+1)
	for i := from; i <= to; i++ {
		out = append(out, i)
	}
	return out, nil
}

// count returns the length of from..to, or -1 when it is far too large.
func count(from, to int) int {
	const far = 1 << 40
	if from < -far || from > far || to < -far || to > far {
		return -1
	}
	return max(to-from+1, 0)
}

func repeat(m *meter, args []any) (any, error) {
	s, err := textAt(args, 0)
	if err != nil {
		return nil, err
	}
	n, err := intAt(args, 1)
	if err != nil {
		return nil, err
	}
	m.product(len(s), n)
	return strings.Repeat(s, max(n, 0)), nil
}

func joined(m *meter, args []any) (any, error) {
	if len(args) < 1 || len(args) > 2 {
		return nil, fmt.Errorf("expected a list and a separator")
	}
	list, err := listAt(args, 0)
	if err != nil {
		return nil, err
	}
	sep := ""
	if len(args) == 2 {
		if sep, err = textAt(args, 1); err != nil {
			return nil, err
		}
	}
	m.product(len(list), len(sep))
	parts := make([]string, len(list))
	for i := range list {
		s, ok := list[i].(string)
		if !ok {
			return nil, fmt.Errorf("element %d must be a string, but is %s", i, kindOf(list[i]))
		}
		parts[i] = s
	}
	return strings.Join(parts, sep), nil
}

func replace(m *meter, args []any) (any, error) {
	s, err := texts(args, 3)
	if err != nil {
		return nil, err
	}
	m.product(strings.Count(s[0], s[1]), len(s[2]))
	return strings.ReplaceAll(s[0], s[1], s[2]), nil
}

func split(m *meter, args []any) (any, error) {
	s, err := texts(args, 2)
	if err != nil {
		return nil, err
	}
	n := -1
	if len(args) == 3 {
		if n, err = intAt(args, 2); err != nil {
			return nil, err
		}
	}
	m.pieces(s[0], s[1])
	parts := strings.SplitN(s[0], s[1], n)
	out := make([]any, len(parts))
	for i, p := range parts {
		out[i] = p
	}
	return out, nil
}

// trim removes white space, or the characters of a second text, from both ends.
func trim(m *meter, args []any) (any, error) {
	s, err := textAt(args, 0)
	if err != nil || len(args) == 1 {
		return strings.TrimSpace(s), err
	}
	cut, err := textAt(args, 1)
	if err != nil {
		return nil, err
	}
	m.cutting(s, cut)
	return strings.Trim(s, cut), nil
}

// cutting charges the search for each character of s among those of cut.
func (m *meter) cutting(s, cut string) { m.product(len(s), 1+len(cut)) }

// flatten flattens nested lists, at any depth, into one.
func flatten(_ *meter, args []any) (any, error) {
	list, err := listAt(args, 0)
	if err != nil {
		return nil, err
	}
	return flat([]any{}, list), nil
}

func flat(out, list []any) []any {
	for _, e := range list {
		if inner, ok := e.([]any); ok {
			out = flat(out, inner)
		} else {
			out = append(out, e)
		}
	}
	return out
}

func keys(_ *meter, args []any) (any, error) {
	of, err := objectAt(args, 0)
	if err != nil {
		return nil, err
	}
	out := make([]any, 0, len(of))
	for _, k := range slices.Sorted(maps.Keys(of)) {
		out = append(out, k)
	}
	return out, nil
}

func values(_ *meter, args []any) (any, error) {
	of, err := objectAt(args, 0)
	if err != nil {
		return nil, err
	}
	out := make([]any, 0, len(of))
	for _, k := range slices.Sorted(maps.Keys(of)) {
		out = append(out, of[k])
	}
	return out, nil
}

func toPairs(_ *meter, args []any) (any, error) {
	of, err := objectAt(args, 0)
	if err != nil {
		return nil, err
	}
	out := make([]any, 0, len(of))
	for _, k := range slices.Sorted(maps.Keys(of)) {
		out = append(out, []any{k, of[k]})
	}
	return out, nil
}

func uniq(m *meter, args []any) (any, error) {
	list, err := listAt(args, 0)
	if err != nil {
		return nil, err
	}
	var out []any
	for _, e := range list {
		known := func(o any) bool {
			m.weigh(o)
			return reflect.DeepEqual(o, e)
		}
		if !slices.ContainsFunc(out, known) {
			out = append(out, e)
		}
	}
	return out, nil
}

func fromJSON(m *meter, args []any) (any, error) {
	s, err := textAt(args, 0)
	if err != nil {
		return nil, err
	}
	return m.decode(s)
}

// decode reads a JSON text. One byte may become a list of many bytes, so decoding costs
// more than a copy.
func (m *meter) decode(s string) (any, error) {
	m.spend(1 + len(s)/4)
	var v any
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("%s is not valid JSON: %w", quoted(s), err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) { // More is false before a bracket
		return nil, fmt.Errorf("%s contains more than one JSON value", quoted(s))
	}
	return m.normal(v, 0), nil
}

func toJSON(m *meter, args []any) (any, error) { return m.encode(args[0], "") }

func toPrettyJSON(m *meter, args []any) (any, error) {
	m.indented(args[0], 0)
	return m.encode(args[0], "  ")
}

// encode writes v, which was weighed, as JSON.
func (m *meter) encode(v any, indent string) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(m.result(v)); err != nil {
		return "", fmt.Errorf("it cannot be encoded as JSON: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

func asInt(_ *meter, args []any) (any, error) {
	switch v := args[0].(type) {
	case string:
		n, err := strconv.Atoi(strings.TrimSpace(v))
		if err != nil {
			return nil, fmt.Errorf("%s is not an integer", kindOf(v))
		}
		return n, nil
	case float64:
		if math.IsNaN(v) || math.Abs(v) >= 1<<63 {
			return nil, fmt.Errorf("%v does not fit into a whole number", v)
		}
		return int(v), nil
	}
	return intAt(args, 0)
}

func asFloat(_ *meter, args []any) (any, error) {
	switch v := args[0].(type) {
	case string:
		f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		if err != nil {
			return nil, fmt.Errorf("%s is not a number", kindOf(v))
		}
		return f, nil
	case int:
		return float64(v), nil
	case int64:
		return float64(v), nil
	case float64:
		return v, nil
	}
	return nil, fmt.Errorf("%s is not a number", kindOf(args[0]))
}
