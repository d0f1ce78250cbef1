package space

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/typeregistry"
)

// TypeAt returns the type of the value at a path of inputs, or why there is none.
func TypeAt(inputs typeregistry.Schema, path string) (*typeregistry.Type, string) {
	if path == "" || utf8.RuneCountInString(path) > MaxPath {
		return nil, fmt.Sprintf("Enter the name of an input, of at most %d characters.", MaxPath)
	}
	name, rest, nested := strings.Cut(path, ".")
	f, ok := inputs.Field(name)
	if !ok {
		return nil, fmt.Sprintf("There is no input %q.%s", name, suggestion(inputs.Fields, path))
	}
	if f.Type.Kind == typeregistry.KindSecret || f.Type.Kind == typeregistry.KindConnection {
		return nil, "Secrets and connections cannot be varied."
	}
	if !nested {
		return f.Type, ""
	}
	return below(f.Type, name, rest)
}

// below returns the type at rest inside a value of t, which is at path.
func below(t *typeregistry.Type, path, rest string) (*typeregistry.Type, string) {
	if t.Kind == typeregistry.KindOptional {
		return below(t.Elem, path, rest)
	}
	name, rest, nested := strings.Cut(rest, ".")
	var found *typeregistry.Type
	switch t.Kind { //nolint:exhaustive // the others have no parts with a path
	case typeregistry.KindStruct, typeregistry.KindHyperparam:
		if f, ok := t.FieldNamed(name); ok {
			found = f.Type
		} else if others := t.Others(); others != nil {
			found = others.Elem
		} else {
			return nil, fmt.Sprintf("%s has no %q.%s", path, name, suggestion(t.Fields, name))
		}
	case typeregistry.KindMap:
		found = t.Elem
	case typeregistry.KindList:
		if _, ok := index(name); ok {
			found = t.Elem
		}
	default:
		return nil, fmt.Sprintf("%s is %s, and its parts cannot be varied. Vary %s as a whole, with values.", path, t, path)
	}
	switch {
	case found == nil:
		return nil, fmt.Sprintf("%s has no %q.", path, name)
	case found.Kind == typeregistry.KindSecret, found.Kind == typeregistry.KindConnection:
		return nil, "Secrets and connections cannot be varied."
	case nested:
		return below(found, path+"."+name, rest)
	}
	return found, ""
}

// suggestion returns a sentence with the path that the person probably meant, or with the names
// of the fields.
func suggestion(fields []typeregistry.Field, path string) string {
	paths := pathsOf(fields, "", 0)
	var below []string
	for _, candidate := range paths {
		if strings.HasSuffix(candidate, "."+path) {
			below = append(below, candidate)
		}
	}
	near := apperr.Nearest(path, paths)
	switch {
	case len(below) == 1:
		near = below[0]
	case near == "" && len(fields) > 0:
		names := make([]string, 0, len(fields))
		for _, f := range fields {
			names = append(names, f.Name)
		}
		return fmt.Sprintf(" Enter one of: %s.", strings.Join(names, ", "))
	}
	if near == "" {
		return ""
	}
	return fmt.Sprintf(" Did you mean %q?", near)
}

// maxDepth is the number of levels of fields that suggestions contain.
const maxDepth = 4

// pathsOf lists the paths of fields and of the fields in them.
func pathsOf(fields []typeregistry.Field, above string, depth int) (paths []string) {
	for _, f := range fields {
		path := above + f.Name
		paths = append(paths, path)
		t := f.Type
		for t.Kind == typeregistry.KindOptional {
			t = t.Elem
		}
		if depth < maxDepth {
			paths = append(paths, pathsOf(t.Fields, path+".", depth+1)...)
		}
	}
	return paths
}

// Apply returns inputs with the values of a combination. They also replace those of inputs with dotted
// names, which a launch would set last. Inputs stay as they are. It returns a problem at a path
// whose surroundings are missing from the inputs, such as an absent item of a list.
func Apply(inputs map[string]any, c Combination) (map[string]any, []typeregistry.Problem) {
	out := maps.Clone(inputs)
	if out == nil {
		out = map[string]any{}
	}
	var problems []typeregistry.Problem
	for _, path := range slices.Sorted(maps.Keys(c)) {
		undot(out, path)
		name, rest, nested := strings.Cut(path, ".")
		if !nested {
			out[name] = c[path]
			continue
		}
		changed, message := put(out[name], strings.Split(rest, "."), c[path])
		if message != "" {
			problems = append(problems, typeregistry.Problem{Path: path, Message: message})
			continue
		}
		out[name] = changed
	}
	return out, problems
}

// undot removes the inputs with dotted names that set a path, and moves the value around the path of
// others into the input that it is a part of.
func undot(inputs map[string]any, path string) {
	for _, given := range slices.Sorted(maps.Keys(inputs)) {
		name, rest, dotted := strings.Cut(given, ".")
		switch {
		case within(given, path):
			delete(inputs, given)
		case dotted && within(path, given):
			if changed, message := put(inputs[name], strings.Split(rest, "."), inputs[given]); message == "" {
				inputs[name] = changed
				delete(inputs, given)
			}
		}
	}
}

// put returns a copy of v with another value at a path inside it.
func put(v any, path []string, value any) (any, string) {
	if len(path) == 0 {
		return value, ""
	}
	switch x := v.(type) {
	case nil:
		inner, message := put(nil, path[1:], value)
		return map[string]any{path[0]: inner}, message
	case map[string]any:
		inner, message := put(x[path[0]], path[1:], value)
		out := maps.Clone(x)
		out[path[0]] = inner
		return out, message
	case []any:
		i, ok := index(path[0])
		if !ok || i >= len(x) {
			return v, fmt.Sprintf("The list has only %d items, so item %s cannot be varied. Add the item to the inputs first.", len(x), path[0])
		}
		inner, message := put(x[i], path[1:], value)
		out := slices.Clone(x)
		out[i] = inner
		return out, message
	}
	return v, fmt.Sprintf("%s has no part %s.", Text(v), path[0])
}

func index(text string) (int, bool) {
	i, err := strconv.Atoi(text)
	return i, err == nil && i >= 0 && strconv.Itoa(i) == text
}
