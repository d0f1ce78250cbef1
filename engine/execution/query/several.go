package query

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
)

// Several returns executions in the order of their ids, with the errors of Get. They may belong
// to several projects.
func (q *Reader) Several(ctx context.Context, ids []uuid.UUID) ([]Execution, error) {
	if _, err := auth.SignedIn(ctx); err != nil {
		return nil, err
	}
	rows, err := complete(q, ids, func(d *db.Queries) ([]db.Execution, error) { return d.ExecutionsByID(ctx, ids) })
	if err != nil {
		return nil, fmt.Errorf("read %d executions: %w", len(ids), err)
	}
	found := map[uuid.UUID]db.Execution{}
	for _, row := range rows {
		found[row.ID] = row
	}
	list := make([]Execution, 0, len(ids))
	for _, id := range ids {
		row, ok := found[id]
		if !ok {
			return nil, Absent(id)
		}
		if _, err := auth.AuthorizeIn(ctx, auth.ExecutionRead, row.ProjectID, Absent(id)); err != nil {
			return nil, err
		}
		e := ExecutionFrom(row)
		hideOthers(ctx, e.Reason)
		list = append(list, e)
	}
	return list, nil
}

// Changes returns the numbers of the latest events of executions. A number that differs from an
// earlier one means that the execution, its nodes or its artifacts changed.
func (q *Reader) Changes(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]int64, error) {
	if _, err := auth.SignedIn(ctx); err != nil {
		return nil, err
	}
	rows, err := complete(q, ids, func(d *db.Queries) ([]db.EventSeqsRow, error) { return d.EventSeqs(ctx, ids) })
	if err != nil {
		return nil, fmt.Errorf("read changes of %d executions: %w", len(ids), err)
	}
	changes := make(map[uuid.UUID]int64, len(ids))
	for _, row := range rows {
		if _, err := auth.AuthorizeIn(ctx, auth.ExecutionRead, row.ProjectID, Absent(row.ID)); err != nil {
			return nil, err
		}
		changes[row.ID] = row.EventSeq
	}
	for _, id := range ids {
		if _, ok := changes[id]; !ok {
			return nil, Absent(id)
		}
	}
	return changes, nil
}

// HoursOfSeveral returns the usage of executions until now.
func (q *Reader) HoursOfSeveral(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]Hours, error) {
	if _, err := q.Several(ctx, ids); err != nil {
		return nil, err
	}
	rows, err := q.queries.UsageOfExecutions(ctx, q.now(), ids)
	if err != nil {
		return nil, fmt.Errorf("sum up the usage of %d executions: %w", len(ids), err)
	}
	hours := map[uuid.UUID]Hours{}
	for _, r := range rows {
		hours[r.ExecutionID] = Hours{r.GpuHours, r.CpuHours, r.MemoryHours}
	}
	return hours, nil
}

// NodeAddress names a node by its index.
type NodeAddress struct {
	Execution uuid.UUID
	Index     int
}

// NodeNames returns the names of nodes of several executions. A node that was removed has none.
func (q *Reader) NodeNames(ctx context.Context, nodes []NodeAddress) (map[NodeAddress]string, error) {
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
	if _, err := q.Several(ctx, distinct); err != nil {
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

// Previous returns the latest earlier execution of the workflow of e, or false.
func (q *Reader) Previous(ctx context.Context, e Execution) (uuid.UUID, bool, error) {
	if _, err := auth.AuthorizeIn(ctx, auth.ExecutionRead, e.ProjectID, Absent(e.ID)); err != nil {
		return uuid.Nil, false, err
	}
	id, err := q.queries.PreviousExecution(ctx, e.ProjectID, e.WorkflowID, e.ID)
	if db.IsNoRows(err) {
		return uuid.Nil, false, nil
	}
	if err != nil {
		return uuid.Nil, false, fmt.Errorf("find the execution before %s: %w", e.ID, err)
	}
	return id, true, nil
}
