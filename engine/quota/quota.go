// Package quota keeps what the levels of the tenancy tree may use and what they
// use. The decisions are those of package fair, in memory; the rows here are the
// truth: a reservation and the counters of its whole path are written in one
// transaction, with the counters locked from the root down, so that no level is
// ever above its limit, however many processes share the database.
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

// Config is what a Service needs; Pool is required.
type Config struct {
	Pool *pgxpool.Pool
	// Capacity is what the installation has in all: the limit of the root, unless
	// that is set lower. Zero is this machine's.
	Capacity Capacity
	// Cluster says that a cluster has the capacity and places the GPUs: SetCapacity
	// says what there is, and until then nothing bounds the root.
	Cluster bool
	// Requests is what each pod of a task requests that names no CPU or no memory, where no
	// level of the tree says otherwise. Nil: nothing.
	Requests fair.Vector
	// Instance names this server among all on the database.
	Instance string
	Logger   *slog.Logger
	Now      func() time.Time
	Timing   Timing
}

// Timing holds the intervals of a Service; zero fields take the defaults.
type Timing struct {
	Poll      time.Duration // between two looks for changed limits: 500 ms
	Reconcile time.Duration // between two comparisons of counters and reservations: 1 min
	Lease     time.Duration // how long a reservation stands before its attempt starts: 60 s
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

// Service is the quotas of an installation. Methods for pages authorise the
// caller first; those for the engine, which owns the transactions, do not.
type Service struct {
	config  Config
	pool    *pgxpool.Pool
	queries *db.Queries
	fair    *fair.Scheduler
	now     func() time.Time
	wake    atomic.Pointer[func(execution uuid.UUID)]

	capacity atomic.Pointer[Capacity] // nil: the cluster has not said

	// order makes the rows see grants and releases in the order in which the
	// scheduler decided them: it is held from the decision until the root's row
	// is locked.
	order sync.Mutex

	follower atomic.Bool // another process decides
	stale    atomic.Bool // memory believed in room that the rows do not have

	trees    sync.Mutex // held while the scheduler's tree and its revision change
	revision int64      // of the tree in use

	mu       sync.Mutex
	stored   map[uuid.UUID]int64     // bytes of artifacts at or below each level
	projects map[uuid.UUID]int64     // of which these are the projects'
	full     map[uuid.UUID]uuid.UUID // executions that wait for storage, with their project
	drift    Drift
}

// New returns a Service that knows no level but the root until Prepare.
func New(c Config) (*Service, error) {
	c = c.withDefaults()
	s := &Service{config: c, pool: c.Pool, queries: db.New(c.Pool), now: c.Now, revision: -1, stored: map[uuid.UUID]int64{}, projects: map[uuid.UUID]int64{}, full: map[uuid.UUID]uuid.UUID{}}
	if !c.Cluster {
		s.capacity.Store(&c.Capacity)
	}
	tree, err := fair.NewTree([]fair.Level{{ID: auth.Installation, Kind: "installation", Name: "installation", Limits: fair.Limits{Limit: s.bounds()}}})
	if err != nil {
		return nil, err
	}
	s.fair = fair.NewScheduler(fair.Config{Tree: tree, Wake: s.offered, Now: c.Now})
	if len(c.Capacity.GPUs) > 0 && !c.Cluster {
		s.fair.SetMachines([]fair.Machine{{Name: c.Instance, Devices: c.Capacity.GPUs}})
	}
	return s, nil
}

// OnOffer sets who is told that room is set aside for an execution. wake must
// not block. It is for the engine, before Run.
func (s *Service) OnOffer(wake func(execution uuid.UUID)) { s.wake.Store(&wake) }

func (s *Service) offered(execution uuid.UUID) {
	if wake := s.wake.Load(); wake != nil {
		(*wake)(execution)
	}
}

// Scheduler returns the image in memory, for pages and forecasts.
func (s *Service) Scheduler() *fair.Scheduler { return s.fair }

// Prepare loads tree, limits, use and reservations. Call it before anything else.
func (s *Service) Prepare(ctx context.Context) error {
	if err := s.Reload(ctx); err != nil {
		return err
	}
	if err := s.restoreHistory(ctx); err != nil {
		return err
	}
	held, err := s.held(ctx, s.queries)
	if err != nil {
		return err
	}
	s.fair.Restore(held)
	return s.refreshStorage(ctx)
}

// Run follows changes of limits, withdraws what nobody takes, compares counters
// with reservations and keeps samples, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	poll := time.NewTicker(s.config.Timing.Poll)
	defer poll.Stop()
	minute := time.NewTicker(s.config.Timing.Reconcile)
	defer minute.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-poll.C:
			s.fair.Sweep()
			if err = s.follow(ctx); s.stale.Swap(false) {
				err = errors.Join(err, s.refresh(ctx))
			}
		case <-minute.C:
			err = s.maintain(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.config.Logger.Warn("quotas", "error", err)
		}
	}
}
