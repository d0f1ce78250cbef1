package workflow

import (
	"bytes"
	"strconv"

	"github.com/goccy/go-yaml/ast"
)

// DecodeDocument reads one YAML or JSON document into decoded JSON values, within the limits of
// definitions. Numbers are json.Number.
func DecodeDocument(doc []byte) (any, error) { return decodeDocument(doc) }

// DocumentLines returns the line of each value of a YAML or JSON document by its path, such as
// "inputs.layers.0.width". It is empty for a document that does not parse.
func DocumentLines(doc []byte) map[string]int {
	lines := map[string]int{}
	doc = bytes.TrimPrefix(doc, []byte("\ufeff"))
	if len(doc) > maxYAMLBytes || checkShape(doc) != nil {
		return lines
	}
	file, err := parseYAML(doc)
	if err != nil {
		return lines
	}
	for _, d := range file.Docs {
		addLines(lines, d.Body, "")
	}
	return lines
}

// addLines adds the lines of the values below n.
func addLines(lines map[string]int, n ast.Node, path string) {
	switch n := n.(type) {
	case *ast.MappingNode:
		for _, pair := range n.Values {
			addLines(lines, pair, path)
		}
	case *ast.MappingValueNode:
		key := n.Key.GetToken()
		below := pathOf(path, key.Value)
		lines[below] = key.Position.Line
		addLines(lines, n.Value, below)
	case *ast.SequenceNode:
		for i, item := range n.Values {
			below := pathOf(path, strconv.Itoa(i))
			lines[below] = item.GetToken().Position.Line
			addLines(lines, item, below)
		}
	case *ast.AnchorNode:
		addLines(lines, n.Value, path)
	}
}

func pathOf(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
