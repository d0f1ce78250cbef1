package child

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Limits of the pause before a restart. A child that ran for steady counts as healthy:
// its next restart is immediate again.
const (
	firstPause = 50 * time.Millisecond
	maxPause   = 15 * time.Second
	steady     = time.Minute
)

// Supervisor keeps one child alive until Close.
type Supervisor struct {
	name   string
	logger *slog.Logger
	start  func(context.Context) (*Process, error)
	steps  []Step
	lock   *os.File

	cancel context.CancelFunc
	ended  chan struct{}

	mu      sync.Mutex
	current *Process
	err     error
}

// Supervise starts a child with start and, when that worked, starts it again
// with growing pauses whenever it ends. start returns when the child is ready;
// its context ends with Close. steps stop a child. The supervisor owns lock from
// here on, even if Supervise fails.
func Supervise(ctx context.Context, name string, logger *slog.Logger, lock *os.File, start func(context.Context) (*Process, error), steps ...Step) (*Supervisor, error) {
	first, err := start(ctx)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &Supervisor{
		name: name, logger: logger, start: start, steps: steps, lock: lock,
		cancel: cancel, ended: make(chan struct{}), current: first,
	}
	go s.run(run)
	return s, nil
}

// PID returns the id of the current child; it changes with a restart.
func (s *Supervisor) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current.PID()
}

// Close stops the child, waits until it has ended, and releases the lock. It may be
// called more than once.
func (s *Supervisor) Close() error {
	s.cancel()
	<-s.ended
	return s.err
}

func (s *Supervisor) run(ctx context.Context) {
	defer close(s.ended)
	defer func() { s.err = errors.Join(s.err, s.lock.Close()) }()
	wait := firstPause
	for {
		p, began := s.current, time.Now()
		select {
		case <-ctx.Done():
			s.err = p.Stop(s.steps...)
			return
		case <-p.Done():
		}
		s.logger.Error(s.name+" ended unexpectedly and is restarted", "pid", p.PID(), "err", p.Err())
		if time.Since(began) > steady {
			wait = firstPause
		}
		next, ok := s.restart(ctx, &wait)
		if !ok {
			return
		}
		s.mu.Lock()
		s.current = next
		s.mu.Unlock()
		s.logger.Info(s.name+" is back", "pid", next.PID(), "after", time.Since(began).Round(time.Millisecond))
	}
}

// restart retries until a child is ready; false means that ctx ended first.
func (s *Supervisor) restart(ctx context.Context, wait *time.Duration) (*Process, bool) {
	for {
		if pause(ctx, *wait) != nil {
			return nil, false
		}
		*wait = min(*wait*2, maxPause)
		p, err := s.start(ctx)
		if err == nil {
			return p, true
		}
		if ctx.Err() != nil {
			return nil, false
		}
		s.logger.Error(s.name+" does not start", "err", err, "next_try_in", *wait)
	}
}
