// Package retention removes what nobody keeps any more: executions whose time is over,
// with their rows, logs and artifacts, and the bytes that nothing names. Whoever keeps
// an execution keeps it here, too.
//
// A sweep may stop anywhere and begin again: every step leaves what the next sweep
// finds (docs/decisions/012-garbage.md).
package retention

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/workflow"
)

// Config is what a Service needs; the first three fields are required.
type Config struct {
	Pool  *pgxpool.Pool
	Store artifact.Remover
	// Free counts bytes that a project keeps no more, in the transaction of q.
	Free func(ctx context.Context, q *db.Queries, project uuid.UUID, bytes int64) error
	// Telemetry removes logs and metrics. It fails as long as it cannot, and then the
	// executions stay. nil: there are none.
	Telemetry func(ctx context.Context, executions []uuid.UUID) error
	// Rule is how long executions are kept of which no definition says it.
	Rule workflow.TTL
	// Grace is how long bytes stay that nothing names: whoever brings some, or asks
	// whether they are there, has so long to name them. Zero is a day.
	Grace time.Duration
	// Count, when set, is told what was removed.
	Count func(what string, n int64)
	// Crash, when set, is called with the name of each point where a stop must do no
	// harm. Tests end the sweep there.
	Crash func(point string)

	Logger *slog.Logger
	Now    func() time.Time
}

// What Count is told of.
const (
	CountExecutions = "executions"
	CountArtifacts  = "artifacts"
	CountBlobs      = "blobs"
	CountBytes      = "bytes"
)

// DefaultGrace is how long bytes stay that nothing names.
const DefaultGrace = 24 * time.Hour

// LeastGrace bounds the grace: a launch takes its time from the upload to the commit.
const LeastGrace = time.Hour

// Service keeps, removes and sweeps.
type Service struct {
	config  Config
	queries *db.Queries
}

// New returns a Service that does nothing of its own.
func New(c Config) *Service {
	if c.Grace == 0 {
		c.Grace = DefaultGrace
	}
	if c.Count == nil {
		c.Count = func(string, int64) {}
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

// now is the present in UTC, as exactly as Postgres keeps it.
func (s *Service) now() time.Time { return s.config.Now().UTC().Truncate(time.Microsecond) }

func absent(id uuid.UUID) error { return apperr.New(apperr.NotFound, "There is no execution %s.", id) }
