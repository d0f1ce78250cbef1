package expression

import (
	"fmt"
	"maps"
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
)

// The helpers that a rewritten program calls. No name in a text can begin with NUL, so
// a text cannot call them.
const (
	helper       = "\x00"
	helperPath   = helper + "path"   // a name of the environment
	helperField  = helper + "field"  // a field of a computed value
	helperTick   = helper + "tick"   // the end of one iteration of a loop
	helperWeigh  = helper + "weigh"  // a value that is about to be read
	helperLength = helper + "length" // a value whose length is about to be counted
	helperCall   = helper + "call"   // a function of the dialect
	helperMethod = helper + "method" // a method of a date, a duration or a version
)

// rewriter turns the tree of a text into one that counts its steps: loops call tick,
// operations that read whole values weigh them first, and functions with large results
// are replaced by bounded ones.
type rewriter struct {
	dialect *dialect
	refs    []reading
	vars    []string // names that let has declared
	parts   int
	err     *file.Error
}

// need describes how a position handles an undefined name.
type need int

const (
	demanded  need = iota // it is an error
	forgiven              // it is nil, as in Argo's comparisons; a check before the run still requires it
	dispensed             // it is nil, because the text provides for that: ??, ?., == nil
)

// reading is one position that reads from the environment.
type reading struct {
	path []string
	need need
}

// fail records the first error, at n.
func (r *rewriter) fail(n ast.Node, err error) ast.Node {
	if r.err == nil {
		r.err = &file.Error{Location: n.Location(), Message: err.Error(), Prev: err}
	}
	return n
}

// call creates a call of a helper at the position of n.
func call(n ast.Node, name string, args ...ast.Node) ast.Node {
	callee := &ast.IdentifierNode{Value: name}
	node := &ast.CallNode{Callee: callee, Arguments: args}
	callee.SetLocation(n.Location())
	node.SetLocation(n.Location())
	for _, a := range args {
		if a.Location() == (file.Location{}) {
			a.SetLocation(n.Location())
		}
	}
	return node
}

// node rewrites n; need describes how its position handles undefined names.
func (r *rewriter) node(n ast.Node, need need) ast.Node {
	r.parts++
	switch n := n.(type) {
	case *ast.IdentifierNode, *ast.MemberNode:
		return r.member(n, need)
	case *ast.ChainNode:
		return r.node(n.Node, dispensed)
	case *ast.UnaryNode:
		n.Node = r.node(n.Node, demanded)
	case *ast.BinaryNode:
		return r.binary(n)
	case *ast.CallNode:
		return r.call(n)
	case *ast.BuiltinNode:
		return r.builtin(n)
	case *ast.PredicateNode:
		before := r.parts
		body := r.node(n.Node, demanded)
		n.Node = call(n, helperTick, &ast.IntegerNode{Value: r.parts - before}, body)
	case *ast.SliceNode:
		n.Node = r.node(n.Node, demanded)
		if n.From != nil {
			n.From = r.node(n.From, demanded)
		}
		if n.To != nil {
			n.To = r.node(n.To, demanded)
		}
	case *ast.ConditionalNode:
		n.Cond, n.Exp1, n.Exp2 = r.node(n.Cond, demanded), r.node(n.Exp1, need), r.node(n.Exp2, need)
	case *ast.VariableDeclaratorNode:
		n.Value = r.node(n.Value, demanded)
		r.vars = append(r.vars, n.Name)
		n.Expr = r.node(n.Expr, need)
		r.vars = r.vars[:len(r.vars)-1]
	case *ast.SequenceNode:
		r.all(n.Nodes)
	case *ast.ArrayNode:
		r.all(n.Nodes)
	case *ast.MapNode:
		r.all(n.Pairs)
	case *ast.PairNode:
		n.Key, n.Value = r.node(n.Key, demanded), r.node(n.Value, demanded)
	}
	return n
}

func (r *rewriter) all(nodes []ast.Node) {
	for i, n := range nodes {
		nodes[i] = r.node(n, demanded)
	}
}

// member rewrites names and fields: the constant part of a.b["c"] becomes one
// reference.
func (r *rewriter) member(n ast.Node, need need) ast.Node {
	if path, ok := r.path(n); ok {
		n = first(n)
		if path[0] == "$env" || path[0] == "sprig" && r.dialect.sprig {
			return r.fail(n, fmt.Errorf("%s cannot be used as a value", path[0]))
		}
		r.refs = append(r.refs, reading{path: path, need: need})
		return call(n, helperPath, &ast.IntegerNode{Value: len(r.refs) - 1})
	}
	m, ok := n.(*ast.MemberNode)
	if !ok {
		return n // declared by let
	}
	if m.Optional {
		need = dispensed
	}
	lenient := need != demanded || r.dialect.sprig // in Argo, a missing field of an unnamed value is nil
	return call(n, helperField, r.node(m.Node, need), r.node(m.Property, demanded), &ast.BoolNode{Value: lenient})
}

// path returns the names of n when n is a name of the environment with constant fields.
func (r *rewriter) path(n ast.Node) ([]string, bool) {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		return []string{n.Value}, !slices.Contains(r.vars, n.Value)
	case *ast.MemberNode:
		field, ok := n.Property.(*ast.StringNode)
		if !ok || n.Optional {
			return nil, false
		}
		if path, ok := r.path(n.Node); ok {
			r.parts++
			return append(path, field.Value), true
		}
	}
	return nil, false
}

// first returns the first name of a reference: the position in errors.
func first(n ast.Node) ast.Node {
	for {
		m, ok := n.(*ast.MemberNode)
		if !ok {
			return n
		}
		n = m.Node
	}
}

func (r *rewriter) binary(n *ast.BinaryNode) ast.Node {
	need := demanded
	switch n.Operator {
	case "==", "!=", "in":
		if r.dialect.sprig {
			need = forgiven
		}
		_, left := n.Left.(*ast.NilNode)
		_, right := n.Right.(*ast.NilNode)
		if left || right {
			need = dispensed
		}
	case "??":
		n.Left, n.Right = r.node(n.Left, dispensed), r.node(n.Right, demanded)
		return n
	}
	n.Left, n.Right = r.node(n.Left, need), r.node(n.Right, need)
	switch n.Operator {
	case "matches", "..":
		return call(n, helperCall, &ast.StringNode{Value: n.Operator}, n.Left, n.Right)
	case "+", "==", "!=", "<", "<=", ">", ">=", "in", "contains", "startsWith", "endsWith":
		n.Left, n.Right = weighed(n.Left), weighed(n.Right)
	}
	return n
}

// weighed charges the size of n unless it is a short constant.
func weighed(n ast.Node) ast.Node {
	switch n := n.(type) {
	case *ast.NilNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode:
		return n
	}
	return call(n, helperWeigh, n)
}

// call rewrites a call of a function or a method by its name.
func (r *rewriter) call(n *ast.CallNode) ast.Node {
	r.all(n.Arguments)
	switch callee := n.Callee.(type) {
	case *ast.IdentifierNode:
		return r.function(n, callee.Value)
	case *ast.MemberNode:
		name, ok := callee.Property.(*ast.StringNode)
		if !ok {
			break
		}
		if of, ok := callee.Node.(*ast.IdentifierNode); ok && of.Value == "sprig" && r.dialect.sprig {
			return r.function(n, "sprig."+name.Value)
		}
		args := append([]ast.Node{r.node(callee.Node, demanded), name}, n.Arguments...)
		return call(n, helperMethod, args...)
	}
	return r.fail(n, fmt.Errorf("only functions can be called, by name"))
}

// function makes the call of the dialect's function name.
func (r *rewriter) function(n *ast.CallNode, name string) ast.Node {
	if why, ok := removed()[name]; ok {
		return r.fail(n, fmt.Errorf("the function %s is not available, because %s", name, why))
	}
	if _, ok := r.dialect.functions()[name]; !ok {
		return r.fail(n, &UnknownError{Name: "function " + name, Near: near("", name, slices.Sorted(maps.Keys(r.dialect.functions())))})
	}
	return call(n, helperCall, append([]ast.Node{&ast.StringNode{Value: name}}, n.Arguments...)...)
}

// builtin rewrites a call of a function of the language. Loops count their iterations;
// all others take time that is at most proportional to their arguments.
func (r *rewriter) builtin(n *ast.BuiltinNode) ast.Node {
	if n.Name == "now" && !r.dialect.clock {
		return r.fail(n, fmt.Errorf("now() is not available, because evaluation must be repeatable"))
	}
	loop := false
	for i, a := range n.Arguments {
		_, is := a.(*ast.PredicateNode)
		loop = loop || is
		need := demanded
		if n.Name == "get" && i == 0 {
			need = dispensed
		}
		n.Arguments[i] = r.node(a, need)
	}
	if _, ok := r.dialect.functions()[n.Name]; ok {
		return call(n, helperCall, append([]ast.Node{&ast.StringNode{Value: n.Name}}, n.Arguments...)...)
	}
	switch n.Name {
	case "first", "last", "get", "type":
		return n // they access at most one element
	case "len":
		n.Arguments[0] = call(n.Arguments[0], helperLength, n.Arguments[0])
		return n
	}
	for i, a := range n.Arguments {
		if _, is := a.(*ast.PredicateNode); !is && !(loop && i == 0) {
			n.Arguments[i] = weighed(a)
		}
	}
	switch n.Name {
	case "date", "duration":
		return call(n, helperTick, &ast.IntegerNode{Value: 50}, n) // they try many layouts
	case "timezone":
		return call(n, helperTick, &ast.IntegerNode{Value: 200}, n) // it reads the list of zones
	}
	return n
}
