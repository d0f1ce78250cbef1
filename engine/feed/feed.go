// Package feed is the durable feed of events: what happened to executions, tasks, limits, artifacts
// and everything in the audit log, in an order in which a cursor never skips an event
// (docs/events.md). The leader copies events to it; any server reads it.
package feed

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/db"
)

// Defaults and limits.
const (
	DefaultKeep = 7 * 24 * time.Hour
	LeastKeep   = time.Hour
	MaxPage     = 1000

	// scanned is how many positions one request reads, so that a filter that matches nothing takes a
	// bounded time.
	scanned = 100_000
)

// Topics returns all topics.
func Topics() []string { return []string{"workflow", "task", "quota", "artifact", "audit"} }

// Config configures a Service. Pool is required.
type Config struct {
	Pool   *pgxpool.Pool
	Reads  db.DBTX       // runs the queries of readers, for example on a replica; nil: Pool
	Keep   time.Duration // how long events are kept; 0: DefaultKeep
	Every  time.Duration // the minimum between two copies; 0: 250 ms
	Watch  *db.Watch     // reports new events; nil: Run polls at the interval Every
	Copied func()        // called after new events were copied
	Logger *slog.Logger
	Now    func() time.Time
}

// Service copies and reads events. It is safe for concurrent use.
type Service struct {
	config  Config
	queries *db.Queries
	reads   *db.Queries
}

// New returns a Service.
func New(c Config) *Service {
	if c.Keep == 0 {
		c.Keep = DefaultKeep
	}
	if c.Every == 0 {
		c.Every = 250 * time.Millisecond
	}
	if c.Copied == nil {
		c.Copied = func() {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Service{config: c, queries: db.New(c.Pool)}
	if s.reads = s.queries; c.Reads != nil {
		s.reads = db.New(c.Reads)
	}
	return s
}

// Event is something that happened. ID is the same when the event is delivered again.
type Event struct {
	Cursor      string
	ID          string
	Topic       string
	Type        string // "execution.succeeded"
	At          time.Time
	TenantID    *uuid.UUID
	ProjectID   *uuid.UUID // nil: above the projects
	ExecutionID *uuid.UUID
	Subject     string // what it happened to
	Data        json.RawMessage
}

// Run copies new events and removes old ones until ctx ends. The leader calls it; a second loop would do
// no harm, since each copy is a transaction under one lock.
func (s *Service) Run(ctx context.Context) {
	var pruned time.Time
	for ctx.Err() == nil {
		turn, most := s.config.Watch.Turn(), db.Safety
		n, err := s.Relay(ctx)
		if err == nil && s.config.Now().Sub(pruned) >= time.Minute {
			pruned = s.config.Now()
			err = s.Prune(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.config.Logger.Warn("events could not be copied to the feed; the next attempt copies them", "error", err)
			most = s.config.Every
		}
		if n > 0 {
			s.config.Copied()
		}
		turn.Rest(ctx, nil, s.config.Every, most)
	}
}
