package quota

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// Levels are the levels of the tenancy tree with their limits, and the capacity of the
// installation. The scheduler decides with the tree that Levels last read from the rows.
type Levels struct {
	queries  *db.Queries
	fair     *fair.Scheduler
	cluster  bool        // the rows contain the capacity
	requests fair.Vector // the installation's default requests
	log      *slog.Logger
	changed  func() // called after a new tree is in use

	capacity atomic.Pointer[Capacity] // nil: not reported by the cluster yet

	mu       sync.Mutex // held while the scheduler's tree and its revision change
	revision int64      // of the tree in use
}

// Reload reads the tree and its limits from the rows at once.
func (l *Levels) Reload(ctx context.Context) error {
	_, err := l.load(ctx, l.queries)
	return err
}

// follow reloads when the limits or the tree have changed.
func (l *Levels) follow(ctx context.Context) error {
	revision, err := l.queries.QuotaRevision(ctx)
	if err != nil {
		return fmt.Errorf("check for changed limits: %w", err)
	}
	if _, known := l.current(); revision == known {
		return nil
	}
	return l.Reload(ctx)
}

// findProjectTimeout limits the search for a newly created project.
const findProjectTimeout = 5 * time.Second

// ensure reads the tree with q when project is newer than the loaded tree.
func (l *Levels) ensure(ctx context.Context, q *db.Queries, project uuid.UUID) {
	if l.fair.Tree().Path(project) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, findProjectTimeout)
	defer cancel()
	if _, err := l.load(ctx, q); err != nil {
		l.log.Warn("failed to find a new project", "project", project, "error", err)
	}
}

// current returns the tree in use and its revision.
func (l *Levels) current() (*fair.Tree, int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fair.Tree(), l.revision
}

// activate makes tree the one in use, unless a newer one is in use.
func (l *Levels) activate(tree *fair.Tree, revision int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if revision < l.revision {
		return false
	}
	l.fair.SetTree(tree)
	l.revision = revision
	return true
}

// load reads the tree with q and activates it, unless a newer one is in use. It
// reads the revision first: the next check finds a change in between.
func (l *Levels) load(ctx context.Context, q *db.Queries) (*fair.Tree, error) {
	revision, err := q.QuotaRevision(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the revision of the limits: %w", err)
	}
	rows, err := q.QuotaTree(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the limits: %w", err)
	}
	levels := make([]fair.Level, len(rows))
	for i, r := range rows {
		if levels[i], err = levelOf(r); err != nil {
			return nil, err
		}
	}
	if err := l.readCapacity(ctx, q); err != nil {
		return nil, err
	}
	levels = sound(levels, l.bounds())
	levels[0].UsedOutside = l.Capacity().inUse()
	tree, err := fair.NewTree(levels)
	if err != nil {
		return nil, fmt.Errorf("the limits: %w", err)
	}
	if l.activate(tree, revision) {
		l.changed()
	}
	return tree, nil
}

func levelOf(r db.QuotaTreeRow) (fair.Level, error) {
	l := fair.Level{ID: r.ID, Kind: r.Kind, Name: r.Name, Limits: fair.Limits{Weight: r.Weight}}
	if r.ParentID != nil {
		l.Parent = *r.ParentID
	}
	for _, part := range []struct {
		raw  json.RawMessage
		into *fair.Vector
	}{{r.Limits, &l.Limits.Limit}, {r.Borrow, &l.Limits.Borrow}, {r.Lend, &l.Limits.Lend}, {r.Defaults, &l.Limits.Default}} {
		if len(part.raw) == 0 {
			continue
		}
		if err := json.Unmarshal(part.raw, part.into); err != nil {
			return fair.Level{}, fmt.Errorf("the limits of %s %s: %w", r.Kind, r.Name, err)
		}
	}
	return l, nil
}

// sound returns levels with limits that are valid on this installation: the root has
// the available capacity, and no level has more than one above it. Limits become
// invalid when a machine gets smaller. levels are ordered parents before children.
func sound(levels []fair.Level, capacity fair.Vector) []fair.Level {
	bounds := make(map[uuid.UUID]fair.Vector, len(levels))
	for i := range levels {
		l := &levels[i]
		above, below := bounds[l.Parent], fair.Vector{}
		if l.Parent == uuid.Nil {
			above, l.Limits.Borrow = capacity, nil
			own := l.Limits.Limit
			l.Limits.Limit = maps.Clone(capacity)
			maps.Copy(l.Limits.Limit, own)
		}
		maps.Copy(below, above)
		for r, n := range l.Limits.Limit {
			if most, ok := above[r]; ok {
				n = min(n, most)
			}
			l.Limits.Limit[r], below[r] = n, n
		}
		for r, n := range l.Limits.Lend {
			limit, ok := l.Limits.Limit[r]
			if !ok {
				delete(l.Limits.Lend, r)
				continue
			}
			l.Limits.Lend[r] = min(n, limit)
		}
		for r := range l.Limits.Borrow {
			if _, ok := l.Limits.Limit[r]; !ok {
				delete(l.Limits.Borrow, r)
			}
		}
		bounds[l.ID] = below
	}
	return levels
}
