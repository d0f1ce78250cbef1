package execution

import (
	"cmp"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/workflow"
)

// core contains what all services of the engine share: their configuration, the drive loops of
// this process, and the notifications of drivers and watchers.
type core struct {
	config    Config
	pool      *pgxpool.Pool
	queries   *db.Queries
	reader    *query.Reader
	rows      query.Rows
	estimates *query.Estimates
	workflows *workflow.Service
	artifacts *artifact.Service
	quota     *quota.Service
	enqueuer  *river.Client[pgx.Tx]
	owner     string // of leases and notifications
	live      *registry
	holds     *startHolds
	series    chan struct{} // has an element for each connection that a LaunchSeries keeps
	hub       *hub
	hints     *hints
	wakes     chan uuid.UUID
	results   results
}

// newCore returns a core without its reader.
func newCore(c Config) (*core, error) {
	enqueuer, err := river.NewClient(riverpgxv5.New(c.Pool), &river.Config{Logger: cmp.Or(c.JobLogger, c.Logger), FetchCooldown: notifyCooldown})
	if err != nil {
		return nil, fmt.Errorf("make the job client: %w", err)
	}
	s := &core{
		config:    c,
		pool:      c.Pool,
		queries:   db.New(c.Pool),
		workflows: c.Workflows,
		artifacts: c.Artifacts,
		quota:     c.Quotas,
		enqueuer:  enqueuer,
		owner:     c.Instance + "/" + uuid.NewString(),
		live:      newRegistry(),
		holds:     newStartHolds(),
		series:    make(chan struct{}, max(1, c.Pool.Config().MaxConns/2)),
		hub:       newHub(),
		hints:     newHints(),
		wakes:     make(chan uuid.UUID, wakeBacklog),
	}
	if s.quota == nil {
		s.quota, err = quota.New(quota.Config{Pool: c.Pool, Capacity: c.Capacity, Instance: c.Instance, Watch: c.Watch, Logger: c.Logger, Now: c.Now})
		if err != nil {
			return nil, err
		}
	}
	s.rows, s.estimates = query.NewRows(s.queries, c.Workflows), query.NewEstimates(s.queries, s.now)
	return s, nil
}

// reads are the queries of the Reader.
func (s *core) reads() *db.Queries {
	if s.config.Reads == nil {
		return s.queries
	}
	return db.New(s.config.Reads)
}

// notifyCooldown is the minimum time between two notifications of new jobs. A job without a
// notification waits for the next poll of its queue, so nearly all jobs get one.
const notifyCooldown = time.Millisecond

// wakeBacklog limits the executions that wait to be woken; the others are woken at their
// wake_at.
const wakeBacklog = 4096

// now is the current time in UTC, with the precision of Postgres.
func (s *core) now() time.Time { return s.config.Now().UTC().Truncate(time.Microsecond) }
