package execution

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/flowforge/flowforge/db"
)

// Follow forwards changes and hints until ctx ends. Every process follows, whether or not it
// drives executions.
func (s *Service) Follow(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.waker.wakeForever(ctx) })
	group.Go(func() error { return s.waker.sendHintsForever(ctx) })
	group.Go(func() error { return s.Watches.announceForever(ctx) })
	heard := newHints()
	handlers := map[string]func(string){channelName: s.Watches.onChange, driveChannel: func(payload string) { s.Driver.hearHint(heard, payload) }}
	group.Go(func() error { return s.Watches.listenForever(ctx, handlers) })
	group.Go(func() error { return s.Driver.readHintsForever(ctx, heard) })
	group.Go(func() error { return s.Watches.pollForever(ctx) })
	group.Go(func() error { return s.Supervisor.endObserved(ctx) })
	return group.Wait()
}

// TakeOver makes this process the driver, under a term of the scheduler's lease; 0 means a
// server without one. It fences the loops of all former drivers, releases their executions,
// and reverses Drain. Call it before Lead and any Drive.
func (s *Driver) TakeOver(ctx context.Context, term int64) error {
	s.term.Store(term)
	if _, err := s.queries.TakeOverExecutions(ctx); err != nil {
		return fmt.Errorf("take executions over: %w", err)
	}
	s.live.reopen()
	return nil
}

// Lead renews the leases of executions and reconciles until ctx ends. The drive jobs run
// separately (package jobs): stop them first, then Lead.
func (s *Service) Lead(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.Driver.renewLeases(ctx) })
	group.Go(func() error { return s.Driver.reconcileForever(ctx) })
	if s.config.Cluster {
		group.Go(func() error { return s.Driver.missingForever(ctx) })
	}
	return group.Wait()
}

// holdsTerm returns errFenced when a later term than this process's has begun. It protects
// actions that no epoch fences and that must not be repeated.
func (s *Driver) holdsTerm(ctx context.Context, q *db.Queries) error {
	holds, err := q.HoldsTerm(ctx, s.term.Load())
	if err != nil {
		return fmt.Errorf("look for a later term: %w", err)
	}
	if !holds {
		return errFenced
	}
	return nil
}

// limited calls f with a time limit. The loops of Follow and Lead serve all executions, so a
// connection that hangs must not stop them.
func limited(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return f(ctx)
}
