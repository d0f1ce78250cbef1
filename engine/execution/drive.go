package execution

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/engine/workflow"
)

// errFenced means that another loop owns the execution.
var errFenced = errors.New("the lease is lost")

// Driver drives executions: it owns their loops and leases, and finds executions and attempts
// that nothing else takes care of.
type Driver struct {
	*core

	supervisor *Supervisor
	configMaps *configMaps
	past       *pastResults
	since      atomic.Pointer[time.Time] // when this process began to reconcile
	term       atomic.Int64              // of the scheduler's lease; 0 without one
}

// Drive owns one execution until nothing in it can move, and returns. It returns nil
// immediately when another loop drives it or when it has ended. The drive job calls it.
func (s *Driver) Drive(ctx context.Context, id uuid.UUID) error {
	if s.live.isDraining() || s.live.wakeLoop(id) {
		return nil
	}
	// Many executions may load at once, each with several statements that wait for connections.
	loading, loaded := s.live.untilDrained(ctx)
	defer loaded()
	s.holds.wait(loading, id)
	row, err := s.queries.AcquireLease(loading, s.owner, s.config.Timing.Lease.Seconds(), id, s.term.Load())
	if db.IsNoRows(err) || err != nil && s.live.isDraining() { // the next driver takes over
		return nil
	}
	if err != nil {
		return fmt.Errorf("acquire %s: %w", id, err)
	}
	ctx = auth.AsSystemIn(ctx, row.TenantID, row.ProjectID)
	s.config.Crash("drive.acquired")
	l, err := s.resume(auth.AsSystemIn(loading, row.TenantID, row.ProjectID), row)
	if s.live.isDraining() {
		s.release(ctx, id, row.OwnerEpoch, s.now())
		return nil
	}
	if err != nil {
		s.release(ctx, id, row.OwnerEpoch, s.now().Add(loadRetry))
		return fmt.Errorf("load %s: %w", id, err)
	}
	loaded()
	l.launches.starter, l.admission.requestedAt = newStarter(s, id), s.now()
	l.launches.unsure.Store(true)
	if !s.live.add(l) {
		l.launches.starter.close()
		s.release(ctx, id, row.OwnerEpoch, s.now())
		return nil
	}
	err = l.drive(ctx)
	if errors.Is(err, errFenced) {
		return nil
	}
	if err != nil {
		s.release(ctx, id, row.OwnerEpoch, s.now())
		if ctx.Err() == nil {
			s.config.Logger.Error("An execution could not be driven; the drive is retried.", "execution", id, "error", err)
		}
		return fmt.Errorf("drive %s: %w", id, err)
	}
	return nil
}

// drive drives the execution and closes the loop. A panic ends the loop like an error: this process would
// otherwise renew its lease, and nothing would drive the execution.
func (l *loop) drive(ctx context.Context) (err error) {
	defer l.close()
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	if err := l.takeOver(ctx); err != nil {
		return err
	}
	if err := l.fillInputs(ctx); err != nil {
		return err
	}
	return l.run(ctx)
}

// loadRetry is the pause after an execution could not be loaded.
const loadRetry = 10 * time.Second

// Drain makes every drive loop write its changes and return, and keeps new ones from
// starting. Reports that arrive later are stored for the next loop.
func (s *Driver) Drain() { s.live.drain() }

// release releases a lease after a failure. If this fails too, the lease expires.
func (s *Driver) release(ctx context.Context, id uuid.UUID, epoch int64, wakeAt time.Time) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	err := s.queries.ReleaseLease(ctx, &wakeAt, id, s.owner, epoch)
	if err != nil {
		s.config.Logger.Warn("release a lease", "execution", id, "error", err)
	}
}

const releaseTimeout = 2 * time.Second

// resume returns a loop for the execution that was just acquired: the idle loop of this
// process if no other loop drove the execution since, or a new one built from the rows.
func (s *Driver) resume(ctx context.Context, row db.Execution) (*loop, error) {
	if l, ok := s.live.takeIdle(row.ID); ok && l.epoch+1 == row.OwnerEpoch {
		l.epoch, l.drained = row.OwnerEpoch, s.live.drainedSignal()
		l.cancelled = row.CancelRequestedAt != nil
		l.cancelReason = row.CancelReason
		l.resetAll()
		l.locks.waiting = nil
		if l.status == query.Pending {
			l.admission.expectOffer()
		}
		for i := range l.nodes {
			switch l.progress.State(i) {
			case dag.Ready:
				l.requestCapacity(i)
			case dag.Queued:
				// Submitted attempts are in the cluster even if this process stops.
				if !s.config.Cluster || !l.launches.settled {
					l.launches.markUncertain(i)
				}
			case dag.Pending, dag.Running, dag.Retrying, dag.Succeeded, dag.Failed, dag.Skipped, dag.Cancelled:
			}
		}
		return l, nil
	}
	return s.load(ctx, row)
}

// load builds a loop from the rows.
func (s *Driver) load(ctx context.Context, row db.Execution) (*loop, error) {
	version, err := s.workflows.VersionByID(ctx, row.VersionID)
	if err != nil {
		return nil, fmt.Errorf("load version: %w", err)
	}
	rows, err := s.queries.LoadNodes(ctx, row.ID)
	if err != nil {
		return nil, fmt.Errorf("load nodes: %w", err)
	}
	l := newLoop(s, row, version)
	if err := l.loadNodes(rows); err != nil {
		return nil, err
	}
	if l.cancelled {
		l.progress.Halt(dag.Root, true)
	}
	if l.expected, err = s.estimates.Of(ctx, row.WorkflowID); err != nil {
		return nil, err
	}
	l.setTimeout()
	if err := l.restoreAll(ctx); err != nil {
		return nil, err
	}
	if l.status == query.Pending {
		return l, nil
	}
	if err := l.ends.loadMemory(ctx); err != nil {
		return nil, err
	}
	if err := l.settleOperators(ctx); err != nil {
		return nil, err
	}
	for i := range l.nodes {
		l.restoreNode(i, l.progress.State(i))
		l.streams.restoreRecall(i)
	}
	return l, l.loadAttempts(ctx)
}

// takeOver applies what arrived while no loop drove the execution, and starts queued
// attempts again, because their start may not have been carried out. The order prevents an
// attempt from running twice: the loop is registered, so that after the lock no report is
// stored besides it, and it takes no message before the launcher has answered, so that a
// runner that knows an attempt still knows it when it is asked to start it again.
func (l *loop) takeOver(ctx context.Context) error {
	if err := l.catchUp(ctx); err != nil {
		return err
	}
	return l.launches.startAgain(ctx)
}

// catchUp applies the stored reports, once no process stores further ones.
func (l *loop) catchUp(ctx context.Context) error {
	holds, err := l.driver.queries.LockDriven(ctx, l.driver.term.Load(), l.id)
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	if !holds {
		l.driver.release(ctx, l.id, l.epoch, l.driver.now())
		return errFenced
	}
	return l.loadAllUpdates(ctx)
}

// restoreNode restores what a state requires besides the state itself.
func (l *loop) restoreNode(i int, state dag.State) {
	if state == dag.Ready || state == dag.Retrying || state.Active() {
		l.sensors.watch(i)
	}
	switch state {
	case dag.Ready:
		l.requestCapacity(i)
	case dag.Retrying:
		l.timers.add(i, *l.nodes[i].retryAt)
		if l.nodes[i].overBudget() { // the budget may have changed since
			l.timers.add(i, l.driver.now())
		}
	case dag.Failed:
		if l.progress.Unhandled(i) && (l.failure == nil || l.nodes[i].finishedAt.Before(l.failedAt)) {
			l.failure, l.failedAt = l.nodes[i].failure, *l.nodes[i].finishedAt
		}
	case dag.Queued:
		l.launches.markUncertain(i)
	case dag.Running:
		if l.operator(i).Type == workflow.TypeApproval && !l.groups.fansOut(i) {
			l.commands.setDeadline(i)
		}
		if l.operator(i).Awaits() && !l.groups.fansOut(i) {
			l.timers.add(i, l.driver.now())
		}
	case dag.Pending, dag.Succeeded, dag.Skipped, dag.Cancelled:
	}
}

// loadAttempts finds which queued attempts have begun while no loop drove, and the capacity
// that the live attempts use.
func (l *loop) loadAttempts(ctx context.Context) error {
	held, err := l.driver.queries.ReservationsOf(ctx, l.id)
	if err != nil {
		return fmt.Errorf("load reservations: %w", err)
	}
	foreign := map[int]bool{}
	for _, r := range held {
		if r.NodeIndex == fair.ExecutionItself {
			l.admission.admitted = true
			continue
		}
		i := int(r.NodeIndex)
		n := &l.nodes[i]
		n.reserved = fair.Amount{
			CPUMillis: int(r.CpuMillis), MemoryMiB: int(r.MemoryMib), GPUs: int(r.Gpus), GPUType: r.GpuType, Pods: int(r.Pods),
		}
		n.machine, n.devices = r.Machine, make([]int, len(r.Devices))
		for k, d := range r.Devices {
			n.devices[k] = int(d)
		}
		foreign[i] = r.Launcher != l.driver.config.LauncherName
	}
	started, err := l.driver.queries.StartedAttempts(ctx, l.id)
	if err != nil {
		return fmt.Errorf("load attempts: %w", err)
	}
	for _, a := range started {
		l.ends.applyStarted(message{node: int(a.NodeIndex), attempt: int(a.Attempt), begun: &startedRow{At: *a.StartedAt, Host: a.Host}})
		foreign[int(a.NodeIndex)] = true
	}
	l.launches.uncertain = slices.DeleteFunc(l.launches.uncertain, func(i int) bool { return foreign[i] })
	return nil
}

// loadUpdates applies what other processes have stored for this loop.
func (l *loop) loadUpdates(ctx context.Context) error {
	if l.progress.Count(dag.Queued) > 0 {
		started, err := l.driver.queries.StartedAttempts(ctx, l.id)
		if err != nil {
			return fmt.Errorf("load attempts: %w", err)
		}
		for _, a := range started {
			l.ends.applyStarted(message{node: int(a.NodeIndex), attempt: int(a.Attempt), begun: &startedRow{At: *a.StartedAt, Host: a.Host}})
		}
	}
	return l.loadAllUpdates(ctx)
}

// releaseLease releases the lease when nothing is left to do. It reports false when a report
// arrived in the meantime, and the loop has to continue.
func (l *loop) releaseLease(ctx context.Context) (bool, error) {
	if !l.driver.live.removeIdle(l) {
		return false, nil
	}
	l.driver.config.Crash("rest.before_release")
	released := false
	err := db.Tx(ctx, l.driver.pool, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.LockExecution(ctx, l.id)
		if err != nil {
			return err
		}
		if row.Owner != l.driver.owner || row.OwnerEpoch != l.epoch {
			return errFenced
		}
		waiting, err := q.HasReports(ctx, l.id)
		if err == nil && !waiting && l.progress.Count(dag.Queued) > 0 {
			started, readErr := q.StartedWhileQueued(ctx, l.id)
			waiting, err = len(started) > 0, readErr
		}
		if err != nil || waiting || (row.CancelRequestedAt != nil && !l.cancelled) {
			l.cancelled = l.cancelled || row.CancelRequestedAt != nil
			return err
		}
		released = true
		return q.ReleaseLease(ctx, l.wakeAt(), l.id, l.driver.owner, l.epoch)
	})
	if err != nil {
		return false, err
	}
	if released {
		l.driver.config.Crash("rest.released")
		l.driver.live.keepIdle(l)
		return true, nil
	}
	if !l.driver.live.add(l) {
		return false, errFenced
	}
	return false, l.catchUp(ctx)
}

// wakeAt is when an idle execution must be checked without an event.
func (l *loop) wakeAt() *time.Time {
	var at *time.Time
	if due, ok := l.timers.next(); ok {
		at = &due
	}
	if l.driver.live.isDraining() {
		now := l.driver.now()
		return &now
	}
	if !l.commands.paused && (l.progress.Count(dag.Ready) > 0 || l.status == query.Pending) {
		again := l.driver.now().Add(readyRecheck)
		if at == nil || again.Before(*at) {
			at = &again
		}
	}
	return at
}

// readyRecheck is how long nodes wait for capacity before their execution repeats the
// request, in case the offer was lost with another process.
const readyRecheck = 15 * time.Second
