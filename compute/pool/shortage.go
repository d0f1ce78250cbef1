package pool

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/db"
)

const (
	// shortageAfter is how long tasks wait for a pool without workers before this is reported.
	shortageAfter  = 5 * time.Minute
	shortagesEvery = 10 * time.Second
)

// reportShortages records the begin and the end of shortages in the audit log: of each project, the time
// during which its tasks wait for a pool without connected workers.
func (s *Service) reportShortages(ctx context.Context) error {
	found, err := s.queries.FindPoolShortages(ctx, s.config.Now().Add(-shortageAfter))
	if err != nil {
		return fmt.Errorf("find pools without workers: %w", err)
	}
	known, err := s.queries.ListPoolShortages(ctx)
	if err != nil {
		return fmt.Errorf("list pools without workers: %w", err)
	}
	type key struct {
		pool    string
		project uuid.UUID
	}
	ended := make(map[key]db.PoolShortage, len(known))
	for _, k := range known {
		ended[key{k.Pool, k.ProjectID}] = k
	}
	for _, f := range found {
		k := key{f.Pool, f.ProjectID}
		if _, reported := ended[k]; reported {
			delete(ended, k)
			continue
		}
		if err := s.beginShortage(ctx, f); err != nil {
			return err
		}
	}
	for _, k := range ended {
		if err := s.endShortage(ctx, k); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) beginShortage(ctx context.Context, f db.FindPoolShortagesRow) error {
	return db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		n, err := q.BeginPoolShortage(ctx, f.Pool, f.ProjectID, f.TenantID, f.Since)
		if err != nil {
			return fmt.Errorf("record that the pool %s has no workers: %w", f.Pool, err)
		}
		if n == 0 {
			return nil
		}
		s.config.Logger.Warn("Tasks wait for a pool without connected workers. Start a worker of this pool.", "pool", f.Pool, "project", f.ProjectID, "tasks", f.Tasks, "since", f.Since)
		return audit.Record(ctx, q, shortageEntry("pool.stall", f.Pool, f.TenantID, f.ProjectID, map[string]any{"tasks": f.Tasks, "since": f.Since}))
	})
}

func (s *Service) endShortage(ctx context.Context, k db.PoolShortage) error {
	return db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		n, err := q.EndPoolShortage(ctx, k.Pool, k.ProjectID)
		if err != nil || n == 0 {
			return err
		}
		return audit.Record(ctx, q, shortageEntry("pool.recover", k.Pool, k.TenantID, k.ProjectID, nil))
	})
}

func shortageEntry(action, pool string, tenant, project uuid.UUID, facts any) audit.Entry {
	return audit.Entry{Action: action, Kind: "pool", ID: pool, Name: pool, TenantID: tenant, ProjectID: project, New: facts}
}
