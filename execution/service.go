package execution

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"golang.org/x/sync/errgroup"

	"github.com/flowforge/flowforge/artifact"
	"github.com/flowforge/flowforge/auth"
	"github.com/flowforge/flowforge/db"
	quota "github.com/flowforge/flowforge/quota/local"
	"github.com/flowforge/flowforge/workflow"
)

// Service is the engine. Its exported methods authorise the caller first, except
// those for the process that composes it and its jobs: Prepare, Run, Drain, Drive,
// Finished and EnsurePartitions.
type Service struct {
	config    Config
	pool      *pgxpool.Pool
	queries   *db.Queries
	workflows *workflow.Service
	artifacts *artifact.Service
	quota     *quota.Local
	enqueuer  *river.Client[pgx.Tx]
	owner     string
	live      *registry
	hub       *hub
	inputs    inputSets
	wakes     chan uuid.UUID
	estimates estimateCache
}

// New returns a Service. It does nothing of its own until Run.
func New(c Config) (*Service, error) {
	c = c.withDefaults()
	enqueuer, err := river.NewClient(riverpgxv5.New(c.Pool), &river.Config{Logger: c.Logger, FetchCooldown: notifyCooldown})
	if err != nil {
		return nil, fmt.Errorf("make the job client: %w", err)
	}
	s := &Service{
		config:    c,
		pool:      c.Pool,
		queries:   db.New(c.Pool),
		workflows: c.Workflows,
		artifacts: c.Artifacts,
		enqueuer:  enqueuer,
		owner:     c.Instance + "/" + uuid.NewString(),
		live:      newRegistry(),
		hub:       newHub(),
		wakes:     make(chan uuid.UUID, wakeBacklog),
	}
	s.quota = quota.NewLocal(quota.Config{Capacity: c.Capacity, Wake: s.wake, Now: c.Now})
	return s, nil
}

// notifyCooldown is the least time between two notifications of new jobs. A job
// without one waits for the next poll of its queue, so there is one for nearly all.
const notifyCooldown = time.Millisecond

// wakeBacklog bounds the executions that wait to be woken; beyond it their
// wake_at brings them back.
const wakeBacklog = 4096

// now is the present in UTC, as exactly as Postgres keeps it.
func (s *Service) now() time.Time { return s.config.Now().UTC().Truncate(time.Microsecond) }

// Capacity returns what this machine shares among executions, and what is free.
func (s *Service) Capacity(ctx context.Context) (capacity, free quota.Amount, err error) {
	if _, err := auth.Authorize(ctx, auth.ExecutionRead); err != nil {
		return quota.Amount{}, quota.Amount{}, err
	}
	return s.quota.Capacity(), s.quota.Free(), nil
}

// Prepare takes up what the former process of this instance left: its leases and
// its reservations. Call it before any Drive.
func (s *Service) Prepare(ctx context.Context) error {
	if _, err := s.queries.EnsurePartitions(ctx, s.now(), partitionMonths); err != nil {
		return fmt.Errorf("create partitions: %w", err)
	}
	if _, err := s.queries.ExpireLeasesOf(ctx, s.config.Instance+"/"); err != nil {
		return fmt.Errorf("expire former leases: %w", err)
	}
	return s.restoreCapacity(ctx)
}

// partitionMonths is how many months ahead partitions exist.
const partitionMonths = 2

// restoreCapacity makes the quota's image equal to the reservations.
func (s *Service) restoreCapacity(ctx context.Context) error {
	rows, err := s.queries.ListReservations(ctx)
	if err != nil {
		return fmt.Errorf("list reservations: %w", err)
	}
	held := make(map[quota.Key]quota.Amount, len(rows))
	for _, r := range rows {
		if r.Launcher != s.config.Instance || r.NodeIndex < 0 {
			continue
		}
		key := quota.Key{Execution: r.ExecutionID, Node: int(r.NodeIndex)}
		held[key] = quota.Amount{CPUMillis: int(r.CpuMillis), MemoryMiB: int(r.MemoryMib), Slots: 1}
	}
	s.quota.Restore(held)
	return nil
}

// Run renews leases, reconciles and passes on notifications until ctx ends. The
// drive jobs run elsewhere (package jobs); stop them first, then Run.
func (s *Service) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.renewLeases(ctx) })
	group.Go(func() error { return s.reconcileForever(ctx) })
	group.Go(func() error { return s.wakeForever(ctx) })
	group.Go(func() error { return s.announceForever(ctx) })
	group.Go(func() error { return s.listenForever(ctx) })
	group.Go(func() error { return s.pollForever(ctx) })
	return group.Wait()
}
