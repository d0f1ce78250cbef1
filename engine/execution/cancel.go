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
	c, err := s.PrepareCancel(ctx, id, reason)
	if err != nil {
		return err
	}
	if c.execution.CancelRequestedAt != nil && query.State(c.execution.Status).Ended() {
		return nil
	}
	err = db.Tx(ctx, s.pool, func(tx pgx.Tx, q *db.Queries) error {
		if err := c.write(ctx, q); err != nil || !c.written() {
			return err
		}
		return s.requestDrive(ctx, tx, q, id)
	})
	if err != nil {
		return fmt.Errorf("cancel %s: %w", id, err)
	}
	s.config.Crash("cancel.committed")
	if !c.written() {
		e, err := s.queries.GetExecution(ctx, id)
		if err == nil && e.CancelRequestedAt == nil {
			return apperr.New(apperr.Conflict, "The execution has already ended.")
		}
		return err
	}
	c.announce()
	return nil
}

// Cancellation is a request to end an execution, for callers that write it in a transaction of
// their own.
type Cancellation struct {
	service   *CommandService
	execution db.Execution
	version   workflow.Version
	by        string
	reason    string

	requested, handlers int64
}

// PrepareCancel reads what a cancellation requires. Errors are those of Cancel, except Conflict.
func (s *CommandService) PrepareCancel(ctx context.Context, id uuid.UUID, reason string) (*Cancellation, error) {
	e, subject, err := s.cancellable(ctx, id)
	if err != nil {
		return nil, err
	}
	version, err := s.workflows.VersionByID(auth.AsSystem(ctx), e.VersionID)
	if err != nil {
		return nil, fmt.Errorf("load version: %w", err)
	}
	return &Cancellation{service: s, execution: e, version: version, by: subject.Name, reason: clean(reason, maxMessage)}, nil
}

// Write writes the request in the transaction of q, or nothing if the execution has ended. Announce
// follows the commit; without it, the execution is driven some seconds later.
func (c *Cancellation) Write(ctx context.Context, q *db.Queries) error {
	if err := c.write(ctx, q); err != nil {
		return fmt.Errorf("cancel %s: %w", c.execution.ID, err)
	}
	if !c.written() {
		return nil
	}
	if _, err := q.RequestDrive(ctx, c.execution.ID); err != nil && !db.IsNoRows(err) {
		return fmt.Errorf("request drive of %s: %w", c.execution.ID, err)
	}
	return nil
}

func (c *Cancellation) write(ctx context.Context, q *db.Queries) (err error) {
	now := c.service.now()
	c.requested, err = q.RequestCancel(ctx, now, c.reason, mustJSON(map[string]any{"by": c.by}), c.execution.ID)
	if err != nil {
		return err
	}
	c.handlers, err = stopHandlers(ctx, q, c.version, c.execution, db.OrderNodeParams{Reason: c.reason, OrderedBy: c.by, OrderedAt: now}, c.requested > 0)
	if err != nil || !c.written() {
		return err
	}
	e := c.execution
	return audit.Record(ctx, q, audit.Entry{
		Action: "execution.cancel", Kind: "execution", ID: e.ID.String(), Name: e.WorkflowName + " " + e.Version, TenantID: e.TenantID, ProjectID: e.ProjectID,
		Old: map[string]any{"status": e.Status, "cancel_requested": c.requested == 0}, New: cancelAudit(e, c.handlers), Reason: c.reason,
	})
}

func (c *Cancellation) written() bool { return c.requested > 0 || c.handlers > 0 }

// Announce makes the execution end soon, once a written request is committed.
func (c *Cancellation) Announce() {
	if c.written() {
		c.announce()
		c.service.wake(c.execution.ID)
	}
}

// announce notifies the driver of the execution and its pages.
func (c *Cancellation) announce() {
	s, id := c.service, c.execution.ID
	if c.requested > 0 {
		s.sendMessage(id, message{cancel: &c.reason})
	}
	if c.handlers > 0 {
		s.sendMessage(id, message{reports: true})
	}
	s.changed(id)
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
