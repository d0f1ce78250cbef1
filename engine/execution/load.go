package execution

import (
	"fmt"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/execution/stored"
)

// loadNodes builds the nodes and their progress from the rows, which are in order.
func (l *loop) loadNodes(rows []db.LoadNodesRow) error {
	if len(rows) < len(l.nodes) {
		return fmt.Errorf("the execution has %d nodes, its plan %d", len(rows), len(l.nodes))
	}
	for k := len(l.nodes); k < len(rows); {
		size, err := l.groups.loadChildren(rows[k:])
		if err != nil {
			return err
		}
		k += size
	}
	for i, r := range rows {
		l.loadNode(i, r)
	}
	return nil
}

// loadChildren expands the parent of the first rows, and returns how many rows are its
// children.
func (gs *nodeGroups) loadChildren(rows []db.LoadNodesRow) (int, error) {
	first := rows[0]
	if first.ParentIndex == nil || int(*first.ParentIndex) >= len(gs.loop.nodes) {
		return 0, fmt.Errorf("node %d has no parent", first.NodeIndex)
	}
	size := 1
	for size < len(rows) && rows[size].ParentIndex != nil && *rows[size].ParentIndex == *first.ParentIndex && rows[size].Expansion == first.Expansion {
		size++
	}
	i := int(*first.ParentIndex)
	n := &gs.loop.nodes[i]
	if gs.fansOut(i) {
		values := make([]any, size)
		for k := range values {
			item, err := stored.Value(string(rows[k].Item))
			if err != nil {
				return 0, fmt.Errorf("item of node %d: %w", rows[k].NodeIndex, err)
			}
			values[k] = item
		}
		gs.loop.progress.Expand(i, dag.Expansion{Items: size, Item: n.op.ItemTraits(), Limit: n.op.Foreach.Parallelism, Partial: n.op.Foreach.Partial})
		gs.loop.nodes = append(gs.loop.nodes, gs.items(i, values)...)
		return size, nil
	}
	g, ok := gs.loop.version.Definition.Graph(n.op.Graph)
	plan := gs.loop.version.Plans[n.op.Graph]
	if !ok || n.op.Graph == "" || len(plan.Nodes) != size {
		return 0, fmt.Errorf("node %d expanded into %d nodes, but its graph %q has others", i, size, n.op.Graph)
	}
	gs.loop.progress.Expand(i, dag.Expansion{Plan: plan, Limit: g.Parallelism})
	gs.loop.nodes = append(gs.loop.nodes, gs.members(g.Name, plan, n.name+"/")...)
	return size, nil
}

// loadNode sets node i from its row.
func (l *loop) loadNode(i int, r db.LoadNodesRow) {
	n := &l.nodes[i]
	n.attempt, n.retries, n.level = int(r.Attempt), int(r.Retries), int(r.Level)
	n.reason, n.failure = stored.Into[query.Reason](r.Reason), stored.Into[query.Failure](r.Error)
	n.readyAt, n.startedAt, n.finishedAt, n.retryAt = r.ReadyAt, r.StartedAt, r.FinishedAt, r.RetryAt
	n.polling = stored.Into[query.Polling](r.Polling)
	n.onHold = n.reason != nil && n.reason.Code == ReasonHeld
	if len(r.Inputs) > 0 {
		n.inputs = stored.Object(r.Inputs)
	}
	if r.FirstChild != nil {
		n.children = children{int(*r.FirstChild), int(r.ChildCount)}
		if r.ChildCount == 0 && l.progress.Inner(i) == dag.NoNode {
			l.progress.Expand(i, dag.Expansion{}) // a fan-out over an empty list
		}
	}
	if n.attempt > 0 {
		l.progress.Begin(i)
	}
	switch state := dag.State(r.State); {
	case state == dag.Skipped && (n.reason == nil || !skipsInTurn(n.reason.Code)):
		l.progress.Omit(i)
	case state == dag.Failed:
		l.progress.Fail(i, n.failure.IsError())
	default:
		l.progress.Set(i, state)
	}
}
