package execution

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// lease is the loop's right to drive its execution. It ends when nothing is left to do, when
// another loop acquires it, or when this process drains.
type lease struct {
	loop *loop

	epoch   int64           // the fence of all writes
	drained <-chan struct{} // closed when every loop of this process has to end
	fenced  chan struct{}   // receives a value when the lease was lost
}

func newLease(l *loop) *lease {
	return &lease{loop: l, epoch: l.row.OwnerEpoch, drained: l.driver.live.drainedSignal(), fenced: make(chan struct{}, 1)}
}

// renew continues an idle loop with the lease that row has just acquired.
func (le *lease) renew(row db.Execution) {
	le.epoch, le.drained = row.OwnerEpoch, le.loop.driver.live.drainedSignal()
}

// lost notifies the loop that its lease is lost; its writes fail anyway.
func (le *lease) lost() {
	select {
	case le.fenced <- struct{}{}:
	default:
	}
}

// catchUp applies the stored reports, once no process stores further ones.
func (le *lease) catchUp(ctx context.Context) error {
	l := le.loop
	holds, err := l.driver.queries.LockDriven(ctx, l.driver.term.Load(), l.id)
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	if !holds {
		l.driver.release(ctx, l.id, le.epoch, l.driver.now())
		return errFenced
	}
	return l.loadAllUpdates(ctx)
}

// forceRelease releases the lease although nodes may still move; the next loop continues.
func (le *lease) forceRelease(ctx context.Context) (bool, error) {
	l := le.loop
	for {
		if l.unwritten() {
			if err := l.flush(ctx); err != nil || l.status.Ended() {
				return true, err
			}
		}
		released, err := le.release(ctx)
		if released || err != nil {
			return released, err
		}
		if err := l.step(ctx); err != nil || l.status.Ended() {
			return true, err
		}
	}
}

// release releases the lease when nothing is left to do. It reports false when a report
// arrived in the meantime, and the loop has to continue.
func (le *lease) release(ctx context.Context) (bool, error) {
	l := le.loop
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
		if row.Owner != l.driver.owner || row.OwnerEpoch != le.epoch {
			return errFenced
		}
		waiting, err := q.HasReports(ctx, l.id)
		if err == nil && !waiting && l.progress.Count(dag.Queued) > 0 {
			started, readErr := q.StartedWhileQueued(ctx, l.id)
			waiting, err = len(started) > 0, readErr
		}
		if err != nil || waiting || (row.CancelRequestedAt != nil && !l.conclusion.cancelled) {
			l.conclusion.cancelled = l.conclusion.cancelled || row.CancelRequestedAt != nil
			return err
		}
		released = true
		return q.ReleaseLease(ctx, le.wakeAt(), l.id, l.driver.owner, le.epoch)
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
	return false, le.catchUp(ctx)
}

// wakeAt is when an idle execution must be checked without an event.
func (le *lease) wakeAt() *time.Time {
	l := le.loop
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
