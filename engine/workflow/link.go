package workflow

import (
	"fmt"
	"strconv"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/typeregistry"
)

// link resolves every reference of d and checks its types, graph by graph. Graphs that
// another graph runs come first, because their outputs are those of its operator.
// dag.Compile reports operators that do not exist.
func (p *parser) link(d *Definition) {
	state := map[string]linkState{}
	for _, g := range d.all() {
		p.linkGraph(d, g, state)
	}
}

// linkState is the progress of linking a graph.
type linkState int

const (
	linking linkState = iota + 1
	linked
)

func (p *parser) linkGraph(d *Definition, g *Graph, state map[string]linkState) {
	if state[g.Name] != 0 {
		return
	}
	state[g.Name] = linking
	l := linker{parser: p, definition: d, state: state, inputs: map[string]typeregistry.Field{}, operators: map[string]*Operator{}}
	for _, f := range g.Inputs.Fields {
		l.inputs[f.Name] = f
	}
	for i := range g.Operators {
		op := &g.Operators[i]
		if op.runsGraph() {
			l.graphOutputs(op, g.operatorPath(i))
		}
		if _, taken := l.operators[op.Name]; !taken {
			l.operators[op.Name] = op
		}
	}
	for i := range g.Operators {
		l.operator(&g.Operators[i], g.operatorPath(i))
	}
	for i := range g.Outputs {
		l.output(&g.Outputs[i], g.Operators, g.at("outputs[%d]", i))
	}
	state[g.Name] = linked
}

type linker struct {
	*parser
	definition *Definition
	state      map[string]linkState
	inputs     map[string]typeregistry.Field
	operators  map[string]*Operator
}

func (l *linker) operator(op *Operator, path string) {
	item := l.loop(op, path)
	for j := range op.Inputs {
		at := fmt.Sprintf("%s.inputs[%d]", path, j)
		switch in := &op.Inputs[j]; in.Source.Kind {
		case SourceItem, SourceIndex:
			l.loopValue(op, in, item, at)
		case SourceFormula:
			l.names(in.Source.Formula, at+".expression", op.Foreach != nil)
			if in.Type == nil && !l.unreadable[at] {
				l.add(at+".type", "Set the type of the expression's value.")
			}
		case SourceLiteral, SourceInput, SourceFuture, SourceTags:
			l.input(in, at)
		}
	}
	l.sql(op, path)
	l.http(op, path)
	l.sensor(op, path)
	l.approval(op, path)
	linkGRPC(l, op, path)
	l.names(op.condition, path+".when", op.Foreach != nil)
	op.whenOfItem = op.condition != nil && readsItem(op.condition)
	if op.runsGraph() {
		l.graphInputs(op, path)
	}
	if op.Final && (op.Depends != "" || len(op.DependsOn) > 0) {
		l.add(path, "An on_exit operator runs after all others, so it cannot have depends.")
	}
}

// input sets the type of an input without one to the type of its source.
func (l *linker) input(in *Input, path string) {
	switch in.Source.Kind {
	case SourceLiteral:
		l.literal(in, path)
	case SourceInput:
		l.workflowInput(in, path)
	case SourceFuture:
		if out, ok := l.future(in.Source.Future, path+".from"); ok {
			in.Type = l.flow(out.Type, in.Type, path, in.Source.Future.String())
		}
	case SourceItem, SourceIndex, SourceFormula, SourceTags:
	}
}

func (l *linker) literal(in *Input, path string) {
	if in.Type == nil {
		if !l.unreadable[path] {
			l.add(path+".type", "Set the type of the literal.")
		}
		return
	}
	value, found := in.Type.CheckValue(in.Source.Value, typeregistry.Env{})
	for _, f := range found {
		at := path + ".value"
		if f.Path != "" {
			at += "." + f.Path
		}
		l.add(at, "%s", f.Message)
	}
	in.Source.Value = value
}

func (l *linker) workflowInput(in *Input, path string) {
	field, ok := l.inputs[in.Source.Input]
	if !ok {
		names := make([]string, 0, len(l.inputs))
		for name := range l.inputs {
			names = append(names, name)
		}
		l.add(path+".from", "The workflow has no input called %q.%s", shorten(in.Source.Input, 60), suggestion(in.Source.Input, names))
		return
	}
	if field.Type == nil {
		return
	}
	from := field.Type
	in.Type = l.flow(from, in.Type, path, "inputs."+field.Name)
	_, filled := field.DefaultValue(typeregistry.Env{})
	mayBeAbsent := !field.Required && !filled && from.Kind != typeregistry.KindOptional
	if mayBeAbsent && in.Type != nil && in.Type.Kind != typeregistry.KindOptional {
		l.add(path+".from", "The input %q is optional; make it required, give it a default, or declare the input as Optional<%s>.", field.Name, shorten(in.Type.String(), 60))
	}
}

// future finds the output that ref names; false (reported here unless
// dag.Compile will) when there is none.
func (l *linker) future(ref Reference, path string) (OperatorOutput, bool) {
	op, ok := l.operators[ref.Operator]
	if !ok {
		return OperatorOutput{}, false
	}
	out, ok := op.Produces(ref.Output)
	if !ok {
		names := make([]string, len(op.Outputs))
		for i, o := range op.Outputs {
			names[i] = o.Name
		}
		l.add(path, "Operator %q has no output called %q.%s", ref.Operator, shorten(ref.Output, 60), suggestion(ref.Output, names))
	}
	return out, ok
}

// flow checks that a value of type from can be used as type to, and returns to, or from
// when to is nil.
func (l *linker) flow(from, to *typeregistry.Type, path, source string) *typeregistry.Type {
	switch {
	case from == nil || to == nil && l.unreadable[path]:
	case to == nil:
		return from
	default:
		if err := typeregistry.Assignable(from, to); err != nil {
			l.add(path+".from", "The value of %s does not fit: %s", source, sentence(err.Error()))
		}
	}
	return to
}

// output resolves the output of a workflow or graph; without "from" and "expression" it is
// the only operator output of the same name.
func (l *linker) output(out *Output, operators []Operator, path string) {
	if out.Source.Kind == SourceFormula {
		l.names(out.Source.Formula, path+".expression", false)
		if out.Type == nil && !l.unreadable[path] {
			l.add(path+".type", "Set the type of the expression's value.")
		}
		return
	}
	if out.From == (Reference{}) {
		ref, count := namesake(out.Name, operators)
		if count != 1 {
			l.add(path+".from", "Set the operator output: from: <operator>.<output>.")
			return
		}
		out.From = ref
	}
	source, ok := l.future(out.From, path+".from")
	if ok {
		out.Type = l.flow(source.Type, out.Type, path, out.From.String())
	} else if _, known := l.operators[out.From.Operator]; !known {
		l.add(path+".from", "There is no operator called %q.", shorten(out.From.Operator, 60))
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

func namesake(name string, operators []Operator) (Reference, int) {
	var ref Reference
	count := 0
	for i := range operators {
		if _, ok := operators[i].Output(name); ok {
			ref = Reference{Operator: operators[i].Name, Output: name}
			count++
		}
	}
	return ref, count
}

func suggestion(word string, candidates []string) string {
	if near := apperr.Nearest(word, candidates); near != "" {
		return fmt.Sprintf(" Did you mean %q?", near)
	}
	return ""
}
