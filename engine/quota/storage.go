package quota

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

const bytesPerStorageUnit = 1 << 20 // fair.Storage counts MiB

// storageUnits rounds up: a level one byte above its limit is above it.
func storageUnits(bytes int64) int64 { return (bytes + bytesPerStorageUnit - 1) / bytesPerStorageUnit }

// Storage counts the bytes of artifacts on every level, and finds the levels that have
// reached their limit.
type Storage struct {
	queries *db.Queries
	fair    *fair.Scheduler
	levels  *Levels
	wake    func(execution uuid.UUID)

	mu           sync.Mutex
	levelBytes   map[uuid.UUID]int64     // of artifacts at or below each level
	projectBytes map[uuid.UUID]int64     // of which these are the projects'
	waiting      map[uuid.UUID]uuid.UUID // executions that wait for storage, with their project
}

// Add adds bytes that are new to project to every level above it, in the
// transaction of q that stores them. With refuse, it returns apperr.Quota when they
// exceed the limit of a level. Outputs of an attempt are never refused, so that no work
// is lost; instead, nothing new starts while a level is full.
func (s *Storage) Add(ctx context.Context, q *db.Queries, project uuid.UUID, bytes int64, refuse bool) error {
	if bytes <= 0 {
		return nil
	}
	l, err := s.levels.lock(ctx, q, project)
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
	s.note(l, bytes)
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

// note stores the storage of a path in memory. If the transaction does not
// commit, the next refresh corrects it.
func (s *Storage) note(l *locked, bytes int64) {
	s.mu.Lock()
	for _, c := range l.path {
		s.levelBytes[c.Level] = c.StorageBytes
	}
	s.projectBytes[l.project] += bytes
	usage := s.usage()
	s.mu.Unlock()
	s.fair.SetUsage(usage)
}

// usage is the storage of each project; the scheduler sums it.
func (s *Storage) usage() map[uuid.UUID]fair.Vector {
	usage := make(map[uuid.UUID]fair.Vector, len(s.projectBytes))
	for id, bytes := range s.projectBytes {
		usage[id] = fair.Vector{fair.Storage: storageUnits(bytes)}
	}
	return usage
}

// refresh reads the storage of every level.
func (s *Storage) refresh(ctx context.Context) error {
	rows, err := s.queries.StoredBytes(ctx)
	if err != nil {
		return fmt.Errorf("read the storage of levels: %w", err)
	}
	s.mu.Lock()
	clear(s.projectBytes)
	clear(s.levelBytes)
	for _, r := range rows {
		s.levelBytes[r.NodeID] = r.StorageBytes
		if r.Kind == "project" {
			s.projectBytes[r.NodeID] = r.StorageBytes
		}
	}
	usage := s.usage()
	s.mu.Unlock()
	s.fair.SetUsage(usage)
	s.wakeWaiting()
	return nil
}

// await registers an execution to wake once storage is available.
func (s *Storage) await(r Round) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting[r.Execution] = r.Project
}

// wakeWaiting wakes the executions whose levels have storage available again.
func (s *Storage) wakeWaiting() {
	s.mu.Lock()
	waiting := maps.Clone(s.waiting)
	s.mu.Unlock()
	for execution, project := range waiting {
		if s.full(project) != nil {
			continue
		}
		s.mu.Lock()
		delete(s.waiting, execution)
		s.mu.Unlock()
		s.wake(execution)
	}
}

// full returns why nothing new may start in project: a level above it has
// reached its storage limit. It returns nil when none has.
func (s *Storage) full(project uuid.UUID) *fair.Reason {
	tree := s.fair.Tree()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.levelBytes) == 0 {
		return nil
	}
	for _, id := range tree.Path(project) {
		level, _ := tree.Level(id)
		limit, limited := level.Limits.Limit[fair.Storage]
		if !limited {
			continue
		}
		limit += level.Limits.Borrow[fair.Storage]
		used := storageUnits(s.levelBytes[id])
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

// Free subtracts bytes that project no longer stores, in the transaction of q
// that deletes them.
func (s *Storage) Free(ctx context.Context, q *db.Queries, project uuid.UUID, bytes int64) error {
	if bytes <= 0 {
		return nil
	}
	l, err := s.levels.lock(ctx, q, project)
	if err != nil {
		return err
	}
	if err := l.add(ctx, nil, -bytes); err != nil {
		return err
	}
	s.note(l, -bytes)
	return nil
}
