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
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
)

// MayCancel returns an error unless the caller may cancel an execution.
func (s *CommandService) MayCancel(ctx context.Context, id uuid.UUID) error {
	_, _, err := s.cancellable(ctx, id)
	return err
}

func (s *CommandService) cancellable(ctx context.Context, id uuid.UUID) (db.Execution, auth.Subject, error) {
	e, err := s.rows.Execution(ctx, id)
	if err != nil {
		return db.Execution{}, auth.Subject{}, err
	}
	subject, err := auth.AuthorizeOwner(ctx, auth.ExecutionCancel, auth.ExecutionCancelAny, e.ProjectID, e.SubmittedBy, query.Absent(id))
	return e, subject, err
}

// Cancel requests the end of an execution: nodes that have not begun do not begin, and
// running attempts receive SIGTERM and, after a grace period, SIGKILL. Exit handlers then
// run. Cancelling again, or when only exit handlers are left, stops those that run. It
// returns once the request is durable; the state is CANCELLED when the last attempt has
// ended. It returns Conflict when the execution has ended in another state, and Forbidden for
// the execution of another user without the permission.
func (s *CommandService) Cancel(ctx context.Context, id uuid.UUID, reason string) error {
	e, subject, err := s.cancellable(ctx, id)
	if err != nil {
		return err
	}
	if e.CancelRequestedAt != nil && query.State(e.Status).Ended() {
		return nil
	}
	reason = clean(reason, maxMessage)
	version, err := s.workflows.VersionByID(auth.AsSystem(ctx), e.VersionID)
	if err != nil {
		return fmt.Errorf("load version: %w", err)
	}
	var requested, handlers int64
	err = db.Tx(ctx, s.pool, func(tx pgx.Tx, q *db.Queries) error {
		data := mustJSON(map[string]any{"by": subject.Name})
		requested, err = q.RequestCancel(ctx, s.now(), reason, data, id)
		if err != nil {
			return err
		}
		handlers, err = stopHandlers(ctx, q, version, e, db.OrderNodeParams{Reason: reason, OrderedBy: subject.Name, OrderedAt: s.now()}, requested > 0)
		if err != nil || requested == 0 && handlers == 0 {
			return err
		}
		err = audit.Record(ctx, q, audit.Entry{
			Action: "execution.cancel", Kind: "execution", ID: id.String(), Name: e.WorkflowName + " " + e.Version, TenantID: e.TenantID, ProjectID: e.ProjectID,
			Old: map[string]any{"status": e.Status, "cancel_requested": requested == 0}, New: cancelAudit(e, handlers), Reason: reason,
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
	if requested == 0 && handlers == 0 {
		if e, err = s.queries.GetExecution(ctx, id); err == nil && e.CancelRequestedAt == nil {
			return apperr.New(apperr.Conflict, "The execution has already ended.")
		}
		return err
	}
	if requested > 0 {
		s.sendMessage(id, message{cancel: &reason})
	}
	if handlers > 0 {
		s.sendMessage(id, message{reports: true})
	}
	s.changed(id)
	return nil
}

// cancelAudit is the audit log entry of a cancellation that stops exit handlers.
func cancelAudit(e db.Execution, handlers int64) map[string]any {
	entry := map[string]any{"status": e.Status, "cancel_requested": true}
	if handlers > 0 {
		entry["exit_handlers_stopped"] = handlers
	}
	return entry
}

// stopHandlers orders the end of the exit handlers that run: at the end of the execution
// when nothing else is open, and, unless this is the first cancellation, those of
// operators. It returns how many it ordered to end.
func stopHandlers(ctx context.Context, q *db.Queries, version workflow.Version, e db.Execution, order db.OrderNodeParams, first bool) (int64, error) {
	if !version.Definition.HasExitHandlers() {
		return 0, nil
	}
	open, err := q.OpenNodes(ctx, e.ID)
	if err != nil {
		return 0, fmt.Errorf("load open nodes: %w", err)
	}
	var ordered int64
	order.ExecutionID, order.Cancel = e.ID, true
	for _, i := range handlersOf(version, open, first) {
		order.NodeIndex = i
		n, err := q.OrderNode(ctx, order)
		if err != nil {
			return 0, fmt.Errorf("order the end of node %d: %w", i, err)
		}
		ordered += n
	}
	return ordered, nil
}

// handlersOf returns the open nodes that a cancellation ends because exit handlers run.
func handlersOf(version workflow.Version, open []db.Node, first bool) []int32 {
	var last, hooks []int32
	others, started := false, false
	for _, n := range open {
		op, ok := query.OperatorAt(version, n)
		waits := dag.State(n.State) == dag.Pending
		switch {
		case !ok:
		case n.ParentIndex == nil && op.Final:
			last, started = append(last, n.NodeIndex), started || !waits
		case op.Exit && !first && !waits && n.ItemIndex == nil:
			hooks = append(hooks, n.NodeIndex)
		}
		others = others || n.ParentIndex == nil && (!ok || !op.Final)
	}
	if others || !started {
		return hooks
	}
	return last
}

// stopAttempts asks the launcher to end attempts. The answers to their heartbeats say the
// same, so that a runner which this launcher cannot reach stops too.
func (la *launches) stopAttempts(ctx context.Context, nodes []int) {
	indexes := make([]int32, len(nodes))
	refs := make([]launcher.Ref, len(nodes))
	for k, i := range nodes {
		indexes[k] = int32(i) //nolint:gosec // at most workflow.MaxOperators
		refs[k] = launcher.Ref{TaskID: query.TaskID(la.loop.id, i, la.loop.nodes[i].attempt), ProjectID: la.loop.row.ProjectID.String()}
	}
	if err := la.loop.driver.queries.MarkStopSent(ctx, la.loop.driver.now(), la.loop.id, indexes); err != nil {
		la.loop.driver.config.Logger.Warn("mark attempts as stopping", "execution", la.loop.id, "error", err)
	}
	la.loop.driver.config.Crash("stop.begin")
	la.starter.stop(refs)
}
