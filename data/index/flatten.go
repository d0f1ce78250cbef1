package index

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/flowforge/flowforge/engine/search"
)

// Bounds of the values of one execution. Longer texts are searched by their beginning.
const (
	maxDepth  = 6
	maxValues = 500 // of its inputs, and as many of its outputs
	maxName   = 200
	maxText   = 200 // characters
)

// key is a name with a type: a column.
type key struct {
	part search.Part
	name string
	stat search.Stat
	kind search.Type
}

// value is a value of an execution.
type value struct {
	key
	number float64
	text   string
}

// flatten returns the values of a JSON object: those of nested objects by dotted names, lists as
// one text.
func flatten(part search.Part, raw json.RawMessage) []value {
	var object map[string]any
	if len(raw) == 0 || decode(raw, &object) != nil {
		return nil
	}
	f := flattener{part: part}
	f.object("", object, 0)
	return f.values
}

// indexable reports whether the index can have a name. PostgreSQL stores no NUL.
func indexable(name string) bool {
	return name != "" && len(name) <= maxName && utf8.ValidString(name) && !strings.Contains(name, "\x00")
}

func decode(raw json.RawMessage, into any) error {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	return d.Decode(into)
}

type flattener struct {
	part   search.Part
	values []value
}

func (f *flattener) object(prefix string, object map[string]any, depth int) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		f.add(prefix+name, object[name], depth)
	}
}

func (f *flattener) add(name string, v any, depth int) {
	if len(f.values) >= maxValues || !indexable(name) {
		return
	}
	switch v := v.(type) {
	case json.Number:
		if number, err := v.Float64(); err == nil && !math.IsInf(number, 0) {
			f.values = append(f.values, value{key: key{f.part, name, "", search.Number}, number: number})
		}
	case string:
		f.text(name, v)
	case bool:
		f.text(name, map[bool]string{true: "true", false: "false"}[v])
	case []any:
		f.text(name, list(v))
	case map[string]any:
		if entry, ok := v["$catalogue"].(string); ok {
			f.text(name, entry)
			return
		}
		if v["$artifact"] == nil && depth < maxDepth {
			f.object(name+".", v, depth+1)
		}
	}
}

// list is a list as users write it: with & and <, not with their codes.
func list(v []any) string {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) //nolint:errchkjson // a decoded JSON value
	return strings.TrimSuffix(text.String(), "\n")
}

func (f *flattener) text(name, text string) {
	f.values = append(f.values, value{key: key{f.part, name, "", search.String}, text: cut(text)})
}

// cut returns the part of a text that the index has.
func cut(text string) string {
	if utf8.RuneCountInString(text) <= maxText {
		return text
	}
	return string([]rune(text)[:maxText])
}
