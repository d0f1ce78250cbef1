package execution

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
	"github.com/flowforge/flowforge/engine/protect"
	"github.com/flowforge/flowforge/engine/workflow"
)

// NodeFilter chooses nodes of one execution; zero fields choose all. After is
// the mark that Nodes returned; Limit 0 is all of them.
type NodeFilter struct {
	State              string // one state, as the API gives it
	States             []dag.State
	Query              string // in the name
	Everywhere         bool   // Query is in the item and in the error, too
	Indexes            []int
	Top                bool   // of the plan alone
	Parent             string // the name of what became them
	Failure            string // the Key of a FailureKind
	FromLevel, ToLevel *int
	ChangedAfter       int64 // an event number; see ChangedSince
	After              string
	Limit              int
}

// Nodes returns the nodes that f chooses in the order of the plan, and the mark
// of the next page, "" on the last.
func (s *Service) Nodes(ctx context.Context, id uuid.UUID, f NodeFilter) (nodes []Node, next string, err error) {
	row, err := s.row(ctx, id)
	if err != nil {
		return nil, "", err
	}
	params, err := f.params(id)
	if err != nil {
		return nil, "", err
	}
	if params.First, params.Beyond, err = s.span(ctx, row, f); err != nil {
		return nil, "", err
	}
	rows, err := s.queries.ListNodes(ctx, params)
	if err != nil {
		return nil, "", fmt.Errorf("list nodes of %s: %w", id, err)
	}
	if f.Limit > 0 && len(rows) > f.Limit {
		rows = rows[:f.Limit]
		next = strconv.Itoa(int(rows[f.Limit-1].NodeIndex))
	}
	nodes = make([]Node, len(rows))
	for i, r := range rows {
		nodes[i] = nodeFromRow(r)
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
			return p, apperr.New(apperr.Invalid, "The page mark is not valid.")
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

// span is the range of indexes that f looks at: of the plan, of what a node became,
// or any.
func (s *Service) span(ctx context.Context, row db.Execution, f NodeFilter) (first, beyond *int32, err error) {
	switch {
	case f.Parent != "":
		node, _, err := s.findNode(ctx, row, f.Parent)
		if err != nil {
			return nil, nil, err
		}
		from := int32(0)
		if node.FirstChild != nil {
			from = *node.FirstChild
		}
		return &from, new(from + node.ChildCount), nil
	case f.Top:
		version, err := s.workflows.VersionByID(auth.AsSystem(ctx), row.VersionID)
		if err != nil {
			return nil, nil, err
		}
		return nil, new(int32(len(version.Plan.Nodes))), nil //nolint:gosec // at most workflow.MaxOperators
	}
	return nil, nil, nil
}

// ChangedSince returns the nodes of the plan that changed after the mark, and the
// next mark. The mark 0 gives every node of it.
func (s *Service) ChangedSince(ctx context.Context, id uuid.UUID, mark int64) ([]Node, int64, error) {
	row, err := s.row(ctx, id)
	if err != nil {
		return nil, mark, err
	}
	if row.EventSeq == mark {
		return nil, mark, nil
	}
	nodes, _, err := s.Nodes(ctx, id, NodeFilter{ChangedAfter: mark, Top: true})
	return nodes, row.EventSeq, err
}

// States returns the state of every node of the plan, in its order.
func (s *Service) States(ctx context.Context, id uuid.UUID) ([]dag.State, error) {
	row, err := s.row(ctx, id)
	if err != nil {
		return nil, err
	}
	version, err := s.workflows.VersionByID(auth.AsSystem(ctx), row.VersionID)
	if err != nil {
		return nil, err
	}
	rows, err := s.queries.NodeStates(ctx, id, int32(len(version.Plan.Nodes))) //nolint:gosec // at most workflow.MaxOperators
	if err != nil {
		return nil, fmt.Errorf("list node states of %s: %w", id, err)
	}
	states := make([]dag.State, len(rows))
	for i, r := range rows {
		states[i] = dag.State(r)
	}
	return states, nil
}

// Node returns one node by its name, with its attempts and the values of its inputs.
func (s *Service) Node(ctx context.Context, id uuid.UUID, name string) (NodeDetail, error) {
	row, err := s.row(ctx, id)
	if err != nil {
		return NodeDetail{}, err
	}
	node, version, err := s.findNode(ctx, row, name)
	if err != nil {
		return NodeDetail{}, err
	}
	attempts, err := s.queries.ListAttempts(ctx, id, node.NodeIndex)
	if err != nil {
		return NodeDetail{}, fmt.Errorf("list attempts of %s: %w", name, err)
	}
	op, ok := operatorOf(version, node)
	if !ok {
		return NodeDetail{}, fmt.Errorf("node %s of %s has no operator", name, id)
	}
	d := NodeDetail{Node: nodeFromRow(node), Operator: op}
	hideOthers(ctx, d.Reason)
	for _, a := range attempts {
		d.Attempts = append(d.Attempts, attemptFromRow(a))
	}
	if d.Origin, err = s.originOf(ctx, node); err != nil {
		return NodeDetail{}, err
	}
	switch {
	case d.FansOut(op): // each of its items has inputs of its own
	case len(node.Inputs) > 0:
		d.Inputs = decodeObject(node.Inputs)
	default:
		if d.Inputs, err = s.nodeInputs(ctx, row, version, d.Index); err != nil {
			return NodeDetail{}, err
		}
	}
	return d, nil
}

// nodeInputs are the values of a node's typed inputs, as far as they are known.
func (s *Service) nodeInputs(ctx context.Context, row db.Execution, version workflow.Version, i int) (map[string]any, error) {
	view, err := s.view(ctx, row, version, i)
	if err != nil {
		return nil, err
	}
	view.Lock()
	defer view.Unlock()
	values := map[string]any{}
	for _, input := range view.loop.operator(i).Inputs {
		v, ok, err := view.loop.value(ctx, i, input.Source)
		if unread(err) {
			return nil, err
		}
		if ok && err == nil {
			values[input.Name] = v
		}
	}
	return values, nil
}

// LevelSpan says when the nodes of a level began and when the last one ended.
type LevelSpan struct {
	Level int
	First *time.Time // nil: nothing has begun
	Last  *time.Time // nil: something has not ended
}

// LevelSpans returns the span of each level, for the timeline of large graphs.
func (s *Service) LevelSpans(ctx context.Context, id uuid.UUID) ([]LevelSpan, error) {
	if _, err := s.row(ctx, id); err != nil {
		return nil, err
	}
	rows, err := s.queries.LevelSpans(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("list level spans of %s: %w", id, err)
	}
	spans := make([]LevelSpan, len(rows))
	for i, r := range rows {
		spans[i].Level = int(r.Level)
		if r.Begun {
			spans[i].First = utc(&r.First)
		}
		if r.Done {
			spans[i].Last = utc(&r.Last)
		}
	}
	return spans, nil
}

// Attempts returns the attempts of the nodes with these indexes, of all nodes
// when there are none, by node index.
func (s *Service) Attempts(ctx context.Context, id uuid.UUID, indexes []int) (map[int][]Attempt, error) {
	if _, err := s.row(ctx, id); err != nil {
		return nil, err
	}
	narrowed := make([]int32, len(indexes))
	for k, i := range indexes {
		narrowed[k] = int32(i) //nolint:gosec // at most workflow.MaxOperators
	}
	rows, err := s.queries.AttemptsOfNodes(ctx, id, narrowed, math.MaxInt32)
	if err != nil {
		return nil, fmt.Errorf("list attempts of %s: %w", id, err)
	}
	attempts := map[int][]Attempt{}
	for _, r := range rows {
		attempts[int(r.NodeIndex)] = append(attempts[int(r.NodeIndex)], attemptFromRow(r))
	}
	return attempts, nil
}

func nodeFromRow(r db.Node) Node {
	n := Node{
		Index: int(r.NodeIndex), Name: r.Name, Level: int(r.Level), State: dag.State(r.State), Attempt: int(r.Attempt), Retries: int(r.Retries),
		Reason: decodeInto[Reason](r.Reason), Error: decodeInto[Failure](r.Error), Outputs: decodeObject(r.Outputs),
		ReadyAt: utc(r.ReadyAt), StartedAt: utc(r.StartedAt), FinishedAt: utc(r.FinishedAt), RetryAt: utc(r.RetryAt),
	}
	n.Parent, n.Graph, n.Place, n.Children = -1, r.Graph, n.Index, int(r.ChildCount)
	if r.ParentIndex != nil {
		n.Parent = int(*r.ParentIndex)
	}
	if r.OperatorIndex != nil {
		n.Place = int(*r.OperatorIndex)
	}
	if r.FirstChild != nil {
		n.FirstChild, n.Expanded = int(*r.FirstChild), true
	}
	if r.ItemIndex != nil {
		n.ItemIndex = new(int(*r.ItemIndex))
		_ = decodeNumbers(r.Item, &n.Item) // we wrote it
	}
	n.OriginExecution, n.Cache = r.OriginExecution, decodeInto[CacheNote](r.Cache)
	if r.OriginUse != nil {
		n.OriginUse = OriginUse(*r.OriginUse)
	}
	if r.Progress != nil || r.ProgressMessage != "" || r.ProgressStatus != "" {
		n.Progress = &Progress{Message: r.ProgressMessage, Status: r.ProgressStatus}
		if r.Progress != nil {
			n.Progress.Percent = int(*r.Progress)
		}
	}
	return n
}

func attemptFromRow(r db.Attempt) Attempt {
	a := Attempt{
		Number: int(r.Attempt), QueuedAt: r.QueuedAt.UTC(), StartedAt: utc(r.StartedAt), FinishedAt: utc(r.FinishedAt),
		Message: r.Message, Host: r.Host, CPUSeconds: r.CpuSeconds, PeakRSSBytes: r.PeakRssBytes,
		Class: r.Class, Namespace: r.Namespace, Pod: r.Pod, Machine: r.Machine,
		MemoryMiB: int(r.MemoryMib), GPUs: int(r.Gpus), GPUType: r.GpuType,
	}
	if r.Outcome != nil {
		a.Outcome = *r.Outcome
	}
	if r.ExitCode != nil {
		a.ExitCode = new(int(*r.ExitCode))
	}
	if r.Pid != nil {
		a.PID = new(int(*r.Pid))
	}
	a.ErrorClass = protect.Classify(protect.End{Outcome: a.Outcome, Class: a.Class, ExitCode: a.ExitCode, Message: a.Message})
	return a
}
