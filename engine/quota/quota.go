// Package quota stores the limits and the usage of the levels of the tenancy tree.
// Package fair makes the decisions in memory, but the rows here are the source of truth: one
// transaction writes a reservation and the counters of its whole path. It locks the counters
// from the root down, so no level ever exceeds its limit, with any number of processes on
// the database.
package quota

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// Config configures a Service; Pool is required.
type Config struct {
	Pool *pgxpool.Pool
	// Capacity is the total capacity of the installation: the limit of the root, unless
	// that is set lower. Zero means the capacity of this machine.
	Capacity Capacity
	// Cluster means that a cluster provides the capacity and places the GPUs:
	// SetCapacity sets it, and until then the root has no limit.
	Cluster bool
	// Requests is the CPU and memory of each pod of a task that requests none, unless a
	// level of the tree sets them. Nil: nothing.
	Requests fair.Vector
	// Instance identifies this server among all servers on the database.
	Instance string
	Watch    *db.Watch // reports changed limits; nil: Run polls at the interval Poll
	Logger   *slog.Logger
	Now      func() time.Time
	Timing   Timing
}

// Timing holds the intervals of a Service; zero fields take the defaults.
type Timing struct {
	Poll      time.Duration // minimum interval of checks for changed limits: 500 ms
	Reconcile time.Duration // interval of comparisons of counters with reservations: 1 min
	Lease     time.Duration // how long a reservation is valid before its attempt starts: 60 s
}

func (c Config) withDefaults() Config {
	if c.Capacity.zero() && !c.Cluster {
		c.Capacity = Machine()
	}
	if c.Instance == "" {
		c.Instance = uuid.NewString()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Timing.Poll == 0 {
		c.Timing.Poll = 500 * time.Millisecond
	}
	if c.Timing.Reconcile == 0 {
		c.Timing.Reconcile = time.Minute
	}
	if c.Timing.Lease == 0 {
		c.Timing.Lease = time.Minute
	}
	return c
}

// Service decides which requests of executions start, and charges them. The engine owns the
// transactions, so these methods do not authorize a caller. The parts of a Service that
// others use as well are its exported fields.
type Service struct {
	Levels       *Levels
	Storage      *Storage
	Reservations *Reservations
	Reconciler   *Reconciler
	Reader       *Reader
	Editor       *Editor

	config  Config
	queries *db.Queries
	fair    *fair.Scheduler
	now     func() time.Time
	wake    atomic.Pointer[func(execution uuid.UUID)]
	samples *samples

	// order makes grants and releases reach the rows in the order of the scheduler's
	// decisions: it is held from the decision until the root's row is locked.
	order sync.Mutex

	follower atomic.Bool // another process decides
	stale    atomic.Bool // memory assumed capacity that the rows do not have
}

// New returns a Service that knows only the root until Prepare.
func New(c Config) (*Service, error) {
	c = c.withDefaults()
	s := &Service{config: c, queries: db.New(c.Pool), now: c.Now}
	s.Levels = &Levels{queries: s.queries, cluster: c.Cluster, requests: c.Requests, log: c.Logger, revision: -1}
	if !c.Cluster {
		s.Levels.capacity.Store(&c.Capacity)
	}
	tree, err := fair.NewTree([]fair.Level{{ID: auth.Installation, Kind: "installation", Name: "installation", Limits: fair.Limits{Limit: s.Levels.bounds()}}})
	if err != nil {
		return nil, err
	}
	s.fair = fair.NewScheduler(fair.Config{Tree: tree, Wake: s.offered, Now: c.Now})
	if len(c.Capacity.GPUs) > 0 && !c.Cluster {
		s.fair.SetMachines([]fair.Machine{{Name: c.Instance, Devices: c.Capacity.GPUs}})
	}
	s.Storage = &Storage{queries: s.queries, fair: s.fair, levels: s.Levels, wake: s.offered, levelBytes: map[uuid.UUID]int64{}, projectBytes: map[uuid.UUID]int64{}, waiting: map[uuid.UUID]uuid.UUID{}}
	s.Levels.fair, s.Levels.changed = s.fair, s.Storage.wakeWaiting
	s.Reservations = &Reservations{levels: s.Levels, now: c.Now, instance: c.Instance, lease: c.Timing.Lease}
	s.Reconciler = &Reconciler{pool: c.Pool, levels: s.Levels, now: c.Now, log: c.Logger}
	s.Reader = &Reader{pool: c.Pool, fair: s.fair, now: c.Now}
	s.Editor = &Editor{pool: c.Pool, fair: s.fair, now: c.Now, levels: s.Levels, reader: s.Reader}
	s.samples = &samples{queries: s.queries, fair: s.fair, now: c.Now}
	return s, nil
}

// SetOfferHandler sets the function to call when an execution has an offer. wake must not
// block. The engine calls SetOfferHandler before Run.
func (s *Service) SetOfferHandler(wake func(execution uuid.UUID)) { s.wake.Store(&wake) }

func (s *Service) offered(execution uuid.UUID) {
	if wake := s.wake.Load(); wake != nil {
		(*wake)(execution)
	}
}

// Scheduler returns the image in memory, for pages and forecasts.
func (s *Service) Scheduler() *fair.Scheduler { return s.fair }

// Prepare loads tree, limits, use and reservations. Call it before anything else.
func (s *Service) Prepare(ctx context.Context) error {
	if err := s.Levels.Reload(ctx); err != nil {
		return err
	}
	if err := s.samples.restoreHistory(ctx); err != nil {
		return err
	}
	held, err := heldReservations(ctx, s.queries)
	if err != nil {
		return err
	}
	s.fair.Restore(held)
	return s.Storage.refresh(ctx)
}

// Run follows changes of limits, withdraws unclaimed offers, compares counters with
// reservations and stores samples, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	timing := s.config.Timing
	maintained := time.Now()
	for ctx.Err() == nil {
		turn := s.config.Watch.Turn()
		s.fair.Sweep()
		err := s.Levels.follow(ctx)
		if s.stale.Swap(false) {
			err = errors.Join(err, s.refresh(ctx))
		}
		if time.Since(maintained) >= timing.Reconcile {
			maintained = time.Now()
			err = errors.Join(err, s.maintain(ctx))
		}
		most := min(db.Safety, timing.Reconcile-time.Since(maintained))
		if err != nil && ctx.Err() == nil {
			s.config.Logger.Warn("quotas", "error", err)
			most = timing.Poll
		}
		if len(s.fair.WaitingExecutions()) > 0 { // their offers expire
			most = min(most, timing.Poll)
		}
		turn.Rest(ctx, nil, timing.Poll, most)
	}
	return nil
}
