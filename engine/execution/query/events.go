package query

import (
	"context"
	"fmt"
	"math"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/workflow"
)

const (
	defaultEvents  = 500
	maxEvents      = 5000
	waitingPerPage = 5 // nodes of one execution that Waiting lists
)

// EventReader reads the events of executions.
type EventReader struct {
	queries   *db.Queries
	workflows *workflow.Service
	rows      Rows
}

// After returns the events after afterSeq, the oldest first.
func (q *EventReader) After(ctx context.Context, id uuid.UUID, afterSeq int64, limit int) ([]Event, error) {
	row, err := q.rows.Execution(ctx, id)
	if err != nil {
		return nil, err
	}
	rows, err := q.queries.ListEvents(ctx, id, afterSeq, eventLimit(limit))
	if err != nil {
		return nil, fmt.Errorf("list events of %s: %w", id, err)
	}
	events := make([]db.ListLatestEventsRow, len(rows))
	for i, r := range rows {
		events[i] = db.ListLatestEventsRow(r)
	}
	return q.named(ctx, row, events)
}

// EventFilter selects events of an execution; zero fields select all.
type EventFilter struct {
	Before int64       // only those with a smaller sequence number
	Kinds  []EventKind // none: all
	Node   string      // the name of their node
	Limit  int
}

// Latest returns the events that f selects, newest first. It returns NotFound for
// a node that the execution does not have.
func (q *EventReader) Latest(ctx context.Context, id uuid.UUID, f EventFilter) ([]Event, error) {
	row, err := q.rows.Execution(ctx, id)
	if err != nil {
		return nil, err
	}
	params := db.ListLatestEventsParams{ExecutionID: id, Before: f.Before, Kinds: []string{}, MaxRows: eventLimit(f.Limit)}
	if params.Before <= 0 {
		params.Before = math.MaxInt64
	}
	for _, k := range f.Kinds {
		params.Kinds = append(params.Kinds, string(k))
	}
	if f.Node != "" {
		n, _, err := q.rows.Node(ctx, row, f.Node)
		if err != nil {
			return nil, err
		}
		params.NodeIndex = &n.NodeIndex
	}
	rows, err := q.queries.ListLatestEvents(ctx, params)
	if err != nil {
		return nil, fmt.Errorf("list events of %s: %w", id, err)
	}
	return q.named(ctx, row, rows)
}

func eventLimit(limit int) int32 {
	if limit <= 0 {
		limit = defaultEvents
	}
	return int32(min(limit, maxEvents))
}

// named adds the names of their nodes to the events.
func (q *EventReader) named(ctx context.Context, row db.Execution, rows []db.ListLatestEventsRow) ([]Event, error) {
	version, err := q.workflows.VersionByID(auth.AsSystem(ctx), row.VersionID)
	if err != nil {
		return nil, err
	}
	names, err := q.nodeNames(ctx, row.ID, version, rows)
	if err != nil {
		return nil, err
	}
	events := make([]Event, len(rows))
	for i, r := range rows {
		e := Event{ID: fmt.Sprintf("%s.%d", row.ID, r.Seq), Seq: r.Seq, At: r.At.UTC(), Kind: r.Kind, NodeIndex: -1, Message: r.Message, Data: r.Data}
		if r.NodeIndex != nil {
			e.NodeIndex = int(*r.NodeIndex)
			e.Node = names[*r.NodeIndex]
		}
		if r.Attempt != nil {
			e.Attempt = int(*r.Attempt)
		}
		events[i] = e
	}
	return events, nil
}

// nodeNames returns the names of the nodes of events.
func (q *EventReader) nodeNames(ctx context.Context, id uuid.UUID, version workflow.Version, rows []db.ListLatestEventsRow) (map[int32]string, error) {
	names := map[int32]string{}
	var others []int32
	for _, r := range rows {
		switch {
		case r.NodeIndex == nil:
		case int(*r.NodeIndex) < len(version.Plan.Nodes):
			names[*r.NodeIndex] = version.Plan.Nodes[*r.NodeIndex].Name
		default:
			others = append(others, *r.NodeIndex)
		}
	}
	if len(others) == 0 {
		return names, nil
	}
	found, err := q.queries.NodeNames(ctx, id, others)
	if err != nil {
		return nil, fmt.Errorf("names of nodes of %s: %w", id, err)
	}
	for _, r := range found {
		names[r.NodeIndex] = r.Name
	}
	return names, nil
}
