package query

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution/stored"
)

// Approval selects executions by whether they only wait for approvals.
type Approval string

// The values of Approval.
const (
	OnlyAwaiting Approval = "ONLY"
	NotAwaiting  Approval = "NOT"
)

// ApprovalReader finds what waits for the answer of a user.
type ApprovalReader struct {
	queries *db.Queries
	rows    Rows
}

// PendingApproval is a node that waits for a user's answer.
type PendingApproval struct {
	ExecutionID uuid.UUID
	Workflow    string
	Execution   string
	LaunchedBy  string
	Index       int
	Node        string
	Message     string
	Since       time.Time
}

// maxApprovals limits the approvals of one execution.
const maxApprovals = 20

// OfExecution returns the nodes of an execution that wait for an answer.
func (q *ApprovalReader) OfExecution(ctx context.Context, id uuid.UUID) ([]PendingApproval, error) {
	row, err := q.rows.Execution(ctx, id)
	if err != nil {
		return nil, err
	}
	rows, err := q.queries.PendingApprovalsOf(ctx, id, maxApprovals)
	if err != nil {
		return nil, fmt.Errorf("approvals of %s: %w", id, err)
	}
	approvals := make([]PendingApproval, len(rows))
	for i, r := range rows {
		approvals[i] = PendingApproval{
			ExecutionID: id, Workflow: row.WorkflowName, Execution: row.Name, LaunchedBy: row.SubmittedByName,
			Index: int(r.NodeIndex), Node: r.Name, Message: messageOf(r.Reason), Since: utcOf(r.StartedAt),
		}
	}
	return approvals, nil
}

// List returns the nodes of the current project that wait for an answer, the oldest
// first.
func (q *ApprovalReader) List(ctx context.Context, limit int) ([]PendingApproval, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return nil, err
	}
	if limit <= 0 {
		limit = defaultPage
	}
	rows, err := q.queries.ListPendingApprovals(ctx, subject.ProjectID, int32(limit))
	if err != nil {
		return nil, fmt.Errorf("open approvals: %w", err)
	}
	approvals := make([]PendingApproval, len(rows))
	for i, r := range rows {
		approvals[i] = PendingApproval{
			ExecutionID: r.ExecutionID, Workflow: r.WorkflowName, Execution: r.ExecutionName, LaunchedBy: r.SubmittedByName,
			Index: int(r.NodeIndex), Node: r.Name, Message: messageOf(r.Reason), Since: utcOf(r.StartedAt),
		}
	}
	return approvals, nil
}

// Count returns how many nodes of the current project wait for an answer, and how many
// requests for stages of models do.
func (q *ApprovalReader) Count(ctx context.Context) (int, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return 0, err
	}
	n, err := q.queries.CountPendingApprovals(ctx, subject.ProjectID)
	if err != nil {
		return 0, fmt.Errorf("count open approvals: %w", err)
	}
	return int(n), nil
}

func messageOf(raw []byte) string {
	if reason := stored.Into[Reason](raw); reason != nil {
		return reason.Message
	}
	return ""
}

func utcOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}
