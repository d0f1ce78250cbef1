package index

import (
	"context"
	"fmt"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/db"
)

// separate moves the executions of a failed pass in parts, and sets those aside that fail alone
// while others do not: they would stop the index for all projects. It returns cause if nothing can
// be moved.
func (s *Service) separate(ctx context.Context, conn driver.Conn, ids []uuid.UUID, cause error) error {
	bad := map[uuid.UUID]error{}
	var moved int
	var part func(ids []uuid.UUID, cause error) error
	part = func(ids []uuid.UUID, cause error) error {
		if ctx.Err() != nil || conn.Ping(ctx) != nil || s.cfg.Pool.Ping(ctx) != nil {
			return cause
		}
		if len(ids) == 1 {
			bad[ids[0]] = cause
			return nil
		}
		for half := range slices.Chunk(ids, (len(ids)+1)/2) {
			_, err := s.move(ctx, conn, func(q *db.Queries) ([]db.TakeChangesRow, error) {
				rows, err := q.TakeChangesOf(ctx, half)
				changes := make([]db.TakeChangesRow, len(rows))
				for i, r := range rows {
					changes[i] = db.TakeChangesRow(r)
				}
				return changes, err
			})
			if err == nil {
				moved += len(half)
			} else if err := part(half, err); err != nil {
				return err
			}
		}
		return nil
	}
	if len(ids) == 0 {
		return cause
	}
	if err := part(ids, cause); err != nil {
		return err
	}
	if moved == 0 {
		return cause
	}
	for id, err := range bad {
		s.cfg.Log.Error("an execution cannot be indexed: searches do not find its latest values", "execution", id, "error", err)
		if err := s.queries.SetChangesAside(ctx, err.Error(), id); err != nil {
			return fmt.Errorf("set execution %s aside: %w", id, err)
		}
	}
	return nil
}
