package execution

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/engine/workflow"
)

// ReasonLock is the code of a node, or of an execution, that waits for a mutex, a semaphore,
// or the concurrency limit of its workflow.
const ReasonLock = "LOCK"

// lockWaiterTTL is how long a waiter counts after its last check. A loop checks every
// readyRecheck.
const lockWaiterTTL = time.Minute

// locks takes and releases mutexes, semaphores and the execution's permit of its workflow.
type locks struct {
	feature

	held    bool                 // the execution holds its own locks
	waiting []int                // nodes that wait for locks
	limits  map[string]lockLimit // from ConfigMaps
	freed   []uuid.UUID          // executions that wait for locks which the flush released

	part locksPart
}

type locksPart struct {
	requests []int // nodes that want to take their locks
}

func (k *locks) pending() bool { return len(k.part.requests) > 0 }

func (k *locks) reset() { k.part = locksPart{} }

// requestLocks takes the locks of node i with the next flush.
func (k *locks) requestLocks(i int) { k.part.requests = append(k.part.requests, i) }

// wakeWaiters wakes the executions that wait for locks which the last flush released.
func (k *locks) wakeWaiters() {
	for _, id := range k.freed {
		k.loop.driver.sendMessage(id, message{})
	}
	k.freed = nil
}

// needs reports whether node i has to take locks before anything else. In a fan-out each
// item takes them.
func (k *locks) needs(i int) bool {
	return len(k.loop.operator(i).Locks) > 0 && !k.loop.nodes[i].locked && !k.loop.groups.fansOut(i)
}

// take takes the locks of the waiting nodes, and of the execution itself when it has not
// begun. Nodes that get their locks request capacity in this flush.
func (k *locks) take(ctx context.Context, q *db.Queries) error {
	if err := k.holdNames(ctx, q); err != nil {
		return err
	}
	if err := k.acquireExecutionLocks(ctx, q); err != nil {
		return err
	}
	waiting := k.part.requests
	k.part.requests = nil
	for _, i := range waiting {
		if k.loop.progress.State(i) != dag.Ready || k.loop.nodes[i].locked || !k.loop.ready.canStart(i) {
			continue
		}
		reason, err := k.acquireAll(ctx, q, i, k.loop.operator(i).Locks, *k.loop.nodes[i].readyAt)
		if err != nil {
			return err
		}
		if reason == nil {
			k.loop.batch.touch(i)
			k.loop.nodes[i].locked = true
			if before := k.loop.nodes[i].reason; before != nil && before.Code == ReasonLock {
				k.loop.nodes[i].reason = nil
			}
			k.loop.ready.requestCapacity(i)
			continue
		}
		k.waiting = append(k.waiting, i)
		if before := k.loop.nodes[i].reason; before == nil || before.Message != reason.Message {
			k.loop.batch.touch(i)
			k.loop.nodes[i].reason = reason
			k.loop.batch.nodeEvent(i, k.loop.driver.now(), query.EventNodeWaiting, reason.Message, map[string]any{"code": reason.Code})
		}
	}
	return nil
}

// holdNames serializes this flush with all others that check the same locks. It holds the names in
// their order, before the first check: flushes that hold them node by node could wait for each other.
func (k *locks) holdNames(ctx context.Context, q *db.Queries) error {
	names := map[string]struct{}{}
	for _, lock := range k.missingExecutionLocks() {
		names[lock.Name] = struct{}{}
	}
	for _, i := range k.part.requests {
		for _, lock := range k.loop.operator(i).Locks {
			names[lock.Name] = struct{}{}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if err := q.HoldLockName(ctx, k.loop.row.ProjectID.String()+"/"+name); err != nil {
			return fmt.Errorf("hold lock %s: %w", name, err)
		}
	}
	return nil
}

// missingExecutionLocks returns the locks that the execution as a whole takes with this flush.
func (k *locks) missingExecutionLocks() []workflow.Lock {
	if k.loop.status != query.Pending || k.held || k.loop.commands.paused {
		return nil
	}
	return k.loop.version.Definition.ExecutionLocks()
}

// acquireExecutionLocks takes the locks of the execution as a whole.
func (k *locks) acquireExecutionLocks(ctx context.Context, q *db.Queries) error {
	own := k.missingExecutionLocks()
	if len(own) == 0 {
		return nil
	}
	reason, err := k.acquireAll(ctx, q, fair.ExecutionItself, own, k.loop.row.CreatedAt)
	if err != nil {
		return err
	}
	if reason == nil {
		k.held = true
		k.loop.admission.expectOffer()
		return nil
	}
	if k.loop.admission.waitReason == nil || k.loop.admission.waitReason.Message != reason.Message {
		k.loop.batch.event(eventRow{At: k.loop.driver.now(), Kind: query.EventExecutionWaiting, Message: reason.Message, Data: mustJSON(map[string]any{"code": reason.Code})})
	}
	k.loop.admission.waitReason = reason
	return nil
}

// hasExecutionLocks reports whether the execution has the locks that it needs to begin.
func (k *locks) hasExecutionLocks() bool {
	return k.held || len(k.loop.version.Definition.ExecutionLocks()) == 0
}

// acquireAll takes all of several locks, whose names the flush holds, or none: then it returns the
// reason of the first missing lock, and queues for it.
func (k *locks) acquireAll(ctx context.Context, q *db.Queries, node int, requests []workflow.Lock, since time.Time) (*query.Reason, error) {
	now := k.loop.driver.now()
	index, priority := int32(node), k.loop.row.Priority //nolint:gosec // at most maxNodes
	for _, lock := range requests {
		state, err := q.LockState(ctx, db.LockStateParams{
			ProjectID: k.loop.row.ProjectID, Name: lock.Name, Fresh: now.Add(-lockWaiterTTL), ExecutionID: k.loop.id, NodeIndex: index, Priority: priority, Since: since,
		})
		if err != nil {
			return nil, fmt.Errorf("read lock %s: %w", lock.Name, err)
		}
		permits, problem := k.permitsOf(lock)
		if state.Permits > 0 && !lock.OfWorkflow() {
			permits, problem = int(state.Permits), ""
		}
		if int(state.Held+state.Ahead) < permits {
			continue
		}
		if err := q.WaitForLock(ctx, db.WaitForLockParams{
			ProjectID: k.loop.row.ProjectID, Name: lock.Name, ExecutionID: k.loop.id, NodeIndex: index, Priority: priority, Since: since, SeenAt: now,
		}); err != nil {
			return nil, fmt.Errorf("wait for lock %s: %w", lock.Name, err)
		}
		if problem != "" {
			return &query.Reason{Code: ReasonLock, Message: fmt.Sprintf("Waiting for the semaphore %s, whose number of permits is unknown: %s", lock.Name, problem)}, nil
		}
		return k.waitReason(ctx, q, lock, permits, int(state.Ahead))
	}
	for _, lock := range requests {
		if err := q.TakeLock(ctx, db.TakeLockParams{ProjectID: k.loop.row.ProjectID, Name: lock.Name, ExecutionID: k.loop.id, NodeIndex: index, HeldSince: now}); err != nil {
			return nil, fmt.Errorf("take lock %s: %w", lock.Name, err)
		}
	}
	if err := q.WaitNoMore(ctx, k.loop.id, []int32{index}); err != nil {
		return nil, fmt.Errorf("leave the queue of a lock: %w", err)
	}
	return nil, nil //nolint:nilnil // no reason to wait
}

// waitReason describes the lock for which a node waits, and its holder.
func (k *locks) waitReason(ctx context.Context, q *db.Queries, lock workflow.Lock, permits, ahead int) (*query.Reason, error) {
	text := fmt.Sprintf("Waiting for the mutex %s", lock.Name)
	switch {
	case lock.OfWorkflow():
		text = fmt.Sprintf("Waiting because the workflow has reached its limit of concurrent executions (%d)", permits)
	case permits > 1:
		text = fmt.Sprintf("Waiting for the semaphore %s (%[2]d of %[2]d permits in use)", lock.Name, permits)
	}
	holder, err := q.LockHolder(ctx, k.loop.row.ProjectID, lock.Name)
	switch {
	case db.IsNoRows(err):
	case err != nil:
		return nil, fmt.Errorf("holder of %s: %w", lock.Name, err)
	case holder.NodeName != "":
		text += fmt.Sprintf("; %s of %s (%s) has held it longest", holder.NodeName, holder.WorkflowName, holder.ExecutionID)
	default:
		text += fmt.Sprintf("; %s (%s) has held it longest", holder.WorkflowName, holder.ExecutionID)
	}
	switch {
	case ahead == 1:
		text += "; 1 waiter is ahead"
	case ahead > 1:
		text += fmt.Sprintf("; %d waiters are ahead", ahead)
	}
	return &query.Reason{Code: ReasonLock, Message: text + "."}, nil
}

// write releases the locks of ended nodes, and of nodes that a breaker withholds; at the end
// of the execution, all locks.
func (k *locks) write(ctx context.Context, q *db.Queries) (err error) {
	var nodes []int32
	for i := range k.loop.batch.nodes {
		n := &k.loop.nodes[i]
		state := k.loop.progress.State(i)
		_, withheld := k.loop.breakers.withheld[i]
		over := !state.Active() && state != dag.Ready || state == dag.Ready && withheld
		if len(n.op.Locks) > 0 && over && (n.locked || slices.Contains(k.waiting, i)) {
			n.locked = false
			nodes = append(nodes, int32(i)) //nolint:gosec // at most maxNodes
		}
	}
	if len(nodes) == 0 && !(k.loop.batch.finished && k.used()) {
		return nil
	}
	k.freed, err = q.ReleaseLocks(ctx, k.loop.id, k.loop.batch.finished, nodes)
	if err != nil {
		return fmt.Errorf("release locks: %w", err)
	}
	return nil
}

// used reports whether the definition names any lock.
func (k *locks) used() bool {
	if len(k.loop.version.Definition.ExecutionLocks()) > 0 {
		return true
	}
	for _, op := range k.loop.version.Definition.EveryOperator() {
		if len(op.Locks) > 0 {
			return true
		}
	}
	return false
}

// restore loads which locks the execution and its nodes have.
func (k *locks) restore(ctx context.Context) error {
	if !k.used() {
		return nil
	}
	held, err := k.loop.driver.queries.LocksOf(ctx, k.loop.id)
	if err != nil {
		return fmt.Errorf("load locks: %w", err)
	}
	for _, i := range held {
		if i == fair.ExecutionItself {
			k.held = true
		} else if int(i) < len(k.loop.nodes) {
			k.loop.nodes[i].locked = true
		}
	}
	return nil
}

// recheck makes the nodes that wait for locks check them again.
func (k *locks) recheck() {
	for _, i := range k.waiting {
		if k.loop.progress.State(i) == dag.Ready {
			k.part.requests = append(k.part.requests, i)
		}
	}
	k.waiting = nil
	if k.loop.status == query.Pending && !k.hasExecutionLocks() {
		k.loop.admission.expectOffer()
	}
}
