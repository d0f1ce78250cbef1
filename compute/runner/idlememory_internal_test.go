package runner

import (
	"context"
	"testing"
	"time"
)

// TestIdleRunnerReleasesMemory: after its start, and after its last attempt.
func TestIdleRunnerReleasesMemory(t *testing.T) {
	t.Parallel()
	s := &Supervisor{attempts: map[string]*attempt{}, changed: make(chan struct{})}
	change := func(f func()) {
		s.mu.Lock()
		defer s.mu.Unlock()
		f()
		s.announce()
	}
	ctx, stop := context.WithCancel(t.Context())
	released, ended := make(chan int, 10), make(chan struct{})
	go func() {
		defer close(ended)
		s.releaseMemory(ctx, time.Microsecond, func() {
			_, kept := s.counts()
			released <- kept
		})
	}()
	<-released
	change(func() { s.attempts["a"], s.attempts["b"] = &attempt{}, &attempt{} })
	change(func() { delete(s.attempts, "a") })
	change(func() { delete(s.attempts, "b") })
	if kept := <-released; kept != 0 {
		t.Errorf("memory is released while there are %d attempts", kept)
	}
	stop()
	<-ended
}
