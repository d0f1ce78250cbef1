package execution

import (
	"context"
	"time"
)

func (l *loop) wake() {
	select {
	case l.signal <- struct{}{}:
	default:
	}
}

// leaseLost notifies the loop that its lease is lost; its writes fail anyway.
func (l *loop) leaseLost() {
	select {
	case l.fenced <- struct{}{}:
	default:
	}
}

// deferred reports whether the batch may wait a moment for more changes: begins of attempts
// move no node, and the end of a short attempt follows soon.
func (l *loop) deferred() bool {
	if !l.onlyBegins() {
		l.flushBy = time.Time{}
		return false
	}
	if l.flushBy.IsZero() {
		l.flushBy = time.Now().Add(startedDelay)
	}
	return time.Now().Before(l.flushBy)
}

// startedDelay is how long the begin of an attempt may stay unwritten.
const startedDelay = 5 * time.Millisecond

// idle waits for an event. It reports true when the loop has released its lease.
func (l *loop) idle(ctx context.Context) (bool, error) {
	linger := time.NewTimer(l.maxWait())
	defer linger.Stop()
	select {
	case <-l.signal:
		return false, nil
	case <-l.fenced:
		return false, errFenced
	case <-ctx.Done():
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
		defer cancel()
		return l.forceRelease(last)
	case <-l.drained:
		return l.forceRelease(ctx)
	case <-linger.C:
	}
	if l.unwritten() {
		return false, nil
	}
	if due, ok := l.timers.next(); ok && due.Before(l.driver.now().Add(l.driver.config.Timing.Linger)) {
		return false, nil
	}
	if l.launches.underWay() {
		l.admission.repeatRequests(readyRecheck)
		return false, nil
	}
	l.launches.settled = true
	released, err := l.releaseLease(ctx)
	l.launches.settled = l.launches.settled && released
	return released, err
}

// forceRelease releases the lease although nodes may still move; the next loop continues.
func (l *loop) forceRelease(ctx context.Context) (bool, error) {
	for {
		if l.unwritten() {
			if err := l.flush(ctx); err != nil || l.status.Ended() {
				return true, err
			}
		}
		released, err := l.releaseLease(ctx)
		if released || err != nil {
			return released, err
		}
		if err := l.step(ctx); err != nil || l.status.Ended() {
			return true, err
		}
	}
}

// maxWait is how long to wait for an event: until the next timer, at most the linger time.
func (l *loop) maxWait() time.Duration {
	if l.unwritten() {
		return max(time.Until(l.flushBy), 0)
	}
	linger := l.driver.config.Timing.Linger
	linger = l.launches.untilRetry(linger)
	if due, ok := l.timers.next(); ok {
		return max(min(linger, due.Sub(l.driver.now())), 0)
	}
	return linger
}

// close ends the loop: senders that still wait receive that nothing was written.
func (l *loop) close() {
	l.launches.starter.close()
	l.reports.closeReports()
	for _, m := range l.driver.live.remove(l) {
		if m.done != nil {
			m.done <- receipt{}
		}
	}
	if l.status.Ended() {
		l.driver.quota.Withdraw(l.id, nil)
	}
}
