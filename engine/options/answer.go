package options

import (
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
)

// readAnswer reads the options in a JSON answer.
func readAnswer(body []byte, source typeregistry.Resolved, t *typeregistry.Type) (list, error) {
	decoded, err := typeregistry.DecodeJSON(body)
	if err != nil {
		return list{}, apperr.New(apperr.Unavailable, "The response with the options is not JSON.")
	}
	return readOptions(decoded, source, t)
}

// readOptions reads the options in a decoded answer.
func readOptions(decoded any, source typeregistry.Resolved, t *typeregistry.Type) (list, error) {
	found, ok := at(decoded, source.Items)
	items, isList := found.([]any)
	switch {
	case !ok:
		return list{}, apperr.New(apperr.Unavailable, "The response with the options has no %s.", source.Items)
	case found == nil: // null is an empty list
	case !isList && source.Items == "":
		return list{}, apperr.New(apperr.Unavailable, "The response with the options is not a list. Set items to the path of the list.")
	case !isList:
		return list{}, apperr.New(apperr.Unavailable, "%s in the response with the options is not a list.", source.Items)
	case len(items) > maxOptions:
		return list{}, apperr.New(apperr.Unavailable, "The response has %s options; at most %s are allowed.", units.Number(int64(len(items))), units.Number(maxOptions))
	}
	b := newBuilder(source, t)
	value, label, description := paths(source.Source)
	for i, item := range items {
		raw, ok := at(item, value)
		if _, object := item.(map[string]any); value == "" && object {
			raw, ok = at(item, ".value")
		}
		if !ok {
			return list{}, apperr.New(apperr.Unavailable, "Option %d in the response has no %s.", i+1, orValue(value))
		}
		b.source.Label, b.source.Description = label, description
		b.add(raw, func(path string) string {
			v, _ := at(item, path)
			return shown(v)
		})
	}
	return b.list(0), nil
}

// paths are the paths of a source. Without any, an object contains value, label and description,
// as in a list.
func paths(s *typeregistry.Source) (value, label, description string) {
	if s.Value == "" && s.Label == "" && s.Description == "" {
		return "", ".label", ".description"
	}
	return s.Value, s.Label, s.Description
}

func orValue(path string) string {
	if path == "" {
		return ".value"
	}
	return path
}

// at follows a path such as .data[0].name; "" is the value itself.
func at(v any, path string) (any, bool) {
	for path != "" {
		switch {
		case path[0] == '.':
			name := path[1:]
			if end := strings.IndexAny(name, ".["); end >= 0 {
				name = name[:end]
			}
			path = path[1+len(name):]
			object, ok := v.(map[string]any)
			if name == "" && !ok {
				continue // a lone dot is the value itself
			}
			if v, ok = object[name]; !ok {
				return nil, false
			}
		case path[0] == '[':
			inner, rest, ok := strings.Cut(path[1:], "]")
			i, err := strconv.Atoi(inner)
			items, isList := v.([]any)
			if !ok || err != nil || !isList || i < 0 || i >= len(items) {
				return nil, false
			}
			v, path = items[i], rest
		default:
			return nil, false
		}
	}
	return v, true
}
