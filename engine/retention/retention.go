// Package retention removes data that is no longer needed: expired executions, with
// their rows, logs and artifacts, expired sweeps, and unreferenced bytes. It also exempts executions
// from expiry.
//
// A sweep may stop anywhere and start again: the next sweep finds what each step left
// (docs/decisions/012-garbage.md).
package retention

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/workflow"
)

// Config configures a Service; the first three fields are required.
type Config struct {
	Pool  *pgxpool.Pool
	Store artifact.Remover
	// Free subtracts bytes that a project no longer stores, in the transaction of q.
	Free func(ctx context.Context, q *db.Queries, project uuid.UUID, bytes int64) error
	// Sessions have the lock and the temporary table of a sweep; nil: those of Pool.
	Sessions *pgxpool.Pool
	// Telemetry removes logs and metrics. While it fails, the executions stay. nil:
	// there are none.
	Telemetry func(ctx context.Context, executions []uuid.UUID) error
	// Rule is the retention of executions whose definition sets none.
	Rule workflow.TTL
	// Grace is how long unreferenced bytes stay: a client that uploads bytes, or checks
	// that they exist, must reference them within this time. Zero means a day.
	Grace time.Duration
	// Development is how long unused development versions stay. Zero means 14 days.
	Development time.Duration
	// Count, when set, receives the number of removed objects.
	Count func(what string, n int64)
	// Requested enqueues RemoveArgs in the transaction of a deletion. Without it, the next sweep
	// removes deleted executions.
	Requested func(ctx context.Context, tx pgx.Tx) error
	// Crash, when set, is called with the name of each point where a crash must be
	// safe. Tests end the sweep there.
	Crash func(point string)

	Logger *slog.Logger
	Now    func() time.Time
}

// The kinds of objects for Count.
const (
	CountExecutions = "executions"
	CountArtifacts  = "artifacts"
	CountBlobs      = "blobs"
	CountBytes      = "bytes"
	CountVersions   = "versions"
	CountSweeps     = "sweeps" // of inputs
)

// DefaultGrace is the default of Config.Grace.
const DefaultGrace = 24 * time.Hour

// LeastGrace is the minimum grace period: a launch takes time from the upload to the
// commit.
const LeastGrace = time.Hour

// Service exempts, expires and removes data.
type Service struct {
	config  Config
	queries *db.Queries
}

// New returns a Service. It starts no background work.
func New(c Config) *Service {
	if c.Sessions == nil {
		c.Sessions = c.Pool
	}
	if c.Grace == 0 {
		c.Grace = DefaultGrace
	}
	if c.Development == 0 {
		c.Development = DefaultDevelopment
	}
	if c.Count == nil {
		c.Count = func(string, int64) {}
	}
	if c.Requested == nil {
		c.Requested = func(context.Context, pgx.Tx) error { return nil }
	}
	if c.Crash == nil {
		c.Crash = func(string) {}
	}
	if c.Telemetry == nil {
		c.Telemetry = func(context.Context, []uuid.UUID) error { return nil }
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{config: c, queries: db.New(c.Pool)}
}

// now is the current time in UTC, with the precision of Postgres.
func (s *Service) now() time.Time { return s.config.Now().UTC().Truncate(time.Microsecond) }

func absent(id uuid.UUID) error { return apperr.New(apperr.NotFound, "There is no execution %s.", id) }
