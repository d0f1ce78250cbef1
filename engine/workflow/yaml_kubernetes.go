package workflow

import (
	"bytes"
	"encoding/json"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
	kubeyaml "sigs.k8s.io/yaml"
)

// isObject reports whether a document is an object of Kubernetes, as Argo's are: a mapping
// with an apiVersion.
func isObject(body ast.Node) bool {
	var fields []*ast.MappingValueNode
	switch n := body.(type) {
	case *ast.MappingNode:
		fields = n.Values
	case *ast.MappingValueNode:
		fields = []*ast.MappingValueNode{n}
	}
	for _, f := range fields {
		if key, ok := f.Key.(*ast.StringNode); ok && key.Value == "apiVersion" {
			return true
		}
	}
	return false
}

// ambiguous are the plain scalars that YAML 1.1 may read as something other than text.
var ambiguous = formOf(`^[-+.0-9A-Za-z_]+$`, 64)

// kubernetesScalar reads a plain scalar of an object of Kubernetes by the rules of YAML 1.1,
// with the parser that Kubernetes and Argo use: yes, on and y are true, 010 is 8, 1_000 is
// 1000 and 1.10 is 1.1. It returns false for other nodes and for what is text by either rules.
func (r *yamlReader) kubernetesScalar(n ast.Node) (any, bool) {
	if !r.kubernetes {
		return nil, false
	}
	switch n := n.(type) {
	case *ast.StringNode:
		if n.GetToken().Type != token.StringType {
			return nil, false
		}
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
	default:
		return nil, false
	}
	text := n.GetToken().Value
	if !ambiguous.MatchString(text) {
		return nil, false
	}
	encoded, err := kubeyaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(encoded))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, false
	}
	switch value.(type) {
	case bool, json.Number:
		return value, true
	}
	return nil, false
}
