package app

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/db/replica"
	"github.com/flowforge/flowforge/handlers"
	"github.com/flowforge/flowforge/handlers/admin"
	"github.com/flowforge/flowforge/platform/election"
	"github.com/flowforge/flowforge/platform/observability"
)

// Limits of the lag: below the minimum, measuring it would take a large share of the time.
const (
	minReadLag = 100 * time.Millisecond
	maxReadLag = 5 * time.Minute
)

// replicaProblems checks the settings of the read replica.
func (c Config) replicaProblems() (problems []error) {
	if c.DatabaseURL == "" {
		problems = append(problems, fmt.Errorf("FLOWFORGE_DATABASE_READ_URL is set, and FLOWFORGE_DATABASE_URL is not: set it to the primary of this replica"))
	}
	if _, err := pgx.ParseConfig(c.DatabaseReadURL); err != nil {
		problems = append(problems, fmt.Errorf("FLOWFORGE_DATABASE_READ_URL is not an address such as postgres://user:password@host/database"))
	}
	if c.DatabaseReadLag < minReadLag || c.DatabaseReadLag > maxReadLag {
		problems = append(problems, fmt.Errorf("FLOWFORGE_DATABASE_READ_MAX_LAG must be from %s to %s", minReadLag, maxReadLag))
	}
	return problems
}

// openReplica starts to measure the read replica. A replica that is down does not prevent the start.
func (a *App) openReplica(ctx context.Context, p *parts) error {
	p.reads = p.pool
	if a.cfg.DatabaseReadURL == "" {
		return nil
	}
	pool, err := db.NewReadOnly(ctx, a.cfg.DatabaseReadURL, election.ApplicationName(p.holder), a.cfg.DatabaseSessionURL != "")
	if err != nil {
		return fmt.Errorf("FLOWFORGE_DATABASE_READ_URL: %w", oneLineError{err})
	}
	a.life.onStop(pool.Close)
	p.replica = replica.New(replica.Config{Primary: p.pool, Replica: pool, MaxLag: a.cfg.DatabaseReadLag, Log: a.cfg.Log, Now: time.Now})
	p.reads = p.replica.Reader()
	a.life.background("measuring the read replica", p.replica.Run)
	return nil
}

// replicaState returns nil without a replica.
func replicaState(p *parts) admin.Replica {
	if p.replica == nil {
		return nil
	}
	return func() admin.ReplicaState {
		s := p.replica.State()
		return admin.ReplicaState{Usable: s.Usable, Problem: s.Problem, Known: s.Known, Lag: s.Lag, MaxLag: s.MaxLag}
	}
}

// replicaChecks is the optional check of the replica.
func replicaChecks(p *parts) []handlers.Check {
	if p.replica == nil {
		return nil
	}
	return []handlers.Check{{Name: "replica", Ready: p.replica.Ready}}
}

// replicaMetrics returns nil without a replica.
func replicaMetrics(p *parts) func() observability.Replica {
	if p.replica == nil {
		return nil
	}
	return func() observability.Replica {
		s := p.replica.State()
		m := observability.Replica{Usable: s.Usable, Measured: s.Known, Lag: s.Lag, Reads: s.Reads.Replica, Primary: map[string]int64{}}
		for reason, n := range s.Reads.Primary {
			m.Primary[string(reason)] = n
		}
		return m
	}
}
