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
	rows, err := q.rows.Executions(ctx, ids)
	if err != nil {
		return nil, err
	}
	list := make([]Execution, len(rows))
	for i, row := range rows {
		list[i] = ExecutionFrom(row)
		hideOthers(ctx, list[i].Reason)
	}
	return list, nil
}

// Changes returns the numbers of the latest events of executions. A number that differs from an
// earlier one means that the execution, its nodes or its artifacts changed.
func (q *Reader) Changes(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]int64, error) {
	if _, err := auth.SignedIn(ctx); err != nil {
		return nil, err
	}
	rows, err := complete(q.rows, ids, func(d *db.Queries) ([]db.EventSeqsRow, error) { return d.EventSeqs(ctx, ids) })
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
