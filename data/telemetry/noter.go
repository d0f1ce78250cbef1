package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
)

// noter calls Config.Points for the executions of stored points. A failed call is repeated, and
// the flusher never waits for it.
type noter struct {
	points   func(ctx context.Context, executions []uuid.UUID) error
	interval time.Duration
	log      *slog.Logger
	wake     chan struct{}

	mu      sync.Mutex
	waiting map[uuid.UUID]struct{}
	noted   map[uuid.UUID]time.Time // of the last interval, by the clock that cannot jump
}

func newNoter(c Config) *noter {
	return &noter{points: c.Points, interval: c.PointsInterval, log: c.Log, wake: make(chan struct{}, 1), waiting: map[uuid.UUID]struct{}{}, noted: map[uuid.UUID]time.Time{}}
}

// add notes the executions of points that were stored.
func (n *noter) add(points []point) {
	if n.points == nil || len(points) == 0 {
		return
	}
	n.mu.Lock()
	for i := range points {
		n.waiting[points[i].ExecutionID] = struct{}{}
	}
	n.mu.Unlock()
	n.signal()
}

func (n *noter) signal() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// run reports executions until ctx ends, first those that an earlier process may not have
// reported.
func (n *noter) run(ctx context.Context, recent func(context.Context) ([]uuid.UUID, error)) {
	if n.points == nil {
		return
	}
	backoff, failed, started := minBackoff, false, false
	for ctx.Err() == nil {
		if !started {
			ids, err := recent(ctx)
			if started = err == nil; started {
				n.back(ids)
			}
		}
		next, err := n.report(ctx, false)
		if err != nil && ctx.Err() == nil {
			if !failed {
				n.log.Warn("executions with new metric points cannot be reported; this is repeated", "error", err)
			}
			next, backoff = backoff, min(2*backoff, maxBackoff)
		} else {
			backoff = minBackoff
		}
		failed = err != nil
		if !started {
			next = min(next, time.Second)
		}
		t := time.NewTimer(next)
		select {
		case <-ctx.Done():
		case <-t.C:
		case <-n.wake:
			if failed {
				wait(ctx, next)
			}
		}
		t.Stop()
	}
}

// last reports all that wait at the end of the process.
func (n *noter) last(ctx context.Context) {
	if n.points == nil {
		return
	}
	if _, err := n.report(ctx, true); err != nil {
		n.log.Info("some executions with new metric points are reported after the next start", "error", err)
	}
}

// report reports the executions that wait and were not reported during the last interval, or all.
// It returns how long to wait for the next ones.
func (n *noter) report(ctx context.Context, all bool) (time.Duration, error) {
	now, next := time.Now(), time.Minute
	var due []uuid.UUID
	n.mu.Lock()
	for id, at := range n.noted {
		if now.Sub(at) >= n.interval {
			delete(n.noted, id)
		}
	}
	for id := range n.waiting {
		at, early := n.noted[id]
		if early && !all {
			next = min(next, at.Add(n.interval).Sub(now))
			continue
		}
		due = append(due, id)
		n.noted[id] = now
		delete(n.waiting, id)
	}
	n.mu.Unlock()
	if len(due) == 0 {
		return next, nil
	}
	if err := n.points(ctx, due); err != nil {
		n.back(due)
		return 0, fmt.Errorf("report metric points: %w", err)
	}
	return next, nil
}

// back makes executions wait, due at once.
func (n *noter) back(ids []uuid.UUID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, id := range ids {
		n.waiting[id] = struct{}{}
		delete(n.noted, id)
	}
}

// recent returns the executions with points of the last hour: a process that crashed may have
// stored points without reporting them.
func (s *Service) recent(ctx context.Context) ([]uuid.UUID, error) {
	if !s.store.migrated.Load() {
		return nil, errNotReady
	}
	var ids []uuid.UUID
	err := s.store.background.QueryRow(ctx, "SELECT groupUniqArray(execution_id) FROM metrics_1m WHERE received_at >= now() - INTERVAL 1 HOUR").Scan(&ids)
	if err != nil {
		return nil, fmt.Errorf("recent metric points: %w", err)
	}
	return ids, nil
}
