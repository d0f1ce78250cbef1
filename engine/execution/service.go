package execution

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"golang.org/x/sync/errgroup"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/workflow"
)

// Service is the engine. Its exported methods authorise the caller first, except the methods
// for the process that composes it and its jobs: Prepare, Run, Follow, TakeOver, Lead,
// Drain, Drive, Finished, EnsurePartitions and Prune.
type Service struct {
	*query.Reader // the read side; its methods are also methods of the Service

	config    Config
	pool      *pgxpool.Pool
	queries   *db.Queries
	workflows *workflow.Service
	artifacts *artifact.Service
	quota     *quota.Service
	enqueuer  *river.Client[pgx.Tx]
	owner     string
	live      *registry
	hub       *hub
	hints     *hints
	ends      *observedEnds
	since     atomic.Pointer[time.Time] // when this process began to reconcile
	term      atomic.Int64              // of the scheduler's lease; 0 without one
	views     views
	inputs    inputSets
	wakes     chan uuid.UUID
	rows      query.Rows
	estimates *query.Estimates
	results   results
}

// New returns a Service. It does nothing until Run.
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
		hints:     newHints(),
		ends:      newObservedEnds(),
		wakes:     make(chan uuid.UUID, wakeBacklog),
	}
	s.quota = c.Quotas
	if s.quota == nil {
		s.quota, err = quota.New(quota.Config{Pool: c.Pool, Capacity: c.Capacity, Instance: c.Instance, Logger: c.Logger, Now: c.Now})
		if err != nil {
			return nil, err
		}
	}
	s.quota.SetOfferHandler(s.wake)
	s.rows, s.estimates = query.NewRows(s.queries, c.Workflows), query.NewEstimates(s.queries, s.now)
	s.Reader = query.New(query.Config{
		Queries: s.queries, Workflows: c.Workflows, Quota: s.quota, Estimates: s.estimates, Inputs: s.nodeInputs,
		Cluster: c.Cluster, Retention: c.Retention, Now: s.now,
	})
	return s, nil
}

// notifyCooldown is the minimum time between two notifications of new jobs. A job without a
// notification waits for the next poll of its queue, so nearly all jobs get one.
const notifyCooldown = time.Millisecond

// wakeBacklog limits the executions that wait to be woken; the others are woken at their
// wake_at.
const wakeBacklog = 4096

// now is the current time in UTC, with the precision of Postgres.
func (s *Service) now() time.Time { return s.config.Now().UTC().Truncate(time.Microsecond) }

// Prepare releases the leases and the reservations of the previous process of this instance.
// Call it before any Drive.
func (s *Service) Prepare(ctx context.Context) error {
	if _, err := s.queries.EnsurePartitions(ctx, s.now(), partitionMonths); err != nil {
		return fmt.Errorf("create partitions: %w", err)
	}
	if _, err := s.queries.ExpireLeasesOf(ctx, s.config.Instance+"/"); err != nil {
		return fmt.Errorf("expire former leases: %w", err)
	}
	if s.config.Quotas != nil {
		return nil
	}
	return s.quota.Prepare(ctx)
}

// partitionMonths is how many months ahead partitions exist.
const partitionMonths = 2

// Run follows and leads until ctx ends, for the only server on a database. The drive jobs
// run separately (package jobs): stop them first, then Run.
func (s *Service) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	if s.config.Quotas == nil {
		group.Go(func() error { return s.quota.Run(ctx) })
	}
	group.Go(func() error { return s.Follow(ctx) })
	group.Go(func() error { return s.Lead(ctx) })
	return group.Wait()
}
