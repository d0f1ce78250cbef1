// Package sharing combines concurrent reads of the same data into one read.
package sharing

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// Reads keeps results for a short time, so that the streams of many readers of the same page read
// them once. The key must name everything that a result depends on, such as the reader's project.
// Results must not be changed. It is safe for concurrent use.
type Reads[K comparable, V any] struct {
	keep time.Duration
	now  func() time.Time

	mu      sync.Mutex
	entries map[K]*entry[V]
	cleaned time.Time
}

type entry[V any] struct {
	done  chan struct{} // closed when the result is there
	at    time.Time     // of the result
	value V
	err   error
}

// New returns a Reads that keeps results for a duration.
func New[K comparable, V any](keep time.Duration, now func() time.Time) *Reads[K, V] {
	return &Reads[K, V]{keep: keep, now: now, entries: map[K]*entry[V]{}}
}

// Get returns the result of load, which runs at most once at a time for a key. Errors are not kept.
// load does not end with the reader that is the first to need the result.
func (s *Reads[K, V]) Get(ctx context.Context, key K, load func(context.Context) (V, error)) (V, error) {
	s.mu.Lock()
	e, ok := s.entries[key]
	if !ok || e.over(s.now().Add(-s.keep)) {
		s.clean()
		e = &entry[V]{done: make(chan struct{})}
		s.entries[key] = e
		go func() {
			defer close(e.done)
			alone, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
			defer cancel()
			e.value, e.err = safely(alone, load)
			e.at = s.now()
		}()
	}
	s.mu.Unlock()
	select {
	case <-e.done:
		return e.value, e.err
	case <-ctx.Done():
		var none V
		return none, ctx.Err() //nolint:wrapcheck // the reader's own context
	}
}

// loadTimeout ends a load, so that one that hangs does not hold up all readers.
const loadTimeout = 10 * time.Second

// safely turns a panic of load into an error, because nothing else recovers it.
func safely[V any](ctx context.Context, load func(context.Context) (V, error)) (v V, err error) {
	defer func() {
		if p := recover(); p != nil {
			slog.ErrorContext(ctx, "a shared read panicked", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return load(ctx)
}

// over reports whether the entry has an error, or a result from before t.
func (e *entry[V]) over(t time.Time) bool {
	select {
	case <-e.done:
		return e.err != nil || e.at.Before(t)
	default:
		return false
	}
}

// clean removes the entries that are over, from time to time. The caller holds mu.
func (s *Reads[K, V]) clean() {
	now := s.now()
	if now.Sub(s.cleaned) < 10*s.keep {
		return
	}
	s.cleaned = now
	for key, e := range s.entries {
		if e.over(now.Add(-s.keep)) {
			delete(s.entries, key)
		}
	}
}
