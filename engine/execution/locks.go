package execution

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/engine/workflow"
)

// ReasonLock is the code of a node, or of an execution, that waits for a mutex, a
// semaphore, or a place among the executions of its workflow.
const ReasonLock = "LOCK"

// lockFresh is how long a waiter counts after it was last seen. A loop looks again
// every readyRecheck.
const lockFresh = time.Minute

// locking is what a loop knows of its locks, beside what its nodes hold.
type locking struct {
	locked   bool                 // the execution holds its own locks
	unlocked []int                // nodes that wait for locks
	limits   map[string]lockLimit // that ConfigMaps have
}

// needsLocks reports whether node i has to take locks before anything else. Of a
// fan-out each item takes them.
func (l *loop) needsLocks(i int) bool {
	return len(l.operator(i).Locks) > 0 && !l.nodes[i].locked && !l.fansOut(i)
}

// takeLocks takes the locks of those nodes that wait for them, and of the execution
// itself when it has not begun. What got its locks asks for capacity in this flush.
func (l *loop) takeLocks(ctx context.Context, q *db.Queries) error {
	if err := l.takeOwnLocks(ctx, q); err != nil {
		return err
	}
	waiting := l.batch.locking
	l.batch.locking = nil
	for _, i := range waiting {
		if l.progress.State(i) != dag.Ready || l.nodes[i].locked || !l.canStart(i) {
			continue
		}
		reason, err := l.takeAll(ctx, q, i, l.operator(i).Locks, *l.nodes[i].readyAt)
		if err != nil {
			return err
		}
		if reason == nil {
			l.touch(i)
			l.nodes[i].locked = true
			if before := l.nodes[i].reason; before != nil && before.Code == ReasonLock {
				l.nodes[i].reason = nil
			}
			l.ask(i)
			continue
		}
		l.unlocked = append(l.unlocked, i)
		if before := l.nodes[i].reason; before == nil || before.Message != reason.Message {
			l.touch(i)
			l.nodes[i].reason = reason
			l.nodeEvent(i, l.service.now(), "node.waiting", reason.Message, map[string]any{"code": reason.Code})
		}
	}
	return nil
}

// takeOwnLocks takes what the execution as a whole needs.
func (l *loop) takeOwnLocks(ctx context.Context, q *db.Queries) error {
	own := l.version.Definition.ExecutionLocks()
	if l.status != Pending || l.locked || l.paused || len(own) == 0 {
		return nil
	}
	reason, err := l.takeAll(ctx, q, fair.ExecutionItself, own, l.row.CreatedAt)
	if err != nil {
		return err
	}
	if reason == nil {
		l.locked = true
		l.batch.offers = true
		return nil
	}
	if l.waits == nil || l.waits.Message != reason.Message {
		l.event(eventRow{At: l.service.now(), Kind: "execution.waiting", Message: reason.Message, Data: mustJSON(map[string]any{"code": reason.Code})})
	}
	l.waits = reason
	return nil
}

// mayEnter reports whether the execution has the locks that it needs to begin.
func (l *loop) mayEnter() bool {
	return l.locked || len(l.version.Definition.ExecutionLocks()) == 0
}

// takeAll takes all of several locks, in the order of their names, or none: then it
// says which one is missing, and stands in line for it.
func (l *loop) takeAll(ctx context.Context, q *db.Queries, node int, wanted []workflow.Lock, since time.Time) (*Reason, error) {
	now := l.service.now()
	index, priority := int32(node), l.row.Priority //nolint:gosec // at most maxNodes
	for _, lock := range wanted {
		if err := q.HoldLockName(ctx, l.row.ProjectID.String()+"/"+lock.Name); err != nil {
			return nil, fmt.Errorf("look at lock %s: %w", lock.Name, err)
		}
		state, err := q.LockState(ctx, db.LockStateParams{
			ProjectID: l.row.ProjectID, Name: lock.Name, Fresh: now.Add(-lockFresh), ExecutionID: l.id, NodeIndex: index, Priority: priority, Since: since,
		})
		if err != nil {
			return nil, fmt.Errorf("read lock %s: %w", lock.Name, err)
		}
		permits, problem := l.permitsOf(lock)
		if state.Permits > 0 && !lock.OfWorkflow() {
			permits, problem = int(state.Permits), ""
		}
		if int(state.Held+state.Ahead) < permits {
			continue
		}
		if err := q.WaitForLock(ctx, db.WaitForLockParams{
			ProjectID: l.row.ProjectID, Name: lock.Name, ExecutionID: l.id, NodeIndex: index, Priority: priority, Since: since, SeenAt: now,
		}); err != nil {
			return nil, fmt.Errorf("wait for lock %s: %w", lock.Name, err)
		}
		if problem != "" {
			return &Reason{Code: ReasonLock, Message: fmt.Sprintf("Waits for the semaphore %s, whose permits are not known: %s", lock.Name, problem)}, nil
		}
		return l.lockReason(ctx, q, lock, permits, int(state.Ahead))
	}
	for _, lock := range wanted {
		if err := q.TakeLock(ctx, db.TakeLockParams{ProjectID: l.row.ProjectID, Name: lock.Name, ExecutionID: l.id, NodeIndex: index, HeldSince: now}); err != nil {
			return nil, fmt.Errorf("take lock %s: %w", lock.Name, err)
		}
	}
	if err := q.WaitNoMore(ctx, l.id, []int32{index}); err != nil {
		return nil, fmt.Errorf("leave the line: %w", err)
	}
	return nil, nil //nolint:nilnil // no reason to wait
}

// lockReason says for what a node waits, and who has it.
func (l *loop) lockReason(ctx context.Context, q *db.Queries, lock workflow.Lock, permits, ahead int) (*Reason, error) {
	text := fmt.Sprintf("Waits for the mutex %s", lock.Name)
	switch {
	case lock.OfWorkflow():
		text = fmt.Sprintf("Waits because the workflow runs %d executions at once", permits)
	case permits > 1:
		text = fmt.Sprintf("Waits for the semaphore %s, all %d permits of which are taken", lock.Name, permits)
	}
	holder, err := q.LockHolder(ctx, l.row.ProjectID, lock.Name)
	switch {
	case db.IsNoRows(err):
	case err != nil:
		return nil, fmt.Errorf("holder of %s: %w", lock.Name, err)
	case holder.NodeName != "":
		text += fmt.Sprintf("; %s of %s (%s) holds it longest", holder.NodeName, holder.WorkflowName, holder.ExecutionID)
	default:
		text += fmt.Sprintf("; %s (%s) holds it longest", holder.WorkflowName, holder.ExecutionID)
	}
	switch {
	case ahead == 1:
		text += "; 1 goes before"
	case ahead > 1:
		text += fmt.Sprintf("; %d go before", ahead)
	}
	return &Reason{Code: ReasonLock, Message: text + "."}, nil
}

// releaseLocks gives back what ended nodes held, and those that a breaker keeps back,
// and at the end everything. It returns the executions that wait for it.
func (l *loop) releaseLocks(ctx context.Context, q *db.Queries) ([]uuid.UUID, error) {
	var nodes []int32
	for i := range l.batch.nodes {
		n := &l.nodes[i]
		state := l.progress.State(i)
		_, withheld := l.withheld[i]
		over := !state.Active() && state != dag.Ready || state == dag.Ready && withheld
		if len(n.op.Locks) > 0 && over && (n.locked || slices.Contains(l.unlocked, i)) {
			n.locked = false
			nodes = append(nodes, int32(i)) //nolint:gosec // at most maxNodes
		}
	}
	if len(nodes) == 0 && !(l.batch.finished && l.usesLocks()) {
		return nil, nil
	}
	waiting, err := q.ReleaseLocks(ctx, l.id, l.batch.finished, nodes)
	if err != nil {
		return nil, fmt.Errorf("release locks: %w", err)
	}
	return waiting, nil
}

// usesLocks reports whether the definition names any lock.
func (l *loop) usesLocks() bool {
	if len(l.version.Definition.ExecutionLocks()) > 0 {
		return true
	}
	for _, op := range l.version.Definition.EveryOperator() {
		if len(op.Locks) > 0 {
			return true
		}
	}
	return false
}

// loadLocks takes up which locks are held.
func (l *loop) loadLocks(ctx context.Context) error {
	if !l.usesLocks() {
		return nil
	}
	held, err := l.service.queries.LocksOf(ctx, l.id)
	if err != nil {
		return fmt.Errorf("load locks: %w", err)
	}
	for _, i := range held {
		if i == fair.ExecutionItself {
			l.locked = true
		} else if int(i) < len(l.nodes) {
			l.nodes[i].locked = true
		}
	}
	return nil
}

// lockAgain makes those that wait for locks look again.
func (l *loop) lockAgain() {
	for _, i := range l.unlocked {
		if l.progress.State(i) == dag.Ready {
			l.batch.locking = append(l.batch.locking, i)
		}
	}
	l.unlocked = nil
	l.batch.offers = l.batch.offers || l.status == Pending && !l.mayEnter()
}
