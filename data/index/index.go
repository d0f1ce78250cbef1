// Package index finds executions by their values: inputs, outputs, metrics, tags and facts. The
// entries are in ClickHouse, one row per execution with a column per name
// (docs/decisions/021-index-of-values.md). Postgres notes which executions changed, in the
// transaction of the change, and every search first brings the index up to date.
package index

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

const (
	batchChanges = 500             // that one pass takes
	followEvery  = time.Second     // between the passes of Run, at least
	backoff      = 5 * time.Second // after a failed pass
)

// Config configures a Service.
type Config struct {
	Pool *pgxpool.Pool
	// Conn returns the connection to ClickHouse for searches, or an error while its tables do not exist.
	Conn func() (driver.Conn, error)
	// Background returns the connection for the passes that bring the index up to date, so that they do
	// not wait for searches. nil: Conn.
	Background func() (driver.Conn, error)

	Watch *db.Watch // reports changes of executions; nil: Run polls every second
	Log   *slog.Logger
	Now   func() time.Time
}

// Service keeps and reads the index. It is safe for concurrent use.
type Service struct {
	cfg     Config
	queries *db.Queries
	pass    chan struct{} // full while a pass runs: a search finds what an earlier pass of this server took

	// Of the running pass:
	columns map[string]int // number of columns of each type that the table has; nil: unknown
	checked time.Time      // when a pass last found that the table is the one that Postgres knows
}

// New returns a Service.
func New(c Config) *Service {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Background == nil {
		c.Background = c.Conn
	}
	return &Service{cfg: c, queries: db.New(c.Pool), pass: make(chan struct{}, 1)}
}

// Run brings the index up to date until ctx ends. Any number of servers may run it.
func (s *Service) Run(ctx context.Context) error {
	failed := false
	if err := s.queries.RetryChanges(ctx); err != nil && ctx.Err() == nil {
		s.cfg.Log.Warn("executions that could not be indexed are not retried", "error", err)
	}
	for ctx.Err() == nil {
		turn, most := s.cfg.Watch.Turn(), db.Safety
		taken, err := s.follow(ctx, uuid.Nil)
		if err == nil && taken < batchChanges {
			if taken, err = s.noteOlder(ctx); taken > 0 {
				taken = batchChanges
			}
		}
		wait := followEvery
		switch {
		case err == nil && taken >= batchChanges:
			wait = 0
		case err != nil && ctx.Err() == nil:
			wait, most = backoff, backoff
			if !failed && !errors.Is(err, errNotReady) {
				s.cfg.Log.Warn("the index of executions is behind", "error", err)
			}
		}
		failed = err != nil
		if wait > 0 {
			turn.Rest(ctx, nil, wait, most)
		}
	}
	return nil
}

// errNotReady means that ClickHouse does not respond yet.
var errNotReady = errors.New("index: ClickHouse is not connected yet")

// ready returns the connection of get, or errNotReady.
func ready(get func() (driver.Conn, error)) (driver.Conn, error) {
	conn, err := get()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotReady, err)
	}
	return conn, nil
}

// unavailable is the error for readers while ClickHouse does not respond.
func unavailable(err error) error {
	return apperr.Wrap(apperr.Unavailable, err, "ClickHouse is not responding, so executions cannot be searched by their values right now.")
}

// Note makes the index read executions again: their metrics have new points.
func (s *Service) Note(ctx context.Context, executions []uuid.UUID) error {
	if len(executions) == 0 {
		return nil
	}
	if err := s.queries.NoteChanges(ctx, executions); err != nil {
		return fmt.Errorf("note changes of executions: %w", err)
	}
	return nil
}

// reader returns the project of the caller, who may read its executions.
func reader(ctx context.Context) (auth.Subject, error) {
	return auth.Authorize(ctx, auth.ExecutionRead)
}
