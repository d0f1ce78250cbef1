package dbtest

import (
	"context"
	"testing"
	"time"

	"github.com/flowforge/flowforge/db"
)

// patience is less than db.Safety, so that no loop looks by itself in the meantime.
const patience = db.Safety * 2 / 3

// Watch is a db.Watch that reports a change only when a test says so.
type Watch struct {
	*db.Watch
	t testing.TB
}

// NewWatch returns a Watch.
func NewWatch(t testing.TB) *Watch { return &Watch{db.NewWatch(nil, nil), t} }

// Run calls a loop until the test ends, and returns when n loops are idle.
func (w *Watch) Run(n int, loop func(context.Context)) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		loop(ctx)
	}()
	w.t.Cleanup(func() {
		cancel()
		<-done
	})
	w.Rests(n)
}

// Rests waits until n loops are idle.
func (w *Watch) Rests(n int) {
	w.t.Helper()
	w.eventually("the loop does not rest", func() bool { return w.Resting() == n })
}

// Wakes reports a change. It fails the test if a loop worked before, or does not work then.
func (w *Watch) Wakes(worked func() bool) {
	w.t.Helper()
	if worked() {
		w.t.Fatal("the loop worked before the change was reported")
	}
	w.Announce()
	w.eventually("the change does not wake the loop", worked)
}

func (w *Watch) eventually(failure string, ok func() bool) {
	w.t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatal(failure)
		}
	}
}
