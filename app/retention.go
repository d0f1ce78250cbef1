package app

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/feed"
	"github.com/flowforge/flowforge/engine/retention"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/jobs"
	"github.com/flowforge/flowforge/platform/observability"
)

// Retention configures what is removed and when.
type Retention struct {
	Rule  workflow.TTL  // of executions whose definition has none; the zero rule keeps them
	Grace time.Duration // how long unreferenced bytes are kept; 0: a day
	// Development is how long unused development versions are kept; 0: 14 days.
	Development time.Duration
	Every       time.Duration // interval between sweeps; 0: an hour
	Events      time.Duration // how long the feed keeps events; 0: 7 days
}

const (
	leastSweep       = time.Minute
	leastDevelopment = time.Hour
)

// check reports the first invalid setting.
func (c Retention) check() error {
	if c.Grace != 0 && c.Grace < retention.LeastGrace {
		return fmt.Errorf("FLOWFORGE_RETENTION_GRACE must be 1h or more, so that newly uploaded files are kept until they are referenced")
	}
	if c.Development != 0 && c.Development < leastDevelopment {
		return fmt.Errorf("FLOWFORGE_RETENTION_DEVELOPMENT must be 1h or more, so that users can launch the version that they last saved")
	}
	if c.Every != 0 && c.Every < leastSweep {
		return fmt.Errorf("FLOWFORGE_RETENTION_SWEEP must be 1m or more")
	}
	if c.Events != 0 && c.Events < feed.LeastKeep {
		return fmt.Errorf("FLOWFORGE_RETENTION_EVENTS must be 1h or more, so that consumers have time to read events")
	}
	return nil
}

// openRetention creates the service that keeps, deletes and sweeps; the jobs call it.
func (a *App) openRetention(p *parts) error {
	inserts, err := river.NewClient(riverpgxv5.New(p.pool), &river.Config{Logger: a.cfg.Log})
	if err != nil {
		return fmt.Errorf("create the client of removals: %w", err)
	}
	p.retention = retention.New(retention.Config{
		Pool: p.pool, Sessions: p.direct.Pool, Store: p.store, Free: p.quotas.Storage.Free, Telemetry: p.telemetry.Remove,
		Rule: a.cfg.Retention.Rule, Grace: a.cfg.Retention.Grace, Development: a.cfg.Retention.Development, Logger: a.cfg.Log, Now: time.Now,
		Count: func(what string, n int64) { a.monitoring.metrics.Count(observability.Swept, what, int(n)) },
		Requested: func(ctx context.Context, tx pgx.Tx) error {
			_, err := inserts.InsertTx(ctx, tx, retention.RemoveArgs{}, &river.InsertOpts{Queue: execution.QueueMaintenance})
			return err
		},
	})
	return nil
}

// sweeps are the recurring sweeps of a service.
func (c Retention) sweeps(of *retention.Service) jobs.Sweeps {
	every := c.Every
	if every == 0 {
		every = time.Hour
	}
	return jobs.Sweeps{Service: of, Every: every}
}
