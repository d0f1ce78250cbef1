package execution

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
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
	if l, ok := s.live.takeIdle(row.ID); ok && l.lease.epoch+1 == row.OwnerEpoch {
		l.lease.renew(row)
		l.conclusion.readCancellation(row)
		l.resetAll()
		l.locks.waiting = nil
		if l.status == query.Pending {
			l.admission.expectOffer()
		}
		for i := range l.nodes {
			switch l.progress.State(i) {
			case dag.Ready:
				l.ready.requestCapacity(i)
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
	if err := (&loader{loop: l, rows: rows}).load(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

// takeOver applies what arrived while no loop drove the execution, and starts queued
// attempts again, because their start may not have been carried out. The order prevents an
// attempt from running twice: the loop is registered, so that after the lock no report is
// stored besides it, and it takes no message before the launcher has answered, so that a
// runner that knows an attempt still knows it when it is asked to start it again.
func (l *loop) takeOver(ctx context.Context) error {
	if err := l.lease.catchUp(ctx); err != nil {
		return err
	}
	return l.launches.startAgain(ctx)
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
