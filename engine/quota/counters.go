package quota

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// counter is the row of one level, locked.
type counter struct {
	Level        uuid.UUID   `json:"node_id"`
	Used         fair.Vector `json:"used"`
	StorageBytes int64       `json:"storage_bytes"`
}

// locked is the path of a project from the root down, with its counters locked until
// the end of the transaction, and the tree that is current under the lock.
type locked struct {
	queries *db.Queries
	project uuid.UUID
	tree    *fair.Tree
	path    []counter
}

// lock locks the counters of the path of project with q. Every process locks the root
// first, so use and limits cannot change while the lock is held.
func (l *Levels) lock(ctx context.Context, q *db.Queries, project uuid.UUID) (*locked, error) {
	tree, revision := l.current()
	path := &locked{queries: q, project: project, tree: tree}
	ids := path.tree.Path(project)
	if ids == nil { // newer than the loaded tree
		var err error
		if path.tree, err = l.load(ctx, q); err != nil {
			return nil, err
		}
		revision = -1 // read again under the lock
		if ids = path.tree.Path(project); ids == nil {
			return nil, apperr.New(apperr.NotFound, "There is no project %s.", project)
		}
	}
	root, err := path.take(ctx, ids)
	if err != nil || root == revision {
		return path, err
	}
	// The limits or the tree have changed: what is read now stays valid under the lock.
	if path.tree, err = l.load(ctx, q); err != nil {
		return nil, err
	}
	if ids = path.tree.Path(project); ids == nil {
		return nil, apperr.New(apperr.NotFound, "There is no project %s.", project)
	}
	_, err = path.take(ctx, ids)
	return path, err
}

// take locks the rows of ids and returns the revision at the root.
func (l *locked) take(ctx context.Context, ids []uuid.UUID) (revision int64, err error) {
	rows, err := l.queries.LockQuotaPath(ctx, ids)
	if err != nil {
		return 0, fmt.Errorf("lock the counters of %s: %w", l.project, err)
	}
	if len(rows) != len(ids) {
		return 0, fmt.Errorf("the path of %s has %d levels and %d counters", l.project, len(ids), len(rows))
	}
	l.path = make([]counter, len(rows))
	for i, r := range rows {
		used, err := vectorOf(r.Used)
		if err != nil {
			return 0, fmt.Errorf("the counters of %s: %w", r.NodeID, err)
		}
		l.path[i] = counter{r.NodeID, used, r.StorageBytes}
	}
	return rows[0].Revision, nil
}

func vectorOf(raw []byte) (fair.Vector, error) {
	v := fair.Vector{}
	if len(raw) == 0 {
		return v, nil
	}
	err := json.Unmarshal(raw, &v)
	return v, err
}

// check returns why add does not fit on some level of the path, or nil. A decrease
// always fits.
func (l *locked) check(ctx context.Context, add fair.Vector) (*fair.Reason, error) {
	grows := fair.Vector{}
	for r, n := range add {
		if n > 0 {
			grows[r] = n
		}
	}
	if len(grows) == 0 {
		return nil, nil //nolint:nilnil // nil means that it fits
	}
	book := fair.NewLedger(l.tree)
	if keepsApart(l.tree) {
		if err := l.addRelatives(ctx, book); err != nil {
			return nil, err
		}
	}
	for _, c := range l.path {
		book.SetUsed(c.Level, c.Used)
	}
	return book.Check(l.project, grows, true), nil
}

// keepsApart reports whether some level lends less than all of its idle guarantee: then
// the use of its relatives matters, too.
func keepsApart(t *fair.Tree) bool {
	for _, level := range t.Levels() {
		if len(level.Limits.Lend) > 0 {
			return true
		}
	}
	return false
}

// addRelatives adds the use of the children of the path's levels: their rows change
// only under the root's lock.
func (l *locked) addRelatives(ctx context.Context, book *fair.Ledger) error {
	rows, err := l.queries.QuotaUseBelow(ctx, l.ids())
	if err != nil {
		return fmt.Errorf("read the counters beside the path of %s: %w", l.project, err)
	}
	for _, r := range rows {
		used, err := vectorOf(r.Used)
		if err != nil {
			return fmt.Errorf("the counters of %s: %w", r.NodeID, err)
		}
		book.SetUsed(r.NodeID, used)
	}
	return nil
}

func (l *locked) ids() []uuid.UUID {
	ids := make([]uuid.UUID, len(l.path))
	for i, c := range l.path {
		ids[i] = c.Level
	}
	return ids
}

// add changes the counters of the whole path. A counter never falls below zero; if it
// would, it has drifted, and the next comparison detects that.
func (l *locked) add(ctx context.Context, delta fair.Vector, bytes int64) error {
	for i := range l.path {
		c := &l.path[i]
		c.Used = c.Used.Plus(delta)
		for r, n := range c.Used {
			if n < 0 {
				delete(c.Used, r)
			}
		}
		c.StorageBytes = max(c.StorageBytes+bytes, 0)
	}
	rows, err := json.Marshal(l.path)
	if err != nil {
		return fmt.Errorf("encode counters: %w", err)
	}
	if err := l.queries.WriteQuotaUse(ctx, rows); err != nil {
		return fmt.Errorf("write the counters of %s: %w", l.project, err)
	}
	return nil
}

// charge checks and writes: reason is why delta does not fit, and then nothing is written.
func (l *locked) charge(ctx context.Context, delta fair.Vector) (*fair.Reason, error) {
	reason, err := l.check(ctx, delta)
	if err != nil || reason != nil {
		return reason, err
	}
	return nil, l.add(ctx, delta, 0)
}

// lockRoot prevents all other processes from changing any counter.
func lockRoot(ctx context.Context, q *db.Queries) error {
	if _, err := q.LockQuotaPath(ctx, []uuid.UUID{auth.Installation}); err != nil {
		return fmt.Errorf("lock the counters: %w", err)
	}
	return nil
}
