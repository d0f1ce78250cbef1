package typeregistry

import "fmt"

// Limits of one type expression or object form.
const (
	maxExpression = 64 << 10 // bytes
	maxDepth      = 32       // nested types and values
	maxNodes      = 5000     // types in one expression
)

// SyntaxError is the position of an error in an expression. Column counts characters
// from 1.
type SyntaxError struct {
	Column  int
	Message string
}

// Error returns the message with its column.
func (e *SyntaxError) Error() string { return fmt.Sprintf("column %d: %s", e.Column, e.Message) }

// node is a parsed, unresolved type, from the expression form or the object form.
type node struct {
	location location
	name     string
	params   []nodeParam
	args     []any // positional: the options of an Enum
	types    []nodeType
	union    bool // the types were joined by "|"
	fields   []nodeField
	braces   bool // fields were given, perhaps none
}

type nodeParam struct {
	location location
	name     string
	value    any // decoded JSON; columns are objects {name, dtype, dimensions}
}

type nodeType struct {
	tag  string
	node *node
}

type nodeField struct {
	location   location
	name       string
	node       *node
	optional   bool // "name?"
	hasDefault bool
	value      any
	attributes map[string]any
}

// below prefixes the locations of an expression with its path.
func (n *node) below(path string) {
	n.location.path = path
	for i := range n.params {
		n.params[i].location.path = path
	}
	for _, t := range n.types {
		t.node.below(path)
	}
	for i := range n.fields {
		n.fields[i].location.path = path
		n.fields[i].node.below(path)
	}
}

// location is the position of a part: a column of an expression, a path of an object form,
// or both.
type location struct {
	column int
	path   string
}

func (p location) errorf(format string, args ...any) error {
	switch {
	case p.column > 0 && p.path != "":
		return &formError{path: p.path, message: fmt.Sprintf("column %d: ", p.column) + fmt.Sprintf(format, args...)}
	case p.column > 0:
		return &SyntaxError{Column: p.column, Message: fmt.Sprintf(format, args...)}
	}
	return &formError{path: p.path, message: fmt.Sprintf(format, args...)}
}

// formError is an error in an object form.
type formError struct{ path, message string }

func (e *formError) Error() string {
	if e.path == "" {
		return e.message
	}
	return e.path + ": " + e.message
}
