package execution

import (
	"context"
	"fmt"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/execution/stored"
	"github.com/flowforge/flowforge/engine/workflow"
)

// origins records the origins of nodes in earlier executions, and reuses results of the
// execution that this one resumes.
type origins struct {
	feature

	plan      *reusePlan                  // set when first needed
	overrides map[string]ResourceOverride // of operators

	part originsPart
}

type originsPart struct {
	rows []originRow // origins of nodes
}

// noteCache records the cache lookup of node i.
func (og *origins) noteCache(i int, note query.CacheNote) {
	og.part.rows = append(og.part.rows, originRow{Index: i, Cache: mustJSON(note)})
}

func (og *origins) pending() bool { return len(og.part.rows) > 0 }

func (og *origins) reset() { og.part = originsPart{} }

// restore loads the origins of the nodes of a resumed execution.
func (og *origins) restore(ctx context.Context) error {
	if og.loop.row.ResumeOf == nil {
		return nil
	}
	if request := stored.Into[resumed](og.loop.row.Resume); request != nil {
		og.overrides = request.Resources
	}
	rows, err := og.loop.driver.queries.OriginsOf(ctx, og.loop.id)
	if err != nil {
		return fmt.Errorf("load origins: %w", err)
	}
	for _, r := range rows {
		og.loop.nodes[r.NodeIndex].origin = &origin{*r.OriginExecution, int(*r.OriginIndex), *r.OriginUse}
	}
	return nil
}

// reusePlan returns the plan of this resumed execution, without lost results.
func (og *origins) reusePlan(ctx context.Context) (*reusePlan, error) {
	if og.plan != nil {
		return og.plan, nil
	}
	row, err := og.loop.driver.queries.GetExecution(ctx, *og.loop.row.ResumeOf)
	if err != nil {
		return nil, &readError{err}
	}
	old, err := og.loop.driver.workflows.VersionByID(auth.AsSystem(ctx), row.VersionID)
	if err != nil {
		return nil, &readError{err}
	}
	p := &reusePlan{old: old, new: og.loop.version, changed: changedInputs(stored.Object(row.Inputs), og.loop.inputs)}
	if request := stored.Into[resumed](og.loop.row.Resume); request != nil {
		p.from = request.From
	}
	og.plan = p
	return p, nil
}

// carryOver makes the new children of node i, from the node first on, reuse the results of
// its children in the execution that this one resumes.
func (og *origins) carryOver(ctx context.Context, i, first int, now time.Time) error {
	from := og.loop.nodes[i].origin
	if from == nil || from.use != useBefore || og.loop.nodes[i].attempt > 1 {
		return nil
	}
	p, err := og.reusePlan(ctx)
	if err != nil {
		return err
	}
	before, rows, err := og.loop.driver.past.childrenOf(ctx, *from)
	if err != nil || before == nil {
		return err
	}
	past, lost, err := og.loop.driver.past.nodes(ctx, og.loop.row.ProjectID, rows)
	if err != nil {
		return &readError{err}
	}
	with := *p
	with.lost = lost
	if og.loop.groups.fansOut(i) {
		changed, err := og.changedFor(ctx, p, i)
		if err != nil {
			return err
		}
		alike := og.upstreamReused(i) && p.alike(og.loop.nodes[i].graph, og.loop.nodes[i].name, og.loop.nodes[i].op, changed)
		og.carryOverItems(&with, i, first, past, alike, now)
	} else if og.loop.nodes[i].op.Graph != "" {
		og.carryOverGraph(&with, i, first, before, past, now)
	}
	return nil
}

// childrenOf reads a node of an earlier execution and its latest children; nil when it was
// removed or has no children.
func (s *pastResults) childrenOf(ctx context.Context, o origin) (*pastNode, []db.PastNodesRow, error) {
	number := func(n int) int32 { return int32(n) } //nolint:gosec // indexes below maxNodes
	rows, err := s.queries.PastNodes(ctx, o.execution, number(o.index), number(o.index+1))
	if err != nil {
		return nil, nil, &readError{err}
	}
	if len(rows) == 0 || rows[0].FirstChild == nil {
		return nil, nil, nil
	}
	children, err := s.queries.PastNodes(ctx, o.execution, *rows[0].FirstChild, *rows[0].FirstChild+rows[0].ChildCount)
	if err != nil {
		return nil, nil, &readError{err}
	}
	return pastOf(rows[0]), children, nil
}

// carryOverItems decides about the items of a fan-out; alike reports whether an item would
// repeat the result of an earlier item with the same index and value.
func (og *origins) carryOverItems(p *reusePlan, i, first int, past map[string]*pastNode, alike bool, now time.Time) {
	for k := range og.loop.nodes[i].children.count {
		child := &og.loop.nodes[first+k]
		node := past[child.name]
		switch {
		case node == nil:
		case alike && p.takes(child.name, child.item, node):
			og.take(first+k, node, now)
		case continuesFrom(node):
			og.carryOverFrom(first+k, p.before(node))
		}
	}
}

// upstreamReused reports whether all dependencies of node i kept their results.
func (og *origins) upstreamReused(i int) bool {
	for _, d := range og.loop.progress.DependenciesOf(og.loop.home(i)) {
		if o := og.loop.nodes[d].origin; o == nil || o.use != useReused {
			return false
		}
	}
	return true
}

// changedFor returns the changed inputs of the graph of node i.
func (og *origins) changedFor(ctx context.Context, p *reusePlan, i int) (map[string]struct{}, error) {
	parent := og.loop.progress.Parent(og.loop.home(i))
	if parent == dag.NoNode {
		return p.changed, nil
	}
	n := &og.loop.nodes[parent]
	if n.changed != nil || n.origin == nil {
		return n.changed, nil
	}
	before, _, err := og.loop.driver.past.childrenOf(ctx, *n.origin) // another process expanded it
	if err != nil || before == nil {
		return map[string]struct{}{"": {}}, err
	}
	n.changed = changedInputs(stored.Object(before.row.Inputs), n.inputs)
	return n.changed, nil
}

// carryOverGraph decides about the nodes of a graph.
func (og *origins) carryOverGraph(p *reusePlan, i, first int, before *pastNode, past map[string]*pastNode, now time.Time) {
	n := &og.loop.nodes[i]
	n.changed = changedInputs(stored.Object(before.row.Inputs), n.inputs)
	for k, d := range p.scope(n.op.Graph, n.name+"/", past, n.changed) {
		node := past[og.loop.nodes[first+k].name]
		switch {
		case d.RunReason == dag.Reused:
			og.take(first+k, node, now)
		case node != nil && continuesFrom(node):
			og.carryOverFrom(first+k, p.before(node))
		}
	}
}

// before is the origin of a node that runs again.
func (p *reusePlan) before(past *pastNode) origin {
	return origin{past.execution, int(past.row.NodeIndex), useBefore}
}

// take ends node k, which was just created, like past.
func (og *origins) take(k int, past *pastNode, now time.Time) {
	n := &og.loop.nodes[k]
	og.loop.batch.touch(k)
	n.finishedAt, n.reason, n.failure = &now, past.reason, past.failure
	preset(og.loop.progress, k, past)
	og.loop.values.outputs[k] = past.outputs
	if len(past.outputs) > 0 {
		og.loop.batch.touch(k).Outputs = past.outputs
	}
	from := origin{past.execution, int(past.row.NodeIndex), useReused}
	if use := past.row.OriginUse; use != nil && *use != useBefore {
		from.execution, from.index = *past.row.OriginExecution, int(*past.row.OriginIndex)
	}
	og.carryOverFrom(k, from)
}

// countReusedInside counts the reused results inside node k of the plan, which runs, as far as its
// list and the inputs of its graph are known in advance.
func (s *ResumeService) countReusedInside(ctx context.Context, x *resumption, k int) (int, error) {
	op := &x.reusePlan.new.Definition.Operators[k]
	past, d := x.past[op.Name], x.nodes[k]
	if past == nil || past.row.FirstChild == nil || d.RunReason == dag.Downstream && op.Foreach != nil {
		return 0, nil
	}
	_, rows, err := s.past.childrenOf(ctx, origin{x.row.ID, int(past.row.NodeIndex), useBefore})
	if err != nil {
		return 0, err
	}
	children, lost, err := s.past.nodes(ctx, x.row.ProjectID, rows)
	if err != nil {
		return 0, err
	}
	p := x.reusePlan
	p.lost = lost
	if op.Foreach == nil {
		return p.keptOfGraph(op, children, x.nodes), nil
	}
	if !p.alike("", op.Name, op, p.changed) {
		return 0, nil
	}
	kept := 0
	list, known := x.items(op)
	for name, child := range children {
		item := itemOf(child)
		if at := int(*child.row.ItemIndex); known {
			if at >= len(list) {
				continue
			}
			item = list[at]
		}
		if p.takes(name, item, child) {
			kept++
		}
	}
	return kept, nil
}

// items is the list of op's fan-out, when it is one of the inputs.
func (x *resumption) items(op *workflow.Operator) ([]any, bool) {
	switch s := op.Foreach.Items; s.Kind {
	case workflow.SourceInput:
		list, ok := x.inputs[s.Input].([]any)
		return list, ok
	case workflow.SourceLiteral:
		list, ok := s.Value.([]any)
		return list, ok
	case workflow.SourceFuture, workflow.SourceItem, workflow.SourceIndex, workflow.SourceFormula:
	}
	return nil, false
}

// keptOfGraph counts the nodes that a graph keeps: its inputs count as changed when their
// sources change.
func (p *reusePlan) keptOfGraph(op *workflow.Operator, children map[string]*pastNode, around []decision) int {
	changed := map[string]struct{}{}
	for _, in := range op.Inputs {
		one := workflow.Operator{Inputs: []workflow.Input{in}}
		again := len(touched(reads(&one, false), p.changed)) > 0
		for k := range around {
			name := p.new.Definition.Operators[k].Name
			again = again || around[k].RunReason != dag.Reused && readsNode(in.Source, name)
		}
		if again {
			changed[in.Name] = struct{}{}
		}
	}
	kept := 0
	for _, d := range p.scope(op.Graph, op.Name+"/", children, changed) {
		if d.RunReason == dag.Reused {
			kept++
		}
	}
	return kept
}

// readsNode reports whether a source is the output of a node.
func readsNode(s workflow.Source, name string) bool {
	switch s.Kind {
	case workflow.SourceFuture:
		return s.Future.Operator == name
	case workflow.SourceFormula:
		for _, r := range s.Formula.References() {
			if r.Path[0] == workflow.NameNodes && (len(r.Path) == 1 || r.Path[1] == name) {
				return true
			}
		}
	case workflow.SourceLiteral, workflow.SourceInput, workflow.SourceItem, workflow.SourceIndex:
	}
	return false
}
