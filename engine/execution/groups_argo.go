package execution

import (
	"time"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
)

// skipEmpty skips node i, an Argo fan-out over an empty list: it counts as not run. Its
// outputs are empty lists.
func (gs *nodeGroups) skipEmpty(i int, now time.Time) {
	n := &gs.loop.nodes[i]
	n.attempt--
	n.readyAt, n.startedAt = nil, nil
	values := map[string]any{}
	for _, out := range n.op.Outputs {
		values[out.Name] = []any{}
	}
	gs.loop.values.outputs[i] = values
	if len(values) > 0 {
		gs.loop.batch.touch(i).Outputs = values
	}
	gs.loop.endWithout(i, dag.Skipped, now, &query.Reason{Code: ReasonCondition, Message: "Its list is empty."})
}

// siblingFanOut is the fan-out to whose items the items of node i belong; false when there is none.
func (gs *nodeGroups) siblingFanOut(i int) (int, bool) {
	tags := gs.loop.nodes[i].op.Tags
	if tags == nil || tags.ItemOf == "" {
		return dag.NoNode, false
	}
	return gs.loop.values.sibling(i, tags.ItemOf)
}

// siblingItems returns the items of the fan-out of.
func (gs *nodeGroups) siblingItems(of int) []any {
	items := make([]any, gs.loop.nodes[of].children.count)
	for k := range items {
		items[k] = gs.loop.nodes[gs.loop.nodes[of].children.first+k].item
	}
	return items
}

// siblingItem is the item with an index of the fan-out of, or, when its items are in another
// execution, the fan-out itself.
func (gs *nodeGroups) siblingItem(of, index int) int {
	if c := gs.loop.nodes[of].children; index < c.count {
		return c.first + index
	}
	return of
}

// task is the node that tags call name: a node of the same scope, or, for a fan-out with
// items, the one that belongs to the reading item.
func (p *tagScope) task(name string) (int, bool) {
	l := p.loop
	i, ok := l.progress.Sibling(p.scope, name)
	if !ok || p.tags == nil || p.tags.ItemOf != name || p.node == dag.NoNode || l.nodes[p.node].index < 0 {
		return i, ok
	}
	return l.groups.siblingItem(i, l.nodes[p.node].index), true
}

// outputsOf returns the loaded outputs of node i, and whether they are lists of the outputs
// of items. A node that belongs to an item of a fan-out whose items are in another execution
// reads its own element of each list.
func (p *tagScope) outputsOf(i int) (outputs map[string]any, fans bool) {
	l := p.loop
	outputs = l.values.outputs[i]
	switch {
	case !l.groups.fansOut(i):
		return outputs, false
	case p.tags == nil || p.tags.ItemOf != l.nodes[i].op.Name || p.node == dag.NoNode || l.nodes[p.node].index < 0:
		return outputs, true
	}
	own := map[string]any{}
	for port, v := range outputs {
		if list, ok := v.([]any); ok && l.nodes[p.node].index < len(list) {
			own[port] = list[l.nodes[p.node].index]
		}
	}
	return own, false
}

// errs reports whether the failure of node i is an error, according to the failures of its
// children.
func (gs *nodeGroups) errs(i int) bool {
	tags := gs.loop.nodes[i].op.Tags
	if tags == nil {
		return false
	}
	if gs.fansOut(i) {
		return gs.errsIn(gs.loop.progress.Inner(i), tags.ItemErrs)
	}
	return gs.errsIn(gs.loop.progress.Inner(i), tags.Errs)
}

// errsIn is errs of a scope.
func (gs *nodeGroups) errsIn(scope int, errs workflow.Errs) bool {
	switch errs {
	case workflow.ErrsNever:
		return false
	case workflow.ErrsAll:
		base, size := gs.loop.progress.Members(scope)
		for k := base; k < base+size; k++ {
			if gs.loop.progress.State(k) == dag.Failed && !gs.loop.nodes[k].failure.IsError() {
				return false
			}
		}
		return true
	case workflow.ErrsFirst, workflow.ErrsLast:
	}
	source := gs.loop.progress.FailureSource(scope, errs == workflow.ErrsLast)
	return source != dag.NoNode && gs.loop.nodes[source].failure.IsError()
}

// rootErrs reports whether the failure of the execution is an error: the failure of its
// entrypoint, or, if that succeeded, of an exit handler.
func (gs *nodeGroups) rootErrs() bool {
	source := gs.loop.progress.FailureSource(dag.Root, false)
	if source == dag.NoNode {
		return gs.loop.conclusion.failure != nil && gs.loop.conclusion.failure.IsError()
	}
	if gs.loop.nodes[source].op.Final {
		return gs.loop.nodes[source].failure.IsError()
	}
	return gs.errsIn(dag.Root, gs.loop.version.Definition.Errs)
}

// counts reports whether the failure of node i counts before anything else is known: neither
// the node nor any of its ancestors tolerates failure.
func (gs *nodeGroups) counts(i int) bool {
	for ; i != dag.NoNode; i = gs.loop.progress.Parent(i) {
		if !gs.loop.progress.Unhandled(i) {
			return false
		}
	}
	return true
}
