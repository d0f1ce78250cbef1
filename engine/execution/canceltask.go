package execution

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
)

// TaskRef identifies a node of an execution, and with Attempt not 0 one attempt of it.
type TaskRef struct {
	Execution uuid.UUID
	Node      int
	Attempt   int
}

// ParseTaskID parses "<execution>.<node index>", with or without ".<attempt>".
func ParseTaskID(text string) (TaskRef, error) {
	ref, ok := parseTaskRef(text)
	if !ok {
		return TaskRef{}, apperr.New(apperr.Invalid, "%q is not a task ID. Use <execution>.<node index>.<attempt>.", text)
	}
	return ref, nil
}

// parseTaskRef is ParseTaskID for callers that report no error. Its numbers have at most 32 bits.
func parseTaskRef(text string) (ref TaskRef, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 2 && len(parts) != 3 {
		return TaskRef{}, false
	}
	execution, err := uuid.Parse(parts[0])
	if err != nil {
		return TaskRef{}, false
	}
	node, err := strconv.ParseInt(parts[1], 10, 32)
	if err != nil || node < 0 {
		return TaskRef{}, false
	}
	ref = TaskRef{Execution: execution, Node: int(node)}
	if len(parts) == 3 {
		attempt, err := strconv.ParseInt(parts[2], 10, 32)
		if err != nil || attempt < 1 {
			return TaskRef{}, false
		}
		ref.Attempt = int(attempt)
	}
	return ref, true
}

// CancelNode cancels one node: its attempt is stopped, and it and the nodes that depend on
// it end CANCELLED; all other nodes continue. It returns once the request is durable.
// Cancelling a cancelled node is a success. It returns Conflict when the node, or the
// attempt that t names, has ended in another state, and Forbidden for the execution of
// another user without the permission.
func (s *CommandService) CancelNode(ctx context.Context, t TaskRef, reason string) error {
	task, err := s.task(ctx, t)
	if err != nil {
		return err
	}
	if _, err = auth.AuthorizeOwner(ctx, auth.ExecutionCancel, auth.ExecutionCancelAny, task.row.ProjectID, task.row.SubmittedBy, query.Absent(t.Execution)); err != nil {
		return err
	}
	if task.node.State == dag.Cancelled {
		return nil
	}
	if err := task.current(t); err != nil {
		return err
	}
	return s.order(ctx, task, "node.cancel", db.OrderNodeParams{Cancel: true, Reason: clean(reason, maxMessage)})
}

// NodeOrder changes the request of a waiting node: its priority, or its resources to less than
// the operator declares. Nil and 0 change nothing.
type NodeOrder struct {
	Priority                   *query.Priority
	CPUMillis, MemoryMiB, GPUs int
	Reason                     string
}

// Scheduled is the result of a NodeOrder: whether the node is in the queue now, and if not,
// why.
type Scheduled struct {
	Queued bool
	Reason string
}

// ScheduleNode gives a node that has not begun another priority or a smaller request. It
// returns Invalid with fields for amounts above the operator's, Conflict for a node that has
// begun or ended, and Forbidden for the execution of another user without the permission.
func (s *CommandService) ScheduleNode(ctx context.Context, t TaskRef, o NodeOrder) (Scheduled, error) {
	task, err := s.task(ctx, t)
	if err != nil {
		return Scheduled{}, err
	}
	if _, err = auth.AuthorizeOwner(ctx, auth.ExecutionLaunch, auth.ExecutionCancelAny, task.row.ProjectID, task.row.SubmittedBy, query.Absent(t.Execution)); err != nil {
		return Scheduled{}, err
	}
	if err := o.check(task.operator); err != nil {
		return Scheduled{}, err
	}
	if err := task.current(t); err != nil {
		return Scheduled{}, err
	}
	answer := Scheduled{Queued: true}
	switch state := task.node.State; {
	case state.Active():
		return Scheduled{Reason: "The node is already running."}, nil
	case state == dag.Pending:
		answer = Scheduled{Reason: "The node is queued when its dependencies succeed."}
	case state == dag.Retrying:
		answer = Scheduled{Reason: "The node is queued at the time of its next attempt."}
	}
	if o.empty() {
		return answer, nil
	}
	params := db.OrderNodeParams{Reason: clean(o.Reason, maxMessage), CpuMillis: positive(o.CPUMillis), MemoryMib: positive(o.MemoryMiB), Gpus: positive(o.GPUs)}
	if o.Priority != nil {
		params.Priority = new(int32(*o.Priority)) //nolint:gosec // 0 to 100
	}
	return answer, s.order(ctx, task, "node.schedule", params)
}

func (o NodeOrder) empty() bool {
	return o.Priority == nil && o.CPUMillis == 0 && o.MemoryMiB == 0 && o.GPUs == 0
}

// check compares an order with what the operator declares.
func (o NodeOrder) check(op *workflow.Operator) error {
	var fields []apperr.Field
	if o.Priority != nil && (*o.Priority < 0 || *o.Priority > query.MaxPriority) {
		fields = append(fields, apperr.Field{Path: "priority", Message: fmt.Sprintf("Enter a priority from 0 to %d.", query.MaxPriority)})
	}
	for _, amount := range []struct {
		path                string
		requested, declared int
		unit                string
	}{
		{"resources.cpu", o.CPUMillis, op.Resources.CPUMillis, "m"},
		{"resources.memory", o.MemoryMiB, op.Resources.MemoryMiB, " MiB"},
		{"resources.gpu", o.GPUs, op.Resources.GPUs, ""},
	} {
		if amount.requested < 0 || amount.requested > amount.declared {
			fields = append(fields, apperr.Field{
				Path: amount.path, Message: fmt.Sprintf("%s declares %d%s. A task can request less, but not %d%s.", op.Name, amount.declared, amount.unit, amount.requested, amount.unit),
			})
		}
	}
	return apperr.InvalidFields("The scheduling request has invalid values.", fields)
}

func positive(n int) *int32 {
	if n <= 0 {
		return nil
	}
	return new(int32(n)) //nolint:gosec // at most what an operator declares
}

// task is a node with its execution and version.
type task struct {
	row      db.Execution
	node     query.Node
	operator *workflow.Operator
}

// task loads the task that t identifies.
func (s *CommandService) task(ctx context.Context, t TaskRef) (task, error) {
	row, err := s.rows.Execution(ctx, t.Execution)
	if err != nil {
		return task{}, err
	}
	node, op, err := s.rows.NodeAt(ctx, row, t.Node)
	if err != nil {
		return task{}, err
	}
	return task{row, query.NodeFrom(node), op}, nil
}

// current returns Conflict when the node, or the attempt that t names, has ended.
func (k task) current(t TaskRef) error {
	if k.node.State.Ended() {
		return apperr.New(apperr.Conflict, "The node %s has already ended.", k.node.Name)
	}
	next := k.node.Attempt
	if !k.node.State.Active() {
		next++ // the attempt that it waits for
	}
	if t.Attempt != 0 && t.Attempt != next {
		return apperr.New(apperr.Conflict, "The node %s is already at attempt %d.", k.node.Name, next)
	}
	return nil
}

// order writes an order for a node and requests a drive of the execution.
func (s *CommandService) order(ctx context.Context, k task, action string, p db.OrderNodeParams) error {
	subject, _ := auth.SubjectOf(ctx)
	p.ExecutionID, p.NodeIndex, p.OrderedBy, p.OrderedAt = k.row.ID, int32(k.node.Index), subject.Name, s.now() //nolint:gosec // an index of the plan
	err := db.Tx(ctx, s.pool, func(tx pgx.Tx, q *db.Queries) error {
		written, err := q.OrderNode(ctx, p)
		if err != nil {
			return fmt.Errorf("order: %w", err)
		}
		if written == 0 {
			return apperr.New(apperr.Conflict, "The execution has already ended.")
		}
		err = audit.Record(ctx, q, audit.Entry{
			Action: action, Kind: "node", ID: fmt.Sprintf("%s.%d", k.row.ID, k.node.Index), Name: k.node.Name,
			TenantID: k.row.TenantID, ProjectID: k.row.ProjectID, Old: map[string]any{"status": k.node.State}, New: ordered(p), Reason: p.Reason,
		})
		if err != nil {
			return err
		}
		return s.requestDrive(ctx, tx, q, k.row.ID)
	})
	if err != nil {
		return err
	}
	s.sendMessage(k.row.ID, message{reports: true})
	s.changed(k.row.ID)
	return nil
}

// ordered is the audit log entry of an order.
func ordered(p db.OrderNodeParams) map[string]any {
	changes := map[string]any{}
	for name, v := range map[string]*int32{"priority": p.Priority, "cpu_millis": p.CpuMillis, "memory_mib": p.MemoryMib, "gpus": p.Gpus} {
		if v != nil {
			changes[name] = *v
		}
	}
	if p.Cancel {
		changes["cancel"] = true
	}
	return changes
}

// QueueStatus counts the waiting nodes by priority, and the nodes that are being started or
// run.
type QueueStatus struct {
	High, Normal, Low, Processing int
}

// QueueStatus returns the counts of those projects of a tenant that the caller may read;
// uuid.Nil is the tenant of the caller's project. It returns NotFound for a tenant without
// such projects.
func (s *CommandService) QueueStatus(ctx context.Context, tenant uuid.UUID) (QueueStatus, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return QueueStatus{}, err
	}
	if tenant == uuid.Nil {
		tenant = subject.TenantID
	}
	if tenant != subject.TenantID && !subject.May(auth.ExecutionRead, tenant) {
		return QueueStatus{}, apperr.New(apperr.NotFound, "There is no tenant %s.", tenant)
	}
	rows, err := s.queries.QueueCounts(ctx, tenant)
	if err != nil {
		return QueueStatus{}, fmt.Errorf("count the queue of %s: %w", tenant, err)
	}
	var status QueueStatus
	for _, r := range rows {
		if !subject.May(auth.ExecutionRead, r.ProjectID) {
			continue
		}
		switch n := int(r.Waiting); {
		case query.Priority(r.Priority) > query.Normal:
			status.High += n
		case query.Priority(r.Priority) < query.Normal:
			status.Low += n
		default:
			status.Normal += n
		}
		status.Processing += int(r.Active)
	}
	return status, nil
}
