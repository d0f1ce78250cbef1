// Package consumer delivers the events of the feed to named consumers: at least once, and the events of an
// execution in their order. A consumer has a cursor that the server stores, leases for events that it is
// processing, and dead letters for events that it could not process (docs/events.md).
package consumer

import (
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/feed"
)

// Limits and defaults.
const (
	MaxConsumers = 100 // of a project, and of the installation
	MaxBatch     = 1000
	MaxLease     = 12 * time.Hour
	MaxWait      = 30 * time.Second
	MaxTries     = 100
	DefaultTries = 10
	DefaultLease = time.Minute
	DefaultBatch = 100
	// MaxTaken is how many events a consumer can have taken and not acknowledged.
	MaxTaken = 10_000
	// MaxDead is how many dead letters stop a consumer, so that nothing is lost if all events fail.
	MaxDead = 10_000

	maxName   = 100
	maxTypes  = 50
	maxReason = 2000
	// scanned is how many positions of the feed one statement reads.
	scanned = 100_000
	// counted is among how many positions of the feed unread events are counted.
	counted = 1_000_000
)

// The start of a new consumer, if it is not a cursor.
const (
	Oldest = "oldest"
	Newest = "newest"
)

// Config configures a Service. Pool is required.
type Config struct {
	Pool *pgxpool.Pool
	Keep time.Duration // how long the feed keeps events, for messages; 0: feed.DefaultKeep
	Now  func() time.Time
}

// Service keeps consumers. It is safe for concurrent use.
type Service struct {
	config  Config
	queries *db.Queries
}

// New returns a Service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Keep == 0 {
		c.Keep = feed.DefaultKeep
	}
	return &Service{config: c, queries: db.New(c.Pool)}
}

// now is the current time in UTC, with the precision of Postgres.
func (s *Service) now() time.Time { return s.config.Now().UTC().Truncate(time.Microsecond) }

// Ref names a consumer of the current project, or one of the installation.
type Ref struct {
	Name         string
	Installation bool // receives the events of all projects, and above them
}

// Spec describes a new consumer.
type Spec struct {
	Ref
	Topics   []string // none: all but audit
	Types    []string // patterns such as execution.*; none: all
	Start    string   // Oldest, Newest, or a cursor of the feed, after which it starts
	MaxTries int      // failures after which an event becomes a dead letter; 0: DefaultTries
}

// Consumer is a consumer and its lag.
type Consumer struct {
	Ref
	ID       uuid.UUID
	Sink     bool // the server itself reads, and sends events to a broker
	Topics   []string
	Types    []string
	MaxTries int

	Cursor         string // all events up to it are acknowledged, or dead letters
	Lag            int64  // events that are not acknowledged
	LagMore        bool   // there are more than Lag, which were not counted
	Oldest         *time.Time
	Taken          int64 // of Lag: leased, or waiting after a failure or behind one
	Failing        int64 // of Taken: waiting for their next try
	DeadLetters    int64
	Missed         int64 // events of the feed, wanted or not, that retention removed before the consumer read them
	Acknowledged   int64
	AcknowledgedAt *time.Time
	ReadAt         *time.Time
	Problem        string // why the broker of a sink does not accept events
	ProblemAt      *time.Time
	CreatedBy      string
	CreatedAt      time.Time
}

// Stopped reports whether the consumer receives no new events because of its dead letters.
func (c Consumer) Stopped() bool { return c.DeadLetters >= MaxDead }

// Delivery is an event that a consumer has taken.
type Delivery struct {
	feed.Event
	Tries    int // failures until now
	Error    string
	FailedAt *time.Time
	DeadAt   *time.Time
}

// Lease contains events that a reader processes. The reader must call Acknowledge or Fail before
// Until, or the events are delivered again.
type Lease struct {
	ID     uuid.UUID // uuid.Nil without events
	Until  time.Time
	Events []Delivery // in the order of the feed
}

func absent(ref Ref) error {
	if ref.Installation {
		return apperr.New(apperr.NotFound, "There is no consumer called %q of all projects.", ref.Name)
	}
	return apperr.New(apperr.NotFound, "There is no consumer called %q in this project.", ref.Name)
}
