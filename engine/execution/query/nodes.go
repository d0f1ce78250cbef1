package query

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/stored"
	"github.com/flowforge/flowforge/engine/workflow"
)

// NodeReader reads the nodes of executions, with their attempts.
type NodeReader struct {
	queries   *db.Queries
	workflows *workflow.Service
	rows      Rows
	inputs    func(ctx context.Context, row db.Execution, version workflow.Version, node int) (map[string]any, error)
}

// NodeFilter selects nodes of one execution; zero fields select all. After is the mark that
// Nodes returned; Limit 0 returns all.
type NodeFilter struct {
	State              string // one state, as the API gives it
	States             []dag.State
	Query              string // in the name
	Everywhere         bool   // Query also matches the item and the error
	Indexes            []int
	Top                bool   // only nodes of the plan
	Parent             string // the name of the parent
	Failure            string // the Key of a FailureKind
	FromLevel, ToLevel *int
	ChangedAfter       int64 // an event number; see ChangedSince
	After              string
	Limit              int
}

// List returns the nodes that f selects in the order of the plan, and the mark of the next
// page, "" on the last page.
func (q *NodeReader) List(ctx context.Context, id uuid.UUID, f NodeFilter) (nodes []Node, next string, err error) {
	row, err := q.rows.Execution(ctx, id)
	if err != nil {
		return nil, "", err
	}
	params, err := f.params(id)
	if err != nil {
		return nil, "", err
	}
	if params.First, params.Beyond, err = q.span(ctx, row, f); err != nil {
		return nil, "", err
	}
	rows, err := q.queries.ListNodes(ctx, params)
	if err != nil {
		return nil, "", fmt.Errorf("list nodes of %s: %w", id, err)
	}
	if f.Limit > 0 && len(rows) > f.Limit {
		rows = rows[:f.Limit]
		next = strconv.Itoa(int(rows[f.Limit-1].NodeIndex))
	}
	nodes = make([]Node, len(rows))
	for i, r := range rows {
		nodes[i] = NodeFrom(r)
		hideOthers(ctx, nodes[i].Reason)
	}
	return nodes, next, nil
}

func (f NodeFilter) params(id uuid.UUID) (db.ListNodesParams, error) {
	p := db.ListNodesParams{
		ExecutionID: id, Everywhere: f.Everywhere, AfterIndex: -1, ChangedAfter: -1, States: []string{}, Indexes: []int32{}, MaxRows: math.MaxInt32,
		FromLevel: narrow(f.FromLevel), ToLevel: narrow(f.ToLevel),
	}
	if f.ChangedAfter > 0 {
		p.ChangedAfter = f.ChangedAfter
	}
	if f.Limit > 0 {
		p.MaxRows = int32(min(f.Limit, workflow.MaxOperators)) + 1
	}
	if f.State != "" {
		p.States = append(p.States, f.State)
	}
	for _, st := range f.States {
		p.States = append(p.States, string(st))
	}
	for _, i := range f.Indexes {
		p.Indexes = append(p.Indexes, int32(i)) //nolint:gosec // at most workflow.MaxOperators
	}
	if f.Query != "" {
		p.Query = new("%" + db.EscapeLike(f.Query) + "%")
	}
	if f.Failure != "" {
		p.Failure = &f.Failure
	}
	if f.After != "" {
		after, err := strconv.ParseInt(f.After, 10, 32)
		if err != nil {
			return p, apperr.New(apperr.Invalid, "The page token is not valid.")
		}
		p.AfterIndex = int32(after)
	}
	return p, nil
}

func narrow(n *int) *int32 {
	if n == nil {
		return nil
	}
	return new(int32(*n)) //nolint:gosec // a level
}

// span is the range of indexes that f selects: the plan, the children of a node, or any.
func (q *NodeReader) span(ctx context.Context, row db.Execution, f NodeFilter) (first, beyond *int32, err error) {
	switch {
	case f.Parent != "":
		node, _, err := q.rows.Node(ctx, row, f.Parent)
		if err != nil {
			return nil, nil, err
		}
		from := int32(0)
		if node.FirstChild != nil {
			from = *node.FirstChild
		}
		return &from, new(from + node.ChildCount), nil
	case f.Top:
		version, err := q.workflows.VersionByID(auth.AsSystem(ctx), row.VersionID)
		if err != nil {
			return nil, nil, err
		}
		return nil, new(int32(len(version.Plan.Nodes))), nil //nolint:gosec // at most workflow.MaxOperators
	}
	return nil, nil, nil
}

// ChangedSince returns the nodes of the plan that changed after the mark, and the next mark.
// The mark 0 returns all of them.
func (q *NodeReader) ChangedSince(ctx context.Context, id uuid.UUID, mark int64) ([]Node, int64, error) {
	row, err := q.rows.Execution(ctx, id)
	if err != nil {
		return nil, mark, err
	}
	if row.EventSeq == mark {
		return nil, mark, nil
	}
	nodes, _, err := q.List(ctx, id, NodeFilter{ChangedAfter: mark, Top: true})
	return nodes, row.EventSeq, err
}

// States returns the state of every node of the plan, in its order.
func (q *NodeReader) States(ctx context.Context, id uuid.UUID) ([]dag.State, error) {
	row, err := q.rows.Execution(ctx, id)
	if err != nil {
		return nil, err
	}
	version, err := q.workflows.VersionByID(auth.AsSystem(ctx), row.VersionID)
	if err != nil {
		return nil, err
	}
	rows, err := q.queries.NodeStates(ctx, id, int32(len(version.Plan.Nodes))) //nolint:gosec // at most workflow.MaxOperators
	if err != nil {
		return nil, fmt.Errorf("list node states of %s: %w", id, err)
	}
	states := make([]dag.State, len(rows))
	for i, r := range rows {
		states[i] = dag.State(r)
	}
	return states, nil
}

// Get returns one node by its name, with its attempts and the values of its inputs.
func (q *NodeReader) Get(ctx context.Context, id uuid.UUID, name string) (NodeDetail, error) {
	row, err := q.rows.Execution(ctx, id)
	if err != nil {
		return NodeDetail{}, err
	}
	node, version, err := q.rows.Node(ctx, row, name)
	if err != nil {
		return NodeDetail{}, err
	}
	attempts, err := q.queries.ListAttempts(ctx, id, node.NodeIndex)
	if err != nil {
		return NodeDetail{}, fmt.Errorf("list attempts of %s: %w", name, err)
	}
	op, ok := OperatorAt(version, node)
	if !ok {
		return NodeDetail{}, fmt.Errorf("node %s of %s has no operator", name, id)
	}
	d := NodeDetail{Node: NodeFrom(node), Operator: op}
	hideOthers(ctx, d.Reason)
	for _, a := range attempts {
		d.Attempts = append(d.Attempts, attemptFromRow(a))
	}
	if d.Origin, err = q.originOf(ctx, node); err != nil {
		return NodeDetail{}, err
	}
	switch {
	case d.FansOut(op): // each of its items has its own inputs
	case len(node.Inputs) > 0:
		d.Inputs = stored.Object(node.Inputs)
	default:
		if d.Inputs, err = q.inputs(ctx, row, version, d.Index); err != nil {
			return NodeDetail{}, err
		}
	}
	return d, nil
}

// Tracebacks returns the exceptions that ended attempts of a node, by attempt; at most limit, those
// of the latest attempts.
func (q *NodeReader) Tracebacks(ctx context.Context, id uuid.UUID, node Node, limit int) (map[int]*Traceback, error) {
	if _, err := q.rows.Execution(ctx, id); err != nil {
		return nil, err
	}
	rows, err := q.queries.Tracebacks(ctx, id, int32(node.Index), int32(limit)) //nolint:gosec // fewer nodes than maxNodes; a small limit
	if err != nil {
		return nil, fmt.Errorf("tracebacks of %s: %w", node.Name, err)
	}
	found := make(map[int]*Traceback, len(rows))
	for _, r := range rows {
		found[int(r.Attempt)] = stored.Into[Traceback](r.Content)
	}
	return found, nil
}

// LevelSpan is the time from the begin of the first node of a level to the end of the last
// one.
type LevelSpan struct {
	Level int
	First *time.Time // nil: no node has begun
	Last  *time.Time // nil: a node has not ended
}

// LevelSpans returns the span of each level, for the timeline of large graphs.
func (q *NodeReader) LevelSpans(ctx context.Context, id uuid.UUID) ([]LevelSpan, error) {
	if _, err := q.rows.Execution(ctx, id); err != nil {
		return nil, err
	}
	rows, err := q.queries.LevelSpans(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("list level spans of %s: %w", id, err)
	}
	spans := make([]LevelSpan, len(rows))
	for i, r := range rows {
		spans[i].Level = int(r.Level)
		if r.Begun {
			spans[i].First = stored.UTC(&r.First)
		}
		if r.Done {
			spans[i].Last = stored.UTC(&r.Last)
		}
	}
	return spans, nil
}

// Attempts returns the attempts of the nodes with these indexes, by node index; of all nodes
// when there are no indexes.
func (q *NodeReader) Attempts(ctx context.Context, id uuid.UUID, indexes []int) (map[int][]Attempt, error) {
	if _, err := q.rows.Execution(ctx, id); err != nil {
		return nil, err
	}
	narrowed := make([]int32, len(indexes))
	for k, i := range indexes {
		narrowed[k] = int32(i) //nolint:gosec // at most workflow.MaxOperators
	}
	rows, err := q.queries.AttemptsOfNodes(ctx, id, narrowed, math.MaxInt32)
	if err != nil {
		return nil, fmt.Errorf("list attempts of %s: %w", id, err)
	}
	attempts := map[int][]Attempt{}
	for _, r := range rows {
		attempts[int(r.NodeIndex)] = append(attempts[int(r.NodeIndex)], attemptFromRow(r))
	}
	return attempts, nil
}

// NodeAddress names a node by its index.
type NodeAddress struct {
	Execution uuid.UUID
	Index     int
}

// Names returns the names of nodes of several executions. A node that was removed has none.
func (q *NodeReader) Names(ctx context.Context, nodes []NodeAddress) (map[NodeAddress]string, error) {
	var ids, distinct []uuid.UUID
	var indexes []int32
	seen := map[uuid.UUID]bool{}
	for _, n := range nodes {
		ids, indexes = append(ids, n.Execution), append(indexes, int32(n.Index)) //nolint:gosec // less than MaxNodes
		if !seen[n.Execution] {
			seen[n.Execution] = true
			distinct = append(distinct, n.Execution)
		}
	}
	if _, err := q.rows.Executions(ctx, distinct); err != nil {
		return nil, err
	}
	rows, err := q.queries.NodesNamed(ctx, ids, indexes)
	if err != nil {
		return nil, fmt.Errorf("name %d nodes: %w", len(nodes), err)
	}
	names := map[NodeAddress]string{}
	for _, r := range rows {
		names[NodeAddress{r.ExecutionID, int(r.NodeIndex)}] = r.Name
	}
	return names, nil
}
