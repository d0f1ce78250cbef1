package execution

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/execution/stored"
	"github.com/flowforge/flowforge/engine/expression"
	"github.com/flowforge/flowforge/engine/memo"
	"github.com/flowforge/flowforge/engine/workflow"
)

// Uses of a node's origin.
const (
	useReused = string(query.OriginReused) // it reuses the result, through a resume
	useCached = string(query.OriginCached) // it reuses the result, from the cache
	useBefore = string(query.OriginBefore) // it runs again, with the checkpoints of its origin
)

// origin is the node of an earlier execution that a node continues or reuses.
type origin struct {
	execution uuid.UUID
	index     int
	use       string
}

// reusePlan decides which results of an ended execution another one reuses. It does no I/O:
// callers provide its data.
type reusePlan struct {
	old, new workflow.Version
	from     string              // the start node that a user chose; "" for none
	changed  map[string]struct{} // inputs of the workflow with changed values
	lost     func(outputs map[string]any) bool
}

// pastNode is a node of the ended execution.
type pastNode struct {
	execution uuid.UUID
	row       db.PastNodesRow
	outputs   map[string]any
	reason    *query.Reason
	failure   *query.Failure
}

func pastOf(row db.PastNodesRow) *pastNode {
	return &pastNode{execution: row.ExecutionID, row: row, outputs: stored.Object(row.Outputs), reason: stored.Into[query.Reason](row.Reason), failure: stored.Into[query.Failure](row.Error)}
}

func (p *pastNode) state() dag.State { return dag.State(p.row.State) }

// omitted reports whether p was skipped because of its dependencies.
func (p *pastNode) omitted() bool {
	return p.state() == dag.Skipped && (p.reason == nil || p.reason.Code != ReasonCondition && p.reason.Code != ReasonSensorTimeout)
}

// decision is a verdict about one node with its reason as text.
type decision struct {
	dag.Verdict
	why string
}

// scope decides about the nodes of a graph. in is the name of the enclosing node with "/",
// past contains the earlier nodes by name, changed are the changed inputs of the graph.
func (p *reusePlan) scope(graph, in string, past map[string]*pastNode, changed map[string]struct{}) []decision {
	g, _ := p.new.Definition.Graph(graph)
	before := make([]dag.Past, len(g.Operators))
	why := make([]string, len(g.Operators))
	for k := range g.Operators {
		op := &g.Operators[k]
		node := past[in+op.Name]
		if node != nil {
			before[k] = dag.Past{State: node.state(), Omitted: node.omitted(), Errored: node.failure.IsError()}
		}
		why[k] = p.differs(graph, in+op.Name, op, node, changed)
		before[k].Changed = why[k] != ""
	}
	verdicts := dag.Resume(p.new.Plans[graph], before)
	out := make([]decision, len(verdicts))
	for k, v := range verdicts {
		out[k] = decision{v, p.words(g, v, past[in+g.Operators[k].Name], why[k])}
	}
	return out
}

// words explains why a node of g runs, or why not.
func (p *reusePlan) words(g *workflow.Graph, v dag.Verdict, node *pastNode, why string) string {
	switch v.RunReason {
	case dag.Reused:
		switch node.state() {
		case dag.Skipped:
			return "It was skipped and would be skipped again."
		case dag.Failed:
			return "It failed, and its failure was handled."
		case dag.Pending, dag.Ready, dag.Queued, dag.Running, dag.Retrying, dag.Succeeded, dag.Cancelled:
		}
		return "It succeeded, and its dependencies did not change."
	case dag.Changed:
		return why
	case dag.Downstream:
		return fmt.Sprintf("It depends on %s, which will run.", g.Operators[v.Cause].Name)
	case dag.Serving:
		return fmt.Sprintf("It serves %s, which will run.", g.Operators[v.Cause].Name)
	case dag.Final:
		return "It runs at the end of every execution."
	case dag.Unfinished:
	}
	switch node.state() {
	case dag.Failed:
		return "It failed."
	case dag.Cancelled:
		return "It was cancelled."
	case dag.Pending, dag.Ready, dag.Queued, dag.Running, dag.Retrying, dag.Succeeded, dag.Skipped:
	}
	return "It did not run."
}

// differs explains why op would not repeat the result of node; "" when it would.
func (p *reusePlan) differs(graph, name string, op *workflow.Operator, node *pastNode, changed map[string]struct{}) string {
	old, known := p.operator(graph, op.Name)
	switch {
	case node == nil, !known:
		return fmt.Sprintf("It is new in version %s.", p.new.Version)
	case p.from == name:
		return "You chose to start here."
	case within(p.from, name):
		return fmt.Sprintf("You chose to start at %s.", p.from)
	}
	if p.old.ID != p.new.ID {
		if text := p.codeDiffers(op, old); text != "" {
			return text
		}
	}
	if names := touched(reads(op, true), changed); len(names) > 0 {
		return fmt.Sprintf("It reads %s, which changed.", strings.Join(names, ", "))
	}
	if node.state() == dag.Succeeded && p.lost(node.outputs) {
		return "Its outputs are no longer stored."
	}
	return ""
}

// operator returns the operator of the earlier version.
func (p *reusePlan) operator(graph, name string) (*workflow.Operator, bool) {
	g, ok := p.old.Definition.Graph(graph)
	if !ok {
		return nil, false
	}
	i := slices.IndexFunc(g.Operators, func(o workflow.Operator) bool { return o.Name == name })
	if i < 0 {
		return nil, false
	}
	return &g.Operators[i], true
}

// codeDiffers describes the change from old to op; "" for no change.
func (p *reusePlan) codeDiffers(op, old *workflow.Operator) string {
	switch {
	case op.Work() != old.Work():
		return fmt.Sprintf("Its code changed from version %s to %s.", p.old.Version, p.new.Version)
	case op.Sense() != old.Sense():
		return fmt.Sprintf("Its inputs or conditions changed from version %s to %s.", p.old.Version, p.new.Version)
	case op.Graph != "" && p.graphDiffers(op.Graph, map[string]bool{}):
		return fmt.Sprintf("The graph %s changed from version %s to %s.", op.Graph, p.old.Version, p.new.Version)
	}
	return ""
}

// graphDiffers reports whether a graph, or a nested one, has changed.
func (p *reusePlan) graphDiffers(name string, seen map[string]bool) bool {
	if seen[name] {
		return false
	}
	seen[name] = true
	g, _ := p.new.Definition.Graph(name)
	before, ok := p.old.Definition.Graph(name)
	if !ok || len(before.Operators) != len(g.Operators) || !slices.EqualFunc(before.Outputs, g.Outputs, func(a, b workflow.Output) bool {
		return a.Name == b.Name && a.From == b.From
	}) {
		return true
	}
	for k := range g.Operators {
		op := &g.Operators[k]
		old, ok := p.operator(name, op.Name)
		if !ok || op.Sense() != old.Sense() || op.Graph != "" && p.graphDiffers(op.Graph, seen) {
			return true
		}
	}
	return false
}

// within reports whether the node called of contains the node called name.
func within(name, of string) bool {
	return strings.HasPrefix(name, of+"/") || strings.HasPrefix(name, of+"[")
}

// reads returns the inputs of its graph that op reads; list reports whether to include the
// list of its fan-out.
func reads(op *workflow.Operator, list bool) map[string]struct{} {
	found := map[string]struct{}{}
	source := func(s workflow.Source) {
		switch s.Kind {
		case workflow.SourceInput:
			found[s.Input] = struct{}{}
		case workflow.SourceFormula:
			formulaReads(s.Formula, found)
		case workflow.SourceLiteral, workflow.SourceFuture, workflow.SourceItem, workflow.SourceIndex:
		}
	}
	for _, in := range op.Inputs {
		source(in.Source)
	}
	if list && op.Foreach != nil {
		source(op.Foreach.Items)
	}
	formulaReads(op.Condition(), found)
	return found
}

// formulaReads adds the inputs that an expression reads; "" means all of them.
func formulaReads(e *expression.Expression, found map[string]struct{}) {
	if e == nil {
		return
	}
	for _, r := range e.References() {
		switch {
		case r.Path[0] != workflow.NameInputs:
		case len(r.Path) == 1:
			found[""] = struct{}{}
		default:
			found[r.Path[1]] = struct{}{}
		}
	}
}

// touched returns the names that are both read and changed, in order.
func touched(read, changed map[string]struct{}) []string {
	var names []string
	_, all := read[""]
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		if _, ok := read[name]; ok || all {
			names = append(names, name)
		}
	}
	return names
}

// changedInputs returns the names whose values differ.
func changedInputs(before, now map[string]any) map[string]struct{} {
	changed := map[string]struct{}{}
	for name, value := range now {
		if old, ok := before[name]; !ok || !memo.Same(old, value) {
			changed[name] = struct{}{}
		}
	}
	for name := range before {
		if _, ok := now[name]; !ok {
			changed[name] = struct{}{}
		}
	}
	return changed
}

// alike reports whether each item of op's fan-out would repeat the result of the earlier
// item with the same index and value: nothing else that items read has changed.
func (p *reusePlan) alike(graph, name string, op *workflow.Operator, changed map[string]struct{}) bool {
	old, known := p.operator(graph, op.Name)
	if !known || p.from == name || len(touched(reads(op, false), changed)) > 0 {
		return false
	}
	return p.old.ID == p.new.ID || op.Sense() == old.Sense() && (op.Graph == "" || !p.graphDiffers(op.Graph, map[string]bool{}))
}

// takes reports whether item k of a fan-out that is alike reuses the result of past, which
// has the same index.
func (p *reusePlan) takes(name string, item any, past *pastNode) bool {
	return past != nil && past.state() == dag.Succeeded && p.from != name && !within(p.from, name) &&
		memo.Same(item, itemOf(past)) && !p.lost(past.outputs)
}

// itemOf returns the item of a node.
func itemOf(past *pastNode) any {
	item, err := stored.Value(string(past.row.Item))
	if err != nil {
		return nil
	}
	return item
}
