package execution

import (
	"context"
	"time"
)

// idle waits for an event. It reports true when the loop has released its lease.
func (l *loop) idle(ctx context.Context) (bool, error) {
	linger := time.NewTimer(l.maxWait())
	defer linger.Stop()
	select {
	case <-l.inbox.signal:
		return false, nil
	case <-l.lease.fenced:
		return false, errFenced
	case <-ctx.Done():
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
		defer cancel()
		return l.lease.forceRelease(last)
	case <-l.lease.drained:
		return l.lease.forceRelease(ctx)
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
	released, err := l.lease.release(ctx)
	l.launches.settled = l.launches.settled && released
	return released, err
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
