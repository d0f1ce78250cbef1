package retention

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Report is the result of one sweep, or, with DryRun, the predicted result.
type Report struct {
	ID           uuid.UUID
	BeganAt      time.Time
	EndedAt      *time.Time // nil: it is running, or its server stopped
	DryRun       bool
	Executions   int64 // that expired
	Artifacts    int64
	ProjectBlobs int64 // removed from projects because unreferenced
	ProjectBytes int64
	Blobs        int64 // deleted from the store
	Bytes        int64
	Partitions   int64      // tables of empty months
	StraysSeenAt *time.Time // when this sweep listed the whole store
	Error        string     // what failed; the next sweep retries it
	Versions     int64      // unused development versions; a dry run does not count them

	InputSweeps     int64    // that expired, with the last of their executions
	InputSweepNames []string // of the first of them, at most namesKept
}

// sweepLock is the advisory lock under which one sweep runs at a time.
const sweepLock = 7166661025

// emptyMonths is the minimum age of a month whose empty tables are dropped.
const emptyMonths = 31 * 24 * time.Hour

// Sweep removes expired executions and unreferenced bytes; with dry, it only counts
// them. A failed step does not stop the others: the report names it. Installation
// administrators and the maintenance job may call it. It returns apperr.Conflict while
// another sweep runs.
func (s *Service) Sweep(ctx context.Context, dry bool) (Report, error) {
	if _, err := auth.Authorize(ctx, auth.Administer); err != nil {
		return Report{}, err
	}
	ctx = auth.AsSystem(ctx)
	var r *Report
	err := s.exclusively(ctx, func(conn *pgxpool.Conn) (err error) {
		r, err = s.reported(ctx, conn, dry)
		return err
	}, apperr.New(apperr.Conflict, "A cleanup is already running. Its result appears on the Storage page when it ends."))
	if r == nil {
		return Report{}, err
	}
	return *r, err
}

// exclusively runs work while no other process sweeps; if one does, it returns busy.
func (s *Service) exclusively(ctx context.Context, work func(*pgxpool.Conn) error, busy error) error {
	conn, err := s.config.Sessions.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("begin a sweep: %w", err)
	}
	defer conn.Release()
	var held bool
	if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", int64(sweepLock)).Scan(&held); err != nil {
		return fmt.Errorf("begin a sweep: %w", err)
	}
	if !held {
		return busy
	}
	defer s.release(ctx, conn)
	return work(conn)
}

// reported sweeps and stores what it did.
func (s *Service) reported(ctx context.Context, conn *pgxpool.Conn, dry bool) (*Report, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("create the id of a sweep: %w", err)
	}
	r := &Report{ID: id, BeganAt: s.now(), DryRun: dry}
	if err := s.save(ctx, r); err != nil {
		return r, err
	}
	err = s.sweep(ctx, conn, r)
	if ctx.Err() != nil {
		return r, ctx.Err() //nolint:wrapcheck // the context ended
	}
	r.EndedAt = new(s.now())
	if err != nil {
		r.Error = err.Error()
		s.config.Logger.Warn("a sweep was incomplete; the next one retries", "error", err)
	}
	return r, errors.Join(s.save(ctx, r), s.queries.ForgetSweeps(ctx))
}

// release releases the lock and drops the temporary table; if that fails, it closes the
// connection, which releases the lock.
func (s *Service) release(ctx context.Context, conn *pgxpool.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_, err := conn.Exec(ctx, "DROP TABLE IF EXISTS gc_marks")
	if err == nil {
		_, err = conn.Exec(ctx, "SELECT pg_advisory_unlock($1)", int64(sweepLock))
	}
	if err != nil {
		_ = conn.Conn().Close(ctx) // the pool discards it
	}
}

// sweep runs the steps in order; each creates work for the next.
func (s *Service) sweep(ctx context.Context, conn *pgxpool.Conn, r *Report) error {
	steps := []func() error{
		func() error { return s.executions(ctx, r) },
		func() error { return s.inputSweeps(ctx, r) },
		func() error { return s.orphans(ctx, r) },
		func() error { return s.versions(ctx, r) },
		func() error { return s.sweepProjects(ctx, conn, r) },
		func() error { return s.sweepStore(ctx, r) },
		func() error { return s.partitions(ctx, r) },
	}
	var failed []error
	for _, step := range steps {
		if err := step(); err != nil {
			failed = append(failed, err)
		}
		if err := s.save(ctx, r); err != nil || ctx.Err() != nil {
			return errors.Join(append(failed, err)...)
		}
	}
	return errors.Join(failed...)
}

func (s *Service) executions(ctx context.Context, r *Report) error {
	if !r.DryRun {
		return s.removeExpired(ctx, r)
	}
	now := s.now()
	success, failure := secondsOf(s.config.Rule)
	n, err := s.queries.CountExpired(ctx, now, s.newest(now), success, failure)
	if err != nil {
		return fmt.Errorf("count expired executions: %w", err)
	}
	r.Executions = n
	return nil
}

func (s *Service) orphans(ctx context.Context, r *Report) error {
	if r.DryRun {
		return nil
	}
	if err := s.removeCompleted(ctx, r); err != nil {
		return err
	}
	return s.removeOrphans(ctx, r)
}

func (s *Service) partitions(ctx context.Context, r *Report) error {
	if r.DryRun {
		return nil
	}
	n, err := s.queries.DropEmptyPartitions(ctx, s.now().Add(-emptyMonths))
	if err != nil {
		return fmt.Errorf("drop the tables of empty months: %w", err)
	}
	r.Partitions = int64(n)
	return nil
}

func (s *Service) save(ctx context.Context, r *Report) error {
	err := s.queries.SaveSweep(ctx, db.SaveSweepParams{
		ID: r.ID, BeganAt: r.BeganAt, EndedAt: r.EndedAt, DryRun: r.DryRun, Executions: r.Executions, Artifacts: r.Artifacts,
		ProjectBlobs: r.ProjectBlobs, ProjectBytes: r.ProjectBytes, Blobs: r.Blobs, Bytes: r.Bytes, Partitions: r.Partitions, Versions: r.Versions,
		StraysSeenAt: r.StraysSeenAt, Error: r.Error, InputSweeps: r.InputSweeps, InputSweepNames: append([]string{}, r.InputSweepNames...),
	})
	if err != nil {
		return fmt.Errorf("store the sweep: %w", err)
	}
	return nil
}

// Sweeps returns the latest sweeps, newest first, for administrators of the installation.
func (s *Service) Sweeps(ctx context.Context, limit int) ([]Report, error) {
	if _, err := auth.Authorize(ctx, auth.Administer); err != nil {
		return nil, err
	}
	rows, err := s.queries.ListSweeps(ctx, int32(min(limit, 200))) //nolint:gosec // bounded
	if err != nil {
		return nil, fmt.Errorf("list sweeps: %w", err)
	}
	reports := make([]Report, len(rows))
	for i, r := range rows {
		reports[i] = Report(r)
	}
	return reports, nil
}
