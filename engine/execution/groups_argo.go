package execution

import (
	"time"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
)

// skipEmpty skips node i, an Argo fan-out over an empty list: it counts as not run. Its
// outputs are empty lists.
func (l *loop) skipEmpty(i int, now time.Time) {
	n := &l.nodes[i]
	n.attempt--
	n.readyAt, n.startedAt = nil, nil
	values := map[string]any{}
	for _, out := range n.op.Outputs {
		values[out.Name] = []any{}
	}
	l.outputs[i] = values
	if len(values) > 0 {
		l.touch(i).Outputs = values
	}
	l.endWithout(i, dag.Skipped, now, &query.Reason{Code: ReasonCondition, Message: "Its list is empty."})
}

// siblingFanOut is the fan-out to whose items the items of node i belong; false when there is none.
func (l *loop) siblingFanOut(i int) (int, bool) {
	tags := l.nodes[i].op.Tags
	if tags == nil || tags.ItemOf == "" {
		return dag.NoNode, false
	}
	return l.sibling(i, tags.ItemOf)
}

// itemsBeside returns the items of the fan-out of.
func (l *loop) itemsBeside(of int) []any {
	items := make([]any, l.nodes[of].children.count)
	for k := range items {
		items[k] = l.nodes[l.nodes[of].children.first+k].item
	}
	return items
}

// itemBeside is the item with an index of the fan-out of, or, when its items are in another
// execution, the fan-out itself.
func (l *loop) itemBeside(of, index int) int {
	if c := l.nodes[of].children; index < c.count {
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
	return l.itemBeside(i, l.nodes[p.node].index), true
}

// outputsOf returns the loaded outputs of node i, and whether they are lists of the outputs
// of items. A node that belongs to an item of a fan-out whose items are in another execution
// reads its own element of each list.
func (p *tagScope) outputsOf(i int) (outputs map[string]any, fans bool) {
	l := p.loop
	outputs = l.outputs[i]
	switch {
	case !l.fansOut(i):
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
func (l *loop) errs(i int) bool {
	tags := l.nodes[i].op.Tags
	if tags == nil {
		return false
	}
	if l.fansOut(i) {
		return l.errsIn(l.progress.Inner(i), tags.ItemErrs)
	}
	return l.errsIn(l.progress.Inner(i), tags.Errs)
}

// errsIn is errs of a scope.
func (l *loop) errsIn(scope int, errs workflow.Errs) bool {
	switch errs {
	case workflow.ErrsNever:
		return false
	case workflow.ErrsAll:
		base, size := l.progress.Members(scope)
		for k := base; k < base+size; k++ {
			if l.progress.State(k) == dag.Failed && !l.nodes[k].failure.IsError() {
				return false
			}
		}
		return true
	case workflow.ErrsFirst, workflow.ErrsLast:
	}
	culprit := l.progress.FailureSource(scope, errs == workflow.ErrsLast)
	return culprit != dag.NoNode && l.nodes[culprit].failure.IsError()
}

// rootErrs reports whether the failure of the execution is an error: the failure of its
// entrypoint, or, if that succeeded, of an exit handler.
func (l *loop) rootErrs() bool {
	culprit := l.progress.FailureSource(dag.Root, false)
	if culprit == dag.NoNode {
		return l.failure != nil && l.failure.IsError()
	}
	if l.nodes[culprit].op.Final {
		return l.nodes[culprit].failure.IsError()
	}
	return l.errsIn(dag.Root, l.version.Definition.Errs)
}

// counts reports whether the failure of node i counts before anything else is known: neither
// the node nor any of its ancestors tolerates failure.
func (l *loop) counts(i int) bool {
	for ; i != dag.NoNode; i = l.progress.Parent(i) {
		if !l.progress.Unhandled(i) {
			return false
		}
	}
	return true
}
