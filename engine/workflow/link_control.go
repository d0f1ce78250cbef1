package workflow

import (
	"slices"
	"strings"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/expression"
	"github.com/flowforge/flowforge/typeregistry"
)

// The names that expressions read.
const (
	NameInputs    = "inputs"
	NameNodes     = "nodes"
	NameExecution = "execution"
)

// graphOutputs gives an operator that runs a graph the outputs of that graph, and
// checks its inputs against those of the graph.
func (l *linker) graphOutputs(op *Operator, path string) {
	g, ok := l.definition.Graph(op.Graph)
	if !ok || op.Graph == "" {
		if op.Graph != "" {
			l.noGraph(op, path)
		}
		return
	}
	l.parser.linkGraph(l.definition, g, l.state)
	op.Outputs = nil
	for _, out := range g.Outputs {
		if out.Type == nil && l.state[g.Name] == linking {
			l.add(g.at("outputs")+"."+out.Name, "Set the type of this output, because the graph is recursive.")
		}
		op.Outputs = append(op.Outputs, OperatorOutput{Name: out.Name, Type: out.Type, Description: out.Description, Storage: StorageDisk})
	}
}

func (l *linker) noGraph(op *Operator, path string) {
	if op.Type == TypeWorkflow {
		l.add(path+".workflow", "There is no workflow %q.", shorten(op.Workflow, 100))
		return
	}
	l.add(path+".graph", "There is no graph called %q.%s", shorten(op.Graph, 60), suggestion(op.Graph, l.graphNames()))
}

func (l *linker) graphNames() []string {
	var names []string
	for i := range l.definition.Graphs {
		names = append(names, l.definition.Graphs[i].Name)
	}
	return names
}

// graphInputs checks that an operator sets the required inputs of its graph.
func (l *linker) graphInputs(op *Operator, path string) {
	g, ok := l.definition.Graph(op.Graph)
	if !ok || op.Graph == "" {
		return
	}
	var names []string
	for _, f := range g.Inputs.Fields {
		names = append(names, f.Name)
	}
	for j := range op.Inputs {
		in := &op.Inputs[j]
		k := slices.Index(names, in.Name)
		if k < 0 {
			l.add(path+".inputs."+in.Name, "The graph %s has no input called %q.%s", g.Name, in.Name, suggestion(in.Name, names))
			continue
		}
		if to := g.Inputs.Fields[k].Type; to != nil && in.Type != nil {
			if err := typeregistry.Assignable(in.Type, to); err != nil {
				l.add(path+".inputs."+in.Name, "The value does not fit the input of the graph %s: %s", g.Name, sentence(err.Error()))
			}
		}
	}
	for _, f := range g.Inputs.Fields {
		given := slices.ContainsFunc(op.Inputs, func(in Input) bool { return in.Name == f.Name })
		if _, filled := f.DefaultValue(typeregistry.Env{}); !given && f.Required && !filled {
			l.add(path+".inputs", "The graph %s needs the input %q.", g.Name, f.Name)
		}
	}
}

// loop checks the fan-out of an operator and returns the type of its items; nil when it
// is unknown.
func (l *linker) loop(op *Operator, path string) *typeregistry.Type {
	if op.Foreach == nil {
		return nil
	}
	at := path + ".foreach"
	items := &op.Foreach.Items
	switch items.Kind {
	case SourceLiteral:
		if list, ok := items.Value.([]any); ok && len(list) > op.Foreach.Limit {
			l.add(at, "There are %d items; at most %d are allowed unless limit allows more.", len(list), op.Foreach.Limit)
		}
	case SourceInput:
		if f, ok := l.inputs[items.Input]; !ok {
			l.add(at, "There is no input called %q.", shorten(items.Input, 60))
		} else {
			return l.element(f.Type, at)
		}
	case SourceFuture:
		if out, ok := l.future(items.Future, at); ok {
			return l.element(out.Type, at)
		}
	case SourceFormula:
		l.names(items.Formula, at, false)
	case SourceItem, SourceIndex:
		l.add(at, "An operator cannot iterate over its own items.")
	case SourceTags: // of documents that are not native
	}
	return nil
}

// element is the type of the items of a list.
func (l *linker) element(list *typeregistry.Type, at string) *typeregistry.Type {
	switch {
	case list == nil:
		return nil
	case list.Kind == typeregistry.KindList:
		return list.Elem
	case list.Kind == typeregistry.KindJSON:
		return nil
	}
	l.add(at, "This must be a list, not %s.", shorten(list.String(), 60))
	return nil
}

// loopValue sets the type of an input that reads the item or its index.
func (l *linker) loopValue(op *Operator, in *Input, item *typeregistry.Type, path string) {
	if op.Foreach == nil {
		l.add(path+".from", "Only an operator with foreach has items.")
		return
	}
	from := item
	switch {
	case in.Source.Kind == SourceIndex:
		from, _ = l.registry.Parse(string(typeregistry.KindInteger))
	case in.Source.Field != "" && item != nil && item.Kind == typeregistry.KindStruct:
		f, ok := item.FieldNamed(in.Source.Field)
		if others := item.Others(); !ok && others != nil {
			from = others.Elem
			break
		}
		if !ok {
			l.add(path+".from", "The items have no field called %q.", shorten(in.Source.Field, 60))
			return
		}
		from = f.Type
	case in.Source.Field != "":
		from = nil
	}
	if from == nil && in.Type == nil && !l.unreadable[path] {
		l.add(path+".type", "Set the type; the type of the items is not known in advance.")
		return
	}
	in.Type = l.flow(from, in.Type, path, "the item")
}

// names checks the names in an expression: inputs, nodes, the execution, and, with
// item, the item and its index.
func (l *linker) names(e *expression.Expression, at string, item bool) {
	if e == nil {
		return
	}
	for _, r := range e.References() {
		switch first := r.Path[0]; {
		case first == NameExecution, item && (first == LoopItem || first == LoopIndex):
		case first == NameInputs && len(r.Path) > 1:
			if _, ok := l.inputs[r.Path[1]]; !ok {
				l.add(at, "There is no input called %q.%s", shorten(r.Path[1], 60), suggestion(r.Path[1], l.inputNames()))
			}
		case first == NameNodes && len(r.Path) > 1:
			l.nodeName(r, at)
		case first == LoopItem, first == LoopIndex:
			l.add(at, "Only an operator with foreach has items.")
		default:
			l.add(at, "%q is not available here; expressions can read inputs.<name>, nodes.<operator>.status, nodes.<operator>.outputs.<name>, item, index and execution.", shorten(r.String(), 60))
		}
	}
}

func (l *linker) inputNames() []string {
	names := make([]string, 0, len(l.inputs))
	for name := range l.inputs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (l *linker) nodeName(r expression.Reference, at string) {
	op, ok := l.operators[r.Path[1]]
	switch {
	case !ok:
		l.add(at, "There is no operator called %q.%s", shorten(r.Path[1], 60), suggestion(r.Path[1], l.operatorNames()))
	case len(r.Path) > 3 && r.Path[2] == "outputs":
		if _, ok := op.Output(r.Path[3]); !ok {
			l.add(at, "Operator %q has no output called %q.", op.Name, shorten(r.Path[3], 60))
		}
	case len(r.Path) > 2 && !slices.Contains([]string{"status", "outputs", "error"}, r.Path[2]):
		l.add(at, "Expressions can read status, outputs and error of an operator, not %q.", shorten(r.Path[2], 60))
	}
}

func (l *linker) operatorNames() []string {
	names := make([]string, 0, len(l.operators))
	for name := range l.operators {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// read returns the operators that an expression reads; ended are those of which it
// reads only the status or the error.
func read(e *expression.Expression) (succeeded, ended []string) {
	if e == nil {
		return nil, nil
	}
	for _, r := range e.References() {
		if r.Path[0] != NameNodes || len(r.Path) < 2 {
			continue
		}
		if len(r.Path) > 2 && r.Path[2] == "outputs" && !r.Optional {
			succeeded = append(succeeded, r.Path[1])
		} else {
			ended = append(ended, r.Path[1])
		}
	}
	return succeeded, ended
}

// readsItem reports whether an expression reads the item of a fan-out.
func readsItem(e *expression.Expression) bool {
	return slices.ContainsFunc(e.References(), func(r expression.Reference) bool {
		return r.Path[0] == LoopItem || r.Path[0] == LoopIndex
	})
}

// spec converts the operator for dag.Compile; all are the operators whose outputs can
// be streamed. It depends on the operators whose values it reads, and on those in
// depends_on, depends and its expressions.
func (o *Operator) spec(all writers, path string) dag.Spec {
	s := dag.Spec{Name: o.Name, Path: path, Traits: o.traits(false)}
	if o.Final {
		return s // all other operators have ended when it begins
	}
	waits := waits{spec: &s}
	for j, in := range o.Inputs {
		waits.source(in.Source, path+".inputs["+itoa(j)+"].from")
		if requested, why := all.read(o, in); requested && why == "" {
			s.Dependencies[len(s.Dependencies)-1].Streams = true
		}
	}
	if o.Foreach != nil {
		waits.source(o.Foreach.Items, path+".foreach")
	}
	for j, name := range o.DependsOn {
		if at := path + ".depends_on[" + itoa(j) + "]"; strings.Contains(name, ".") {
			waits.rules = append(waits.rules, name)
		} else {
			waits.on(name, "", at)
		}
	}
	if o.Depends != "" {
		waits.rules = append(waits.rules, o.Depends)
	}
	waits.expression(o.condition, path+".when")
	waits.finish()
	return s
}

// waits collects the dependencies of an operator.
type waits struct {
	spec  *dag.Spec
	rules []string
	ended []string // operators that may have ended in any way
}

func (w *waits) on(name, label, path string) {
	w.spec.Dependencies = append(w.spec.Dependencies, dag.Dependency{Name: name, Label: label, Path: path})
}

func (w *waits) source(s Source, path string) {
	switch s.Kind {
	case SourceFuture:
		w.on(s.Future.Operator, s.Future.Output, path)
	case SourceFormula:
		w.expression(s.Formula, path)
	case SourceLiteral, SourceInput, SourceItem, SourceIndex, SourceTags:
	}
}

func (w *waits) expression(e *expression.Expression, path string) {
	succeeded, ended := read(e)
	for _, name := range succeeded {
		w.on(name, "", path)
	}
	w.ended = append(w.ended, ended...)
}

// finish joins the rules. An operator of which only an expression reads the status may
// have ended in any state.
func (w *waits) finish() {
	named := map[string]bool{}
	for _, d := range w.spec.Dependencies {
		named[d.Name] = true
	}
	for _, text := range w.rules {
		if rule, err := dag.ParseRule(text, dag.HasSucceeded); err == nil {
			for _, name := range rule.Names() {
				named[name] = true
			}
		}
	}
	for _, name := range w.ended {
		if !named[name] {
			named[name] = true
			w.rules = append(w.rules, name+"."+string(dag.HasEnded))
		}
	}
	for k, text := range w.rules {
		if len(w.rules) > 1 && strings.Contains(text, "||") {
			w.rules[k] = "(" + text + ")"
		}
	}
	if len(w.rules) > 0 {
		w.spec.Rule, _ = dag.ParseRule(strings.Join(w.rules, " && "), dag.HasSucceeded) // each was parsed before
	}
}
