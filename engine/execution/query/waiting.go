package query

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/stored"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// WaitReader explains why executions and nodes wait, and lists those that do.
type WaitReader struct {
	queries *db.Queries
	rows    Rows
	quota   *quota.Service
	nodes   *NodeReader
	events  *EventReader
	now     func() time.Time
}

// Waiting explains why a node, or a whole execution, waits. Reason is empty when it does not
// wait.
type Waiting struct {
	quota.Explanation

	Node      string // "" is the execution itself
	NodeIndex int
	State     dag.State // of the node
	Since     time.Time // zero when it does not wait
	Decisions []Event   // newest first
}

// maxReasons limits the nodes of each state among which one that waits is searched.
const maxReasons = 50

// Codes of the reasons of running nodes that wait and hold no capacity.
const (
	ReasonApproval = "APPROVAL" // for a user's answer
	ReasonSensor   = "SENSOR"   // for its next poll, for a time, or for an execution
)

// maxDecisions is the maximum number of events of an explanation.
const maxDecisions = 8

// Why explains why a node of an execution waits; node "" is the execution itself, or the
// node in it that has waited longest. It leaves out what the caller may not see of others.
// It returns NotFound for an unknown execution or node.
func (q *WaitReader) Why(ctx context.Context, id uuid.UUID, node string) (Waiting, error) {
	row, err := q.rows.Execution(ctx, id)
	if err != nil {
		return Waiting{}, err
	}
	if node == "" {
		if reason := stored.Into[Reason](row.Reason); State(row.Status) == Pending && reason != nil {
			return q.whyPending(ctx, row, reason)
		}
		return q.whyFirst(ctx, row)
	}
	n, _, err := q.rows.Node(ctx, row, node)
	if err != nil {
		return Waiting{}, err
	}
	return q.whyNode(ctx, row, NodeFrom(n))
}

// whyPending explains why an execution may not begin yet.
func (q *WaitReader) whyPending(ctx context.Context, row db.Execution, reason *Reason) (Waiting, error) {
	w := Waiting{NodeIndex: fair.ExecutionItself, Since: row.CreatedAt.UTC()}
	var err error
	if w.Explanation, err = q.quota.Reader.Explain(ctx, row.ProjectID, fair.Key{Execution: row.ID, Node: fair.ExecutionItself}, reason); err != nil {
		return Waiting{}, err
	}
	events, err := q.queries.ListLatestEvents(ctx, db.ListLatestEventsParams{ExecutionID: row.ID, Before: 1 << 62, Kinds: []string{}, MaxRows: maxDecisions})
	if err != nil {
		return Waiting{}, fmt.Errorf("list events of %s: %w", row.ID, err)
	}
	w.Decisions, err = q.events.named(ctx, row, events)
	return w, err
}

// whyFirst explains why the longest waiting node of an execution waits.
func (q *WaitReader) whyFirst(ctx context.Context, row db.Execution) (Waiting, error) {
	for _, state := range []dag.State{dag.Ready, dag.Queued, dag.Retrying, dag.Running, ReasonApproval} {
		nodes, _, err := q.nodes.List(ctx, row.ID, NodeFilter{States: []dag.State{state}, Limit: maxReasons})
		if err != nil {
			return Waiting{}, err
		}
		if i := slices.IndexFunc(nodes, Node.waits); i >= 0 {
			return q.whyNode(ctx, row, nodes[i])
		}
	}
	return Waiting{}, nil
}

// waits reports whether a node waits, and whyNode says for what: for capacity, in the cluster, for a
// worker of a pool, for the next attempt, for an answer, or for what a sensor observes.
func (n Node) waits() bool {
	switch n.State {
	case dag.Ready:
		return true
	case dag.Retrying:
		return n.Reason != nil
	case dag.Queued:
		return n.Reason != nil && slices.Contains(WaitCodes(), n.Reason.Code)
	case dag.Running:
		return n.Reason != nil && (n.Reason.Code == ReasonApproval || n.Reason.Code == ReasonSensor)
	case dag.Pending, dag.Succeeded, dag.Failed, dag.Skipped, dag.Cancelled:
	}
	return false
}

func (q *WaitReader) whyNode(ctx context.Context, row db.Execution, n Node) (Waiting, error) {
	w := Waiting{Node: n.Name, NodeIndex: n.Index, State: n.State}
	events, err := q.queries.ListEventsOfNode(ctx, row.ID, new(int32(n.Index)), maxDecisions) //nolint:gosec // an index of the plan
	if err != nil {
		return Waiting{}, fmt.Errorf("list events of %s: %w", n.Name, err)
	}
	latest := make([]db.ListLatestEventsRow, len(events))
	for i, e := range events {
		latest[i] = db.ListLatestEventsRow(e)
	}
	if w.Decisions, err = q.events.named(ctx, row, latest); err != nil {
		return Waiting{}, err
	}
	switch n.State {
	case dag.Ready:
		if n.ReadyAt != nil {
			w.Since = *n.ReadyAt
		}
		w.Explanation, err = q.quota.Reader.Explain(ctx, row.ProjectID, fair.Key{Execution: row.ID, Node: n.Index}, n.Reason)
		if w.Reason.Code == "" {
			w.Reason = Reason{Code: fair.BehindInFairShare, Message: "It is about to start."}
		}
	case dag.Retrying:
		if n.Reason != nil {
			w.Reason = *n.Reason
			hideOthers(ctx, &w.Reason)
		}
	case dag.Queued:
		if n.waits() {
			w.Reason = *n.Reason
			if n.ReadyAt != nil {
				w.Since = *n.ReadyAt
			}
		}
	case dag.Running:
		if n.waits() {
			w.Reason = *n.Reason
			if n.StartedAt != nil {
				w.Since = *n.StartedAt
			}
		}
	case dag.Pending, dag.Succeeded, dag.Failed, dag.Skipped, dag.Cancelled:
	}
	return w, err
}

// QueueEntry is a node, or with Node "" an execution, that waits. For work that the caller
// may not see, Execution is uuid.Nil and only a position, an amount and an age are set.
type QueueEntry struct {
	quota.Queued

	Priority Priority
}

// QueuePage is a page of a queue in the order of admission; Next is "" on the last page.
type QueuePage struct {
	Entries []QueueEntry
	Next    string
}

// maxEstimates limits for how many entries of a queue the start is estimated: each estimate
// simulates the whole queue.
const maxEstimates = 5

// Queue returns the queue at or below place, a node of the tenancy tree; uuid.Nil is the
// caller's project. after is the Next of the previous page. It returns NotFound for a place
// that the caller does not know.
func (q *WaitReader) Queue(ctx context.Context, place uuid.UUID, after string, limit int) (QueuePage, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return QueuePage{}, err
	}
	if place == uuid.Nil {
		place = subject.ProjectID
	}
	page, err := q.quota.Reader.QueueAt(ctx, place, after, limit)
	if err != nil {
		return QueuePage{}, err
	}
	entries := make([]QueueEntry, len(page.Entries))
	estimated := 0
	for i, e := range page.Entries {
		if !e.Hidden() && !e.Offered && after == "" && estimated < maxEstimates {
			estimated++
			if reason, ok := q.quota.Why(e.Key); ok {
				reason.Position, reason.Holders = e.Position, e.Reason.Holders
				e.Reason = reason
			}
		}
		entries[i] = QueueEntry{e, Priority(e.Request.Priority)}
	}
	return QueuePage{entries, page.Next}, nil
}

// Count returns the number of waiting nodes of the caller's project, including those
// in the cluster, and of executions that may not begin yet.
func (q *WaitReader) Count(ctx context.Context) (int, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return 0, err
	}
	n, err := q.queries.CountWaiting(ctx, subject.ProjectID)
	if err != nil {
		return 0, fmt.Errorf("count waiting nodes: %w", err)
	}
	inCluster, err := q.InCluster(ctx, subject.ProjectID, 1)
	if err != nil {
		return 0, err
	}
	return int(n) + len(inCluster.Entries) + inCluster.More, nil
}

// hideOthers removes from a reason what the caller may not see of others' work.
func hideOthers(ctx context.Context, r *Reason) {
	if subject, ok := auth.SubjectOf(ctx); ok && r != nil {
		quota.HideHolders(subject, r)
	}
}

// Nodes returns nodes of the caller's project that wait for capacity, in queue order: by
// priority, then age.
func (q *WaitReader) Nodes(ctx context.Context, limit int) ([]WaitingNode, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return nil, err
	}
	if limit <= 0 {
		limit = defaultPage
	}
	rows, err := q.queries.ListWaiting(ctx, waitingPerPage, subject.ProjectID, int32(min(limit, maxPage)))
	if err != nil {
		return nil, fmt.Errorf("list waiting nodes: %w", err)
	}
	nodes := make([]WaitingNode, len(rows))
	for i, r := range rows {
		w := WaitingNode{
			ExecutionID: r.ExecutionID, WorkflowName: r.WorkflowName, Execution: r.ExecutionName, Priority: Priority(r.Priority),
			Index: int(r.NodeIndex), Node: r.NodeName, Others: int(r.ReadyInExecution) - 1,
			Position: q.quota.Position(fair.Key{Execution: r.ExecutionID, Node: int(r.NodeIndex)}),
		}
		if r.ReadyAt != nil {
			w.Since = r.ReadyAt.UTC()
		}
		if reason := stored.Into[Reason](r.Reason); reason != nil {
			hideOthers(ctx, reason)
			w.Reason = *reason
		} else {
			w.Reason = Reason{Code: fair.BehindInFairShare, Message: "It is about to start."}
		}
		nodes[i] = w
	}
	return nodes, nil
}
