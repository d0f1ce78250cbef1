package query

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/workflow"
)

// ChildCounts counts the children of a node in each state.
type ChildCounts map[dag.State]int

// Total returns how many there are.
func (c ChildCounts) Total() int {
	total := 0
	for _, n := range c {
		total += n
	}
	return total
}

// Ended returns how many of them never change again.
func (c ChildCounts) Ended() int {
	ended := 0
	for state, n := range c {
		if state.Ended() {
			ended += n
		}
	}
	return ended
}

// FailureKind is a group of failures whose messages differ only in numbers.
type FailureKind struct {
	Key     string // for NodeFilter.Failure
	Code    string
	Message string // of the first failure
	Count   int
	First   int // index of the first node with this failure
}

// Ancestor is a node that contains another one.
type Ancestor struct {
	Index     int
	Name      string
	ItemIndex *int
}

// OperatorOf returns the operator of a node in the version that its execution runs; false
// when the version does not have it.
func OperatorOf(v workflow.Version, n Node) (*workflow.Operator, bool) {
	g, ok := v.Definition.Graph(n.Graph)
	if !ok || n.Place < 0 || n.Place >= len(g.Operators) {
		return nil, false
	}
	return &g.Operators[n.Place], true
}

// FansOut reports whether n expands into the items of a fan-out.
func (n Node) FansOut(op *workflow.Operator) bool { return op.Foreach != nil && n.ItemIndex == nil }

// Group reports whether n expands into other nodes instead of running a task itself.
func (n Node) Group(op *workflow.Operator) bool {
	return n.FansOut(op) || op.Type == workflow.TypeGraph || op.Type == workflow.TypeWorkflow
}

// ChildCounts counts the children of each of the nodes with these indexes; it leaves out
// nodes without children.
func (q *NodeReader) ChildCounts(ctx context.Context, id uuid.UUID, indexes []int) (map[int]ChildCounts, error) {
	if _, err := q.rows.Execution(ctx, id); err != nil || len(indexes) == 0 {
		return nil, err
	}
	parents := make([]int32, len(indexes))
	for k, i := range indexes {
		parents[k] = int32(i) //nolint:gosec // fewer nodes than MaxNodes
	}
	rows, err := q.queries.ChildStates(ctx, id, parents)
	if err != nil {
		return nil, fmt.Errorf("count children in %s: %w", id, err)
	}
	counts := map[int]ChildCounts{}
	for _, r := range rows {
		parent := int(r.Parent)
		if counts[parent] == nil {
			counts[parent] = ChildCounts{}
		}
		counts[parent][dag.State(r.State)] = int(r.Count)
	}
	return counts, nil
}

// FailureKinds returns at most limit kinds of failures among the children of node n, the
// most frequent first.
func (q *NodeReader) FailureKinds(ctx context.Context, id uuid.UUID, n Node, limit int) ([]FailureKind, error) {
	if _, err := q.rows.Execution(ctx, id); err != nil || n.Children == 0 {
		return nil, err
	}
	first, beyond := int32(n.FirstChild), int32(n.FirstChild+n.Children)       //nolint:gosec // fewer nodes than MaxNodes
	rows, err := q.queries.ChildFailures(ctx, id, first, beyond, int32(limit)) //nolint:gosec // some
	if err != nil {
		return nil, fmt.Errorf("list failures in %s: %w", id, err)
	}
	kinds := make([]FailureKind, len(rows))
	for i, r := range rows {
		kinds[i] = FailureKind{Key: r.Key, Code: r.Code, Message: r.Message, Count: int(r.Count), First: int(r.First)}
	}
	return kinds, nil
}

// Ancestors returns the nodes that contain the node with an index, the outermost first.
func (q *NodeReader) Ancestors(ctx context.Context, id uuid.UUID, index int) ([]Ancestor, error) {
	if _, err := q.rows.Execution(ctx, id); err != nil {
		return nil, err
	}
	rows, err := q.queries.NodeAncestors(ctx, id, int32(index)) //nolint:gosec // fewer nodes than MaxNodes
	if err != nil {
		return nil, fmt.Errorf("ancestors of node %d of %s: %w", index, id, err)
	}
	list := make([]Ancestor, len(rows))
	for k, r := range rows {
		list[k] = Ancestor{Index: int(r.NodeIndex), Name: r.Name}
		if r.ItemIndex != nil {
			list[k].ItemIndex = new(int(*r.ItemIndex))
		}
	}
	return list, nil
}

// Name returns the name of the node with an index; NotFound when there is none.
func (q *NodeReader) Name(ctx context.Context, id uuid.UUID, index int) (string, error) {
	row, err := q.rows.Execution(ctx, id)
	if err != nil {
		return "", err
	}
	version, err := q.workflows.VersionByID(auth.AsSystem(ctx), row.VersionID)
	if err != nil {
		return "", err
	}
	absent := apperr.New(apperr.NotFound, "The execution has no node %d.", index)
	switch {
	case index < 0 || index >= MaxNodes:
		return "", absent
	case index < len(version.Plan.Nodes):
		return version.Plan.Nodes[index].Name, nil
	}
	node, err := q.queries.GetNode(ctx, id, int32(index))
	if db.IsNoRows(err) {
		return "", absent
	}
	if err != nil {
		return "", fmt.Errorf("name of node %d of %s: %w", index, id, err)
	}
	return node.Name, nil
}
