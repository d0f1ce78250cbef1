package workflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	yamlparser "github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds on what reaches the YAML parser, which is recursive, and whose time is
// quadratic in the keys of one block mapping.
const (
	maxYAMLBytes    = 4 << 20
	maxNestingMarks = 1000 // opened flow brackets; block markers in one line
	maxBlockKeys    = 2000 // lines with a colon at one indentation
)

// decodeYAML reads one YAML document. Aliases and merge keys are expanded within
// the limit on values; tags and numbers that JSON cannot hold are refused.
func decodeYAML(doc []byte) (any, error) {
	if len(doc) > maxYAMLBytes {
		return nil, documentErrorf("A YAML document can have at most %d MiB; use JSON for larger documents.", maxYAMLBytes>>20)
	}
	if err := checkShape(doc); err != nil {
		return nil, err
	}
	file, err := parseYAML(doc)
	if err != nil {
		return nil, yamlError(err)
	}
	var body ast.Node
	for _, d := range file.Docs {
		if d.Body == nil || d.Body.Type() == ast.CommentType {
			continue
		}
		if body != nil {
			return nil, documentErrorf("The file contains more than one document.")
		}
		body = d.Body
	}
	if body == nil {
		return nil, documentErrorf("The document is empty.")
	}
	r := yamlReader{anchors: map[string]ast.Node{}, kubernetes: isObject(body)}
	return r.value(body, 0)
}

// parseYAML converts panics of the parser on malformed input to errors.
func parseYAML(doc []byte) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the parser failed: %v", p)
		}
	}()
	return yamlparser.ParseBytes(doc, 0)
}

// yamlError keeps line and message of the parser and drops its quoted source.
func yamlError(err error) error {
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil && at.GetToken().Position != nil {
		p := at.GetToken().Position
		return documentErrorf("Line %d, column %d: %s.", p.Line, p.Column, at.GetMessage())
	}
	return documentErrorf("The YAML is not valid: %s.", shorten(err.Error(), 200))
}

// checkShape checks only brackets and indentation. It also counts those in strings, so
// its bounds are far above those of real documents.
func checkShape(doc []byte) error {
	open := 0
	var blocks []block // around the line, the innermost last
	for line := range bytes.Lines(doc) {
		marks := 0
		for i, c := range line {
			switch c {
			case '[', '{':
				open++
			case ']', '}':
				open = max(open-1, 0)
			case '-', '?':
				if i+1 < len(line) && (line[i+1] == ' ' || line[i+1] == '\t') {
					marks++
				}
			}
			if open > maxNestingMarks || marks > maxNestingMarks {
				return errTooDeep()
			}
		}
		if bytes.IndexByte(line, ':') < 0 {
			continue
		}
		indent := len(line) - len(bytes.TrimLeft(line, " "))
		for len(blocks) > 0 && blocks[len(blocks)-1].indent > indent {
			blocks = blocks[:len(blocks)-1]
		}
		if len(blocks) == 0 || blocks[len(blocks)-1].indent < indent {
			blocks = append(blocks, block{indent: indent})
		}
		if line[indent] == '-' { // an item of a list, not another key
			continue
		}
		if last := &blocks[len(blocks)-1]; last.keys < maxBlockKeys {
			last.keys++
			continue
		}
		return documentErrorf("A mapping can have at most %d keys.", maxBlockKeys)
	}
	return nil
}

// block is a run of lines at one indentation.
type block struct{ indent, keys int }

type yamlReader struct {
	anchors    map[string]ast.Node
	values     int
	kubernetes bool // plain scalars are read as Kubernetes reads them: see kubernetesScalar
}

func (r *yamlReader) value(n ast.Node, depth int) (any, error) {
	if r.values++; r.values > maxValues {
		return nil, errTooManyValues()
	}
	if depth > maxDepth {
		return nil, errTooDeep()
	}
	if v, ok := r.kubernetesScalar(n); ok {
		return v, nil
	}
	switch n := n.(type) {
	case nil, *ast.NullNode:
		return nil, nil
	case *ast.BoolNode:
		return n.Value, nil
	case *ast.StringNode:
		return plain(n)
	case *ast.LiteralNode:
		return n.Value.Value, checkText(n.Value.Value)
	case *ast.IntegerNode:
		return integer(n)
	case *ast.FloatNode:
		return float(n)
	case *ast.SequenceNode:
		return r.list(n, depth+1)
	case *ast.MappingNode:
		return r.object(n.Values, depth+1)
	case *ast.MappingValueNode:
		return r.object([]*ast.MappingValueNode{n}, depth+1)
	case *ast.AnchorNode:
		r.anchors[n.Name.String()] = n.Value
		return r.value(n.Value, depth)
	case *ast.AliasNode:
		return r.alias(n, depth)
	case *ast.TagNode:
		return nil, at(n, "tags such as %s are not supported", n.Start.Value)
	default:
		return nil, at(n, "%s is not allowed here", n.Type())
	}
}

func (r *yamlReader) alias(n *ast.AliasNode, depth int) (any, error) {
	target, ok := r.anchors[n.Value.String()]
	if !ok {
		return nil, at(n, "the alias *%s has no anchor before it", n.Value.String())
	}
	return r.value(target, depth+1)
}

func (r *yamlReader) list(n *ast.SequenceNode, depth int) (any, error) {
	list := make([]any, 0, len(n.Values))
	for _, item := range n.Values {
		v, err := r.value(item, depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// object reads the keys of one mapping. Merged keys ("<<") yield to its own.
func (r *yamlReader) object(values []*ast.MappingValueNode, depth int) (any, error) {
	object := make(map[string]any, len(values))
	merged := map[string]any{}
	for _, pair := range values {
		v, err := r.value(pair.Value, depth)
		if err != nil {
			return nil, err
		}
		if pair.Key.IsMergeKey() {
			if err := merge(merged, v, pair); err != nil {
				return nil, err
			}
			continue
		}
		key, err := r.key(pair.Key)
		if err != nil {
			return nil, err
		}
		if _, twice := object[key]; twice {
			return nil, at(pair, "the key %q appears twice in the same mapping", key)
		}
		object[key] = v
	}
	for k, v := range merged {
		if _, own := object[k]; !own {
			object[k] = v
		}
	}
	return object, nil
}

func merge(into map[string]any, v any, pair ast.Node) error {
	sources, isList := v.([]any)
	if !isList {
		sources = []any{v}
	}
	for _, s := range sources {
		m, ok := s.(map[string]any)
		if !ok {
			return at(pair, "<< merges only mappings")
		}
		for k, item := range m {
			if _, earlier := into[k]; !earlier {
				into[k] = item
			}
		}
	}
	return nil
}

// key accepts text, and plain scalars with their spelling (1: yes: null:).
func (r *yamlReader) key(n ast.Node) (string, error) {
	if v, ok := r.kubernetesScalar(n); ok {
		return fmt.Sprint(v), nil
	}
	switch k := n.(type) {
	case *ast.StringNode:
		return k.Value, checkText(k.Value)
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		return k.GetToken().Value, nil
	}
	return "", at(n, "a key must be text")
}

func integer(n *ast.IntegerNode) (any, error) {
	switch v := n.Value.(type) {
	case int64:
		return json.Number(strconv.FormatInt(v, 10)), nil
	case uint64:
		return json.Number(strconv.FormatUint(v, 10)), nil
	}
	return nil, at(n, "%s is too large", shorten(n.GetToken().Value, 40))
}

// scientific is the core schema's float without a point, which the parser treats as
// text: learning rates are often written 1e-4.
var scientific = regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)[eE][-+]?[0-9]{1,3}$`)

func plain(n *ast.StringNode) (any, error) {
	if n.GetToken().Type == token.StringType && scientific.MatchString(n.Value) {
		return json.Number(n.Value), nil
	}
	return n.Value, checkText(n.Value)
}

// float keeps the digits as written when JSON can read them.
func float(n *ast.FloatNode) (any, error) {
	if text := n.GetToken().Value; json.Valid([]byte(text)) {
		return json.Number(text), nil
	}
	return json.Number(strconv.FormatFloat(n.Value, 'g', -1, 64)), nil
}

// at reports a problem with its line.
func at(n ast.Node, format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	if t := n.GetToken(); t != nil && t.Position != nil {
		return documentErrorf("Line %d, column %d: %s.", t.Position.Line, t.Position.Column, message)
	}
	return documentErrorf("%s.", message)
}
