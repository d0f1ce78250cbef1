package child_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/flowforge/flowforge/platform/embedded/child"
)

// TestSupervisorRests: between Rest and Wake there is no child, and who waits for one gets the next, or
// the error of the second start that fails.
func TestSupervisorRests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := child.Lock(t.Context(), filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	broken := make(chan error, 2)
	s, err := child.Supervise(t.Context(), "sleep", slog.New(slog.DiscardHandler), lock, func(context.Context) (*child.Process, error) {
		select {
		case err := <-broken:
			return nil, err
		default:
			return child.Start(sleeper(dir), syscall.SIGKILL)
		}
	}, kill)
	if err != nil {
		t.Fatal(err)
	}
	first := s.PID()
	if n, err := s.Ready(t.Context()); n != 1 || err != nil {
		t.Errorf("ready: %d, %v, want 1", n, err)
	}
	if err := s.Rest(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := child.In(dir); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Ready(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("ready while it rests: %v, want that it waits", err)
	}
	s.Wake()
	if n, err := s.Ready(t.Context()); n != 2 || err != nil {
		t.Errorf("ready: %d, %v, want 2", n, err)
	}
	if s.PID() == first {
		t.Error("it is the same process")
	}

	if err := s.Rest(t.Context()); err != nil {
		t.Fatal(err)
	}
	broken <- errors.New("one")
	broken <- errors.New("two")
	s.Wake()
	if _, err := s.Ready(t.Context()); err == nil || err.Error() != "two" {
		t.Errorf("ready after two failures: %v, want the second", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Rest(t.Context()); err != nil {
		t.Errorf("rest after the end: %v", err)
	}
}
