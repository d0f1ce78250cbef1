package execution

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/db"
)

// LaunchSeries launches groups, one after the other. It reads what their requests have in common once,
// so it must not last longer than one pass of a loop. From its first transaction on, it keeps one
// connection of the pool, because thousands of drives may wait for the others. One goroutine uses it.
type LaunchSeries struct {
	service *LaunchService
	common  *common
	conn    *pgxpool.Conn
	hold    <-chan struct{} // nil: executions start as soon as they are launched
	held    []uuid.UUID
}

// Series returns a series; close it.
func (s *LaunchService) Series() *LaunchSeries {
	return &LaunchSeries{service: s, common: newCommon()}
}

// HoldStarts delays the start of executions that the series launches until a channel is closed.
func (s *LaunchSeries) HoldStarts(until <-chan struct{}) { s.hold = until }

// Close returns the connection.
func (s *LaunchSeries) Close() {
	s.service.holds.remove(s.held)
	s.held = nil
	if s.conn != nil {
		s.conn.Release()
		s.conn = nil
		<-s.service.series
	}
}

// Database returns the connection of the series, for what its groups read, or another one if it broke.
// All series of a process keep at most half of the connections, because checks of launches need others.
// A pool of one connection keeps it.
func (s *LaunchSeries) Database(ctx context.Context) (db.Database, error) {
	if s.service.pool.Config().MaxConns == 1 {
		return s.service.pool, nil
	}
	if s.conn != nil && !s.conn.Conn().IsClosed() {
		return s.conn, nil
	}
	if s.conn != nil {
		s.conn.Release()
		s.conn = nil
	} else {
		select {
		case s.service.series <- struct{}{}:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for other launches: %w", ctx.Err())
		}
	}
	conn, err := s.service.pool.Acquire(ctx)
	if err != nil {
		<-s.service.series
		return nil, fmt.Errorf("connect to launch executions: %w", err)
	}
	s.conn = conn
	return conn, nil
}

// Launch is LaunchAll.
func (s *LaunchSeries) Launch(ctx context.Context, g LaunchGroup) []LaunchOutcome {
	checked := s.Check(ctx, g.Requests)
	return s.Write(ctx, checked, g.Claim)
}

// CheckedLaunches are requests that were checked, and are not written yet.
type CheckedLaunches struct {
	list     []*launch // those that are accepted
	outcomes []LaunchOutcome
}

// Check checks requests. It writes nothing.
func (s *LaunchSeries) Check(ctx context.Context, requests []LaunchRequest) CheckedLaunches {
	checked := CheckedLaunches{outcomes: make([]LaunchOutcome, len(requests))}
	for i, r := range requests {
		l, err := s.service.prepare(ctx, r, s.common)
		if err != nil {
			checked.outcomes[i].Err = err
			continue
		}
		l.position = i
		checked.list = append(checked.list, l)
	}
	return checked
}

// Err returns why a request is refused, or nil.
func (c CheckedLaunches) Err(i int) error { return c.outcomes[i].Err }

// First returns the first n requests.
func (c CheckedLaunches) First(n int) CheckedLaunches {
	first := CheckedLaunches{outcomes: c.outcomes[:n]}
	for _, l := range c.list {
		if l.position < n {
			first.list = append(first.list, l)
		}
	}
	return first
}

// Write writes the requests that were accepted, and returns the outcome of each request.
func (s *LaunchSeries) Write(ctx context.Context, checked CheckedLaunches, claim Claim) []LaunchOutcome {
	if len(checked.list) > 0 {
		err := s.write(ctx, checked.list, claim)
		for _, l := range checked.list {
			if !l.ended {
				l.err = err
			}
			checked.outcomes[l.position] = LaunchOutcome{ID: l.id, Created: l.created(), Err: l.err}
		}
	}
	return checked.outcomes
}

// write writes launches. Its error is that of the launches that have not ended.
func (s *LaunchSeries) write(ctx context.Context, list []*launch, claim Claim) error {
	for rest := list; len(rest) > 0; {
		database, err := s.Database(ctx)
		if err != nil {
			return err
		}
		n := groupLength(rest)
		if err := s.service.renew(rest[:n]); err != nil {
			return err
		}
		if s.hold != nil {
			s.service.holds.add(rest[:n], s.hold)
			for _, l := range rest[:n] {
				s.held = append(s.held, l.id)
			}
		}
		s.service.write(ctx, database, rest[:n], claim)
		rest = rest[n:]
	}
	return nil
}
