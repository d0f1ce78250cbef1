package execution

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// Cancel requests the end of an execution: nodes that have not begun do not begin, and
// running attempts receive SIGTERM and, after a grace period, SIGKILL. It returns once the
// request is durable; the state is CANCELLED when the last attempt has ended. Cancelling
// twice is a success. It returns Conflict when the execution has ended in another state, and
// Forbidden for the execution of another user without the permission.
func (s *Service) Cancel(ctx context.Context, id uuid.UUID, reason string) error {
	e, err := s.rows.Execution(ctx, id)
	if err != nil {
		return err
	}
	subject, err := auth.AuthorizeOwner(ctx, auth.ExecutionCancel, auth.ExecutionCancelAny, e.ProjectID, e.SubmittedBy, query.Absent(id))
	if err != nil {
		return err
	}
	if e.CancelRequestedAt != nil {
		return nil
	}
	reason = clean(reason, maxMessage)
	var asked int64
	err = db.Tx(ctx, s.pool, func(tx pgx.Tx, q *db.Queries) error {
		data := mustJSON(map[string]any{"by": subject.Name})
		asked, err = q.RequestCancel(ctx, s.now(), reason, data, id)
		if err != nil || asked == 0 {
			return err
		}
		err = audit.Record(ctx, q, audit.Entry{
			Action: "execution.cancel", Kind: "execution", ID: id.String(), Name: e.WorkflowName + " " + e.Version, TenantID: e.TenantID, ProjectID: e.ProjectID,
			Old: map[string]any{"status": e.Status, "cancel_requested": false}, New: map[string]any{"status": e.Status, "cancel_requested": true}, Reason: reason,
		})
		if err != nil {
			return err
		}
		return s.requestDrive(ctx, tx, q, id)
	})
	if err != nil {
		return fmt.Errorf("cancel %s: %w", id, err)
	}
	s.config.Crash("cancel.committed")
	if asked == 0 {
		if e, err = s.queries.GetExecution(ctx, id); err == nil && e.CancelRequestedAt == nil {
			return apperr.New(apperr.Conflict, "The execution has already ended.")
		}
		return err
	}
	s.tell(id, message{cancel: &reason})
	s.changed(id)
	return nil
}

// stopAttempts asks the launcher to end attempts. The answers to their heartbeats say the
// same, so that a runner which this launcher cannot reach stops too.
func (la *launches) stopAttempts(ctx context.Context, nodes []int) {
	indexes := make([]int32, len(nodes))
	refs := make([]launcher.Ref, len(nodes))
	for k, i := range nodes {
		indexes[k] = int32(i) //nolint:gosec // at most workflow.MaxOperators
		refs[k] = launcher.Ref{TaskID: TaskID(la.id, i, la.nodes[i].attempt), ProjectID: la.row.ProjectID.String()}
	}
	if err := la.service.queries.MarkStopSent(ctx, la.service.now(), la.id, indexes); err != nil {
		la.service.config.Logger.Warn("mark attempts as stopping", "execution", la.id, "error", err)
	}
	la.service.config.Crash("stop.begin")
	la.starter.stop(refs)
}
