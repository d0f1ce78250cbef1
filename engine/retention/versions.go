package retention

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/db"
)

// DefaultDevelopment is the default of Config.Development.
const DefaultDevelopment = 14 * 24 * time.Hour

const chunkVersions = 500

// versions removes development versions that no execution uses and that no person has saved
// within the retention time, and workflows that have no other version.
func (s *Service) versions(ctx context.Context, r *Report) error {
	if r.DryRun {
		return nil
	}
	before := s.now().Add(-s.config.Development)
	for after := uuid.Nil; ; {
		var ids []uuid.UUID
		var removed int64
		err := db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) (err error) {
			if ids, err = q.LockUnusedVersions(ctx, before, after, chunkVersions); err != nil || len(ids) == 0 {
				return err
			}
			// The locks wait for launches of these versions; these statements see them.
			versions, err := q.DeleteUnusedVersions(ctx, ids, before)
			if err != nil {
				return err
			}
			workflows, err := q.DeleteUnusedWorkflows(ctx, ids, before)
			removed = versions + workflows // a workflow is removed with its only version
			return err
		})
		if err != nil {
			return fmt.Errorf("remove unused development versions: %w", err)
		}
		if len(ids) == 0 {
			return nil
		}
		r.Versions += removed
		s.config.Count(CountVersions, removed)
		after = ids[len(ids)-1]
	}
}
