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

// Supervisor keeps one child alive until Close, except between Rest and Wake.
type Supervisor struct {
	name   string
	logger *slog.Logger
	start  func(context.Context) (*Process, error)
	steps  []Step
	lock   *os.File

	cancel context.CancelFunc
	ended  chan struct{}
	rest   chan chan<- error // receives the result of the stop
	wake   chan struct{}
	err    error // of Close

	mu      sync.Mutex
	current *Process      // the last child that became ready
	ready   bool          // current has not ended, and need not rest
	starts  int           // number of children that became ready
	failure error         // of the last start, if the one before failed as well
	changed chan struct{} // closed by the next change of these fields
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
		cancel: cancel, ended: make(chan struct{}), rest: make(chan chan<- error), wake: make(chan struct{}, 1),
		current: first, ready: true, starts: 1, changed: make(chan struct{}),
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

// Ready waits until a child is ready, and returns how many children have been. If the last two starts
// failed, it returns the error of the last one at once. Between Rest and Wake it waits for Wake.
func (s *Supervisor) Ready(ctx context.Context) (starts int, err error) {
	for {
		s.mu.Lock()
		ready, starts, failure, changed := s.ready, s.starts, s.failure, s.changed
		s.mu.Unlock()
		switch {
		case ready:
			return starts, nil
		case failure != nil:
			return 0, failure
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-s.ended:
			return 0, errors.New(s.name + " is closed")
		}
	}
}

// Rest stops the child, which is not started again before Wake. It returns when the child has ended.
func (s *Supervisor) Rest(ctx context.Context) error {
	stopped := make(chan error, 1)
	select {
	case s.rest <- stopped:
		return <-stopped
	case <-ctx.Done():
		return ctx.Err()
	case <-s.ended:
		return nil
	}
}

// Wake starts a child after Rest, without waiting for it.
func (s *Supervisor) Wake() {
	select {
	case s.wake <- struct{}{}:
	default: // the last one has not been noticed yet
	}
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
	p, wait := s.current, firstPause
	for {
		began := time.Now()
		select {
		case <-ctx.Done():
			s.err = p.Stop(s.steps...)
			return
		case stopped := <-s.rest:
			s.notReady(nil)
			stopped <- p.Stop(s.steps...)
			if !s.awaitWake(ctx) {
				return
			}
			wait = 0
		case <-p.Done():
			s.notReady(nil)
			s.logger.Error(s.name+" ended unexpectedly and is restarted", "pid", p.PID(), "err", p.Err())
			if time.Since(began) > steady {
				wait = firstPause
			}
		}
		requested := time.Now()
		var ok bool
		if p, ok = s.restart(ctx, &wait); !ok {
			return
		}
		s.setReady(p)
		s.logger.Info(s.name+" is back", "pid", p.PID(), "after", time.Since(requested).Round(time.Millisecond))
	}
}

func (s *Supervisor) setReady(p *Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current, s.ready, s.failure = p, true, nil
	s.starts++
	s.announce()
}

// notReady publishes that there is no child, and why, unless it is being started.
func (s *Supervisor) notReady(failure error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready, s.failure = false, failure
	s.announce()
}

// announce wakes the goroutines in Ready; it requires the lock.
func (s *Supervisor) announce() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// restart retries until a child is ready; false means that ctx ended first.
func (s *Supervisor) restart(ctx context.Context, wait *time.Duration) (*Process, bool) {
	for failures := 0; ; {
		timer := time.NewTimer(*wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, false
		case stopped := <-s.rest:
			timer.Stop()
			stopped <- nil
			if !s.awaitWake(ctx) {
				return nil, false
			}
			failures = 0
			s.notReady(nil)
		}
		*wait = max(firstPause, min(*wait*2, maxPause))
		p, err := s.start(ctx)
		if err == nil {
			return p, true
		}
		if ctx.Err() != nil {
			return nil, false
		}
		if failures++; failures > 1 {
			s.notReady(err)
		}
		s.logger.Error(s.name+" does not start", "err", err, "next_try_in", *wait)
	}
}

// awaitWake waits for Wake; false means that ctx ended first.
func (s *Supervisor) awaitWake(ctx context.Context) bool {
	select {
	case <-s.wake:
		return true
	case <-ctx.Done():
		return false
	}
}
