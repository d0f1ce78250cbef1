package quota

import (
	"context"
	"fmt"
	"maps"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

const bytesPerStorageUnit = 1 << 20 // fair.Storage counts MiB

// storageUnits rounds up: a level one byte above its limit is above it.
func storageUnits(bytes int64) int64 { return (bytes + bytesPerStorageUnit - 1) / bytesPerStorageUnit }

// AddStorage adds bytes that are new to project to every level above it, in the
// transaction of q that stores them. With refuse, it returns apperr.Quota when they
// exceed the limit of a level. Outputs of an attempt are never refused, so that no work
// is lost; instead, nothing new starts while a level is full.
func (s *Service) AddStorage(ctx context.Context, q *db.Queries, project uuid.UUID, bytes int64, refuse bool) error {
	if bytes <= 0 {
		return nil
	}
	l, err := s.lock(ctx, q, project)
	if err != nil {
		return err
	}
	if refuse {
		if err := l.checkStorage(bytes); err != nil {
			return err
		}
	}
	if err := l.add(ctx, nil, bytes); err != nil {
		return err
	}
	s.noteStorage(l, bytes)
	return nil
}

// checkStorage returns an apperr.Quota that names the level whose limit bytes would exceed.
func (l *locked) checkStorage(bytes int64) error {
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
			return apperr.New(apperr.Quota, "Not enough storage for %s: %s uses %s of %s.",
				fair.Storage.Format(storageUnits(bytes)), level.Ref(), fair.Storage.Format(storageUnits(c.StorageBytes)), fair.Storage.Format(limit))
		}
	}
	return nil
}

// noteStorage stores the storage of a path in memory. If the transaction does not
// commit, the next refreshStorage corrects it.
func (s *Service) noteStorage(l *locked, bytes int64) {
	s.mu.Lock()
	for _, c := range l.path {
		s.stored[c.Level] = c.StorageBytes
	}
	s.projects[l.project] += bytes
	usage := s.storageUse()
	s.mu.Unlock()
	s.fair.SetUsage(usage)
}

// storageUse is the storage of each project; the scheduler sums it.
func (s *Service) storageUse() map[uuid.UUID]fair.Vector {
	usage := make(map[uuid.UUID]fair.Vector, len(s.projects))
	for id, bytes := range s.projects {
		usage[id] = fair.Vector{fair.Storage: storageUnits(bytes)}
	}
	return usage
}

// refreshStorage reads the storage of every level.
func (s *Service) refreshStorage(ctx context.Context) error {
	rows, err := s.queries.StoredBytes(ctx)
	if err != nil {
		return fmt.Errorf("read the storage of levels: %w", err)
	}
	s.mu.Lock()
	clear(s.projects)
	clear(s.stored)
	for _, r := range rows {
		s.stored[r.NodeID] = r.StorageBytes
		if r.Kind == "project" {
			s.projects[r.NodeID] = r.StorageBytes
		}
	}
	usage := s.storageUse()
	s.mu.Unlock()
	s.fair.SetUsage(usage)
	s.wakeStored()
	return nil
}

// awaitStorage registers an execution to wake once storage is available.
func (s *Service) awaitStorage(r Round) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full[r.Execution] = r.Project
}

// wakeStored wakes the executions whose levels have storage available again.
func (s *Service) wakeStored() {
	s.mu.Lock()
	waiting := maps.Clone(s.full)
	s.mu.Unlock()
	for execution, project := range waiting {
		if s.storageFull(project) != nil {
			continue
		}
		s.mu.Lock()
		delete(s.full, execution)
		s.mu.Unlock()
		s.offered(execution)
	}
}

// storageFull returns why nothing new may start in project: a level above it has
// reached its storage limit. It returns nil when none has.
func (s *Service) storageFull(project uuid.UUID) *fair.Reason {
	tree := s.fair.Tree()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.stored) == 0 {
		return nil
	}
	for _, id := range tree.Path(project) {
		level, _ := tree.Level(id)
		limit, limited := level.Limits.Limit[fair.Storage]
		if !limited {
			continue
		}
		limit += level.Limits.Borrow[fair.Storage]
		used := storageUnits(s.stored[id])
		if used < limit {
			continue
		}
		ref := level.Ref()
		return &fair.Reason{
			Code: fair.StorageLimit, Resource: fair.Storage, Unit: fair.Storage.Unit(), Capacity: limit, Missing: used - limit, Level: &ref,
			Message: fmt.Sprintf("%s stores %s of artifacts, and its limit is %s. No new work starts until artifacts are deleted or the limit is raised.",
				ref, fair.Storage.Format(used), fair.Storage.Format(limit)),
		}
	}
	return nil
}

// FreeStorage subtracts bytes that project no longer stores, in the transaction of q
// that deletes them.
func (s *Service) FreeStorage(ctx context.Context, q *db.Queries, project uuid.UUID, bytes int64) error {
	if bytes <= 0 {
		return nil
	}
	l, err := s.lock(ctx, q, project)
	if err != nil {
		return err
	}
	if err := l.add(ctx, nil, -bytes); err != nil {
		return err
	}
	s.noteStorage(l, -bytes)
	return nil
}
