package quota

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/quota/fair"
)

const bytesPerStorageUnit = 1 << 20 // fair.Storage counts MiB

// storageUnits rounds up: a level with a byte too many is above its limit.
func storageUnits(bytes int64) int64 { return (bytes + bytesPerStorageUnit - 1) / bytesPerStorageUnit }

// AddStorage counts bytes that are new to project on every level above it, in
// the transaction of q that keeps them. With refuse it returns apperr.Quota when
// a level has no room for them. What an attempt puts out is never refused, so
// that no work is thrown away; instead nothing new starts while a level is full.
func (s *Service) AddStorage(ctx context.Context, q *db.Queries, project uuid.UUID, bytes int64, refuse bool) error {
	if bytes <= 0 {
		return nil
	}
	l, err := s.lock(ctx, q, project)
	if err != nil {
		return err
	}
	if refuse {
		if err := l.roomFor(bytes); err != nil {
			return err
		}
	}
	if err := l.add(ctx, nil, bytes); err != nil {
		return err
	}
	s.noteStorage(project, bytes)
	return nil
}

// roomFor returns apperr.Quota naming the level that bytes do not fit into.
func (l *locked) roomFor(bytes int64) error {
	for _, c := range l.path {
		level, ok := l.tree.Level(c.Level)
		if !ok {
			continue
		}
		limit, limited := level.Limits.Limit[fair.Storage]
		if !limited {
			continue
		}
		limit += level.Limits.Borrow[fair.Storage]
		if c.StorageBytes+bytes > limit*bytesPerStorageUnit {
			return apperr.New(apperr.Quota, "There is no room for %s: %s uses %s of its %s of storage.",
				fair.Storage.Format(storageUnits(bytes)), level.Ref(), fair.Storage.Format(storageUnits(c.StorageBytes)), fair.Storage.Format(limit))
		}
	}
	return nil
}

// noteStorage tells the scheduler. Should the transaction not commit, the next
// refreshStorage corrects it.
func (s *Service) noteStorage(project uuid.UUID, bytes int64) {
	s.mu.Lock()
	s.storage[project] += bytes
	usage := s.storageUse()
	s.mu.Unlock()
	s.fair.SetUsage(usage)
}

func (s *Service) storageUse() map[uuid.UUID]fair.Vector {
	usage := make(map[uuid.UUID]fair.Vector, len(s.storage))
	for id, bytes := range s.storage {
		usage[id] = fair.Vector{fair.Storage: storageUnits(bytes)}
	}
	return usage
}

// refreshStorage reads what projects keep.
func (s *Service) refreshStorage(ctx context.Context) error {
	rows, err := s.queries.StorageOfProjects(ctx)
	if err != nil {
		return fmt.Errorf("read the storage of projects: %w", err)
	}
	s.mu.Lock()
	clear(s.storage)
	for _, r := range rows {
		s.storage[r.NodeID] = r.StorageBytes
	}
	usage := s.storageUse()
	s.mu.Unlock()
	s.fair.SetUsage(usage)
	return nil
}
