package preview

import (
	"encoding/json"
	"strconv"
	"strings"
)

// treePart is one step of a path.
type treePart struct {
	name  string
	index int64 // -1: a name
}

func keyText(path []treePart) string {
	last := path[len(path)-1]
	if last.index >= 0 {
		return strconv.FormatInt(last.index, 10)
	}
	key, _ := cutRunes(last.name, treeText)
	return key
}

// pathText writes a path: $.name, $["other name"], $[3]. It is "" for a path that is too long to
// select a value with.
func pathText(path []treePart) string {
	var out strings.Builder
	out.WriteByte('$')
	for _, p := range path {
		if out.Len()+len(p.name) > maxPath {
			return ""
		}
		switch {
		case p.index >= 0:
			out.WriteString("[" + strconv.FormatInt(p.index, 10) + "]")
		case plainName(p.name):
			out.WriteString("." + p.name)
		default:
			quoted, _ := json.Marshal(p.name) //nolint:errchkjson // a string always has a text
			out.WriteString("[" + string(quoted) + "]")
		}
	}
	if out.Len() > maxPath {
		return ""
	}
	return out.String()
}

func plainName(name string) bool {
	for i, c := range name {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// maxPath is the maximum length of a path that selects a value.
const maxPath = 4000

// parsePath reads what pathText writes; "" is the document.
func parsePath(text string) ([]treePart, error) {
	if text == "" {
		return nil, nil
	}
	wrong := func() ([]treePart, error) {
		return nil, bad("%q is not a valid path. Enter a path such as $.layers[3].name.", text)
	}
	rest, ok := strings.CutPrefix(text, "$")
	if !ok || len(text) > maxPath {
		return wrong()
	}
	var path []treePart
	for rest != "" {
		switch {
		case rest[0] == '.':
			end := strings.IndexAny(rest[1:], ".[") + 1
			if end == 0 {
				end = len(rest)
			}
			if !plainName(rest[1:end]) {
				return wrong()
			}
			path, rest = append(path, treePart{rest[1:end], -1}), rest[end:]
		case strings.HasPrefix(rest, `["`):
			d := json.NewDecoder(strings.NewReader(rest[1:]))
			var name string
			if d.Decode(&name) != nil {
				return wrong()
			}
			end := 1 + int(d.InputOffset())
			if end >= len(rest) || rest[end] != ']' {
				return wrong()
			}
			path, rest = append(path, treePart{name, -1}), rest[end+1:]
		case rest[0] == '[':
			end := strings.IndexByte(rest, ']')
			if end < 0 {
				return wrong()
			}
			index, err := strconv.ParseInt(rest[1:end], 10, 64)
			if err != nil || index < 0 {
				return wrong()
			}
			path, rest = append(path, treePart{"", index}), rest[end+1:]
		default:
			return wrong()
		}
	}
	if pathText(path) == "" {
		return wrong()
	}
	return path, nil
}

// Step is one element of the path of the selected value.
type Step struct{ Name, Path string }

// Steps lead from the document to the selected value.
func (t Tree) Steps() []Step {
	steps := []Step{{"$", "$"}}
	for i := range t.trail {
		steps = append(steps, Step{keyText(t.trail[:i+1]), pathText(t.trail[:i+1])})
	}
	return steps
}
