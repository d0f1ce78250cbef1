package query

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
)

// ReusedTasks returns the execution that id resumes, or uuid.Nil, and the tasks of Metaflow's runs
// whose results it reuses, as "run/step/task". A node of a flow names its task in its output "task".
func (q *Reader) ReusedTasks(ctx context.Context, id uuid.UUID) (uuid.UUID, []string, error) {
	row, err := q.rows.Execution(ctx, id)
	if err != nil || row.ResumeOf == nil {
		return uuid.Nil, nil, err
	}
	tasks, err := q.queries.ReusedTasks(ctx, id)
	if err != nil {
		return uuid.Nil, nil, fmt.Errorf("list the tasks that %s reuses: %w", id, err)
	}
	return *row.ResumeOf, tasks, nil
}

// RecordsFlow reports whether an execution records its run of a flow of Metaflow. It is false for an
// execution that does not exist for the caller.
func (q *Reader) RecordsFlow(ctx context.Context, id uuid.UUID, flow string) (bool, error) {
	if _, err := q.Several(ctx, []uuid.UUID{id}); err != nil {
		if apperr.Is(err, apperr.NotFound) {
			return false, nil
		}
		return false, err
	}
	own, err := q.queries.FlowOfExecution(ctx, id)
	if err != nil {
		return false, fmt.Errorf("find the flow of %s: %w", id, err)
	}
	return own == flow, nil
}

// FlowOf returns the flow of Metaflow that the workflow of an execution was deployed from; "" for
// other workflows.
func (q *Reader) FlowOf(ctx context.Context, id uuid.UUID) (string, error) {
	subject, err := auth.SignedIn(ctx)
	if err != nil {
		return "", err
	}
	if subject.Task == nil || subject.Task.ExecutionID != id {
		return "", apperr.New(apperr.Forbidden, "This request requires a task token.")
	}
	flow, err := q.queries.FlowOfExecution(ctx, id)
	if err != nil {
		return "", fmt.Errorf("find the flow of %s: %w", id, err)
	}
	return flow, nil
}
