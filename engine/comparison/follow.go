package comparison

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// How old a shared comparison may be.
const (
	maxAge       = 1500 * time.Millisecond // less than the interval of streams
	renewedEvery = 30 * time.Second        // durations and hours of running executions grow without a change
)

// follows has the comparisons that are followed, by what they compare.
type follows struct {
	mu      sync.Mutex
	entries map[comparedSet]*followed
}

// comparedSet is what a comparison compares, for users with one current project.
type comparedSet struct {
	executions, baseline string
	project              uuid.UUID
}

// followed is a comparison with at least one follower.
type followed struct {
	followers int // guarded by follows.mu

	turn    chan struct{} // holds one token; its owner may read and change the views
	views   []*sharedView
	version int
}

// sharedView is a comparison as users with the same permissions see it.
type sharedView struct {
	compared         Comparison
	version          int
	permissions      map[permissionKey]bool // what was decided while it was made
	mark             progressMark
	requested, moved time.Time // when the mark was read, and when compared was made
}

type permissionKey struct {
	action auth.Action
	place  uuid.UUID
}

// progressMark differs after a change of executions or of their metrics.
type progressMark struct {
	changes map[uuid.UUID]int64
	points  uint64
}

func (m progressMark) equal(other progressMark) bool {
	return m.points == other.points && maps.Equal(m.changes, other.changes)
}

// Follower reads one comparison again and again. It is for one goroutine.
type Follower struct {
	s        *Service
	key      comparedSet
	ids      []uuid.UUID
	baseline string
	entry    *followed
}

// Follow returns a follower of a comparison, which the caller must close. All followers of the same
// executions with the same permissions share one comparison.
func (s *Service) Follow(ctx context.Context, ids []uuid.UUID, baseline string) (*Follower, error) {
	reader, err := auth.SignedIn(ctx)
	if err != nil {
		return nil, err
	}
	f := &Follower{s: s, ids: ids, baseline: baseline, key: comparedSet{baseline: baseline, project: reader.ProjectID}}
	for _, id := range ids {
		f.key.executions += id.String()
	}
	s.follows.mu.Lock()
	defer s.follows.mu.Unlock()
	if s.follows.entries[f.key] == nil {
		s.follows.entries[f.key] = &followed{turn: make(chan struct{}, 1)}
	}
	f.entry = s.follows.entries[f.key]
	f.entry.followers++
	return f, nil
}

// Close ends the follower.
func (f *Follower) Close() {
	f.s.follows.mu.Lock()
	defer f.s.follows.mu.Unlock()
	if f.entry.followers--; f.entry.followers == 0 {
		delete(f.s.follows.entries, f.key)
	}
}

// Latest returns the comparison and its version, which differs from an earlier one if the comparison
// was made again: after a change of an execution or of its metrics, and every half a minute. The
// result is shared; the caller must not change it.
func (f *Follower) Latest(ctx context.Context) (Comparison, int, error) {
	reader, err := auth.SignedIn(ctx)
	if err != nil {
		return Comparison{}, 0, err
	}
	select {
	case f.entry.turn <- struct{}{}:
	case <-ctx.Done():
		return Comparison{}, 0, ctx.Err()
	}
	defer func() { <-f.entry.turn }()
	now := f.s.Now()
	v := f.entry.viewOf(reader)
	if v != nil && now.Sub(v.requested) < maxAge {
		return v.compared, v.version, nil
	}
	var before progressMark
	if v != nil {
		if before, err = f.s.mark(ctx, v.compared.Executions); err != nil {
			return Comparison{}, 0, err
		}
		if before.equal(v.mark) && now.Sub(v.moved) < renewedEvery {
			v.requested = now
			return v.compared, v.version, nil
		}
	}
	next, err := f.compare(ctx, reader, before)
	if err != nil {
		return Comparison{}, 0, err
	}
	unused := func(old *sharedView) bool { return old == v || now.Sub(old.requested) > renewedEvery }
	f.entry.views = append(slices.DeleteFunc(f.entry.views, unused), next)
	return next.compared, next.version, nil
}

// viewOf is the view of users with the permissions of reader, or nil.
func (e *followed) viewOf(reader auth.Subject) *sharedView {
	for _, v := range e.views {
		same := true
		for d, allowed := range v.permissions {
			same = same && reader.May(d.action, d.place) == allowed
		}
		if same {
			return v
		}
	}
	return nil
}

// compare makes the comparison, and records which permissions it depends on. Its mark is from before, so
// a change in the meantime makes it again.
func (f *Follower) compare(ctx context.Context, reader auth.Subject, before progressMark) (*sharedView, error) {
	permissions := map[permissionKey]bool{}
	watched := reader
	watched.Role, watched.Policy = auth.RoleUser, auth.PolicyFunc(func(action auth.Action, place uuid.UUID) bool {
		allowed := reader.May(action, place)
		permissions[permissionKey{action, place}] = allowed
		return allowed
	})
	ctx = auth.WithSubject(ctx, watched)
	if before.changes == nil {
		list, err := f.s.Executions.Several(ctx, f.ids)
		if err != nil {
			return nil, err
		}
		if before, err = f.s.mark(ctx, list); err != nil {
			return nil, err
		}
	}
	texts := make([]string, len(f.ids))
	for i, id := range f.ids {
		texts[i] = id.String()
	}
	compared, err := f.s.Compare(ctx, texts, f.baseline)
	if err != nil {
		return nil, err
	}
	f.entry.version++
	now := f.s.Now()
	return &sharedView{compared: compared, version: f.entry.version, permissions: permissions, mark: before, requested: now, moved: now}, nil
}

// mark reads how far executions and their metrics have come.
func (s *Service) mark(ctx context.Context, list []query.Execution) (progressMark, error) {
	ids := make([]uuid.UUID, len(list))
	for i, e := range list {
		ids[i] = e.ID
	}
	changes, err := s.Executions.Changes(ctx, ids)
	if err != nil {
		return progressMark{}, err
	}
	points, err := s.Telemetry.CountPoints(ctx, placesOf(list))
	if err != nil {
		return progressMark{}, err //nolint:wrapcheck // it names its context
	}
	return progressMark{changes, points}, nil
}
