package quota

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// Overview is the part of the tree that a reader may see, with its use.
type Overview struct {
	At        time.Time
	Nodes     []Node          // parents before children, each followed by its descendants
	Resources []fair.Resource // that any level limits, uses or waits for, in display order
	Pairs     []fair.Pair     // starved levels, and relatives that could help
	Idle      []fair.Idle
	Longest   *Queued // nil: nothing that the reader may see waits
}

// Find returns the node with id, or nil.
func (o *Overview) Find(id uuid.UUID) *Node {
	i := slices.IndexFunc(o.Nodes, func(n Node) bool { return n.ID == id })
	if i < 0 {
		return nil
	}
	return &o.Nodes[i]
}

// Node is a tenancy node of an Overview.
type Node struct {
	fair.LevelState

	Path        []fair.LevelRef // from the topmost node that the reader may see to the node itself
	Most        fair.Vector     // its maximum use; absent: no bound above it either
	Bounds      map[fair.Resource]fair.LevelRef
	Distributed fair.Vector // the sum of its children's guarantees
	Children    int
	Version     int64 // of its limits; 0 without any
	Writable    bool  // the reader may change its limits
}

// Overview returns a node and everything below it with limits and use, or, for
// uuid.Nil, everything that the subject may read. It requires quota.read at node; it
// returns apperr.NotFound for a node that the subject may not read.
func (rd *Reader) Overview(ctx context.Context, node uuid.UUID) (Overview, error) {
	subject, err := rd.authorize(ctx, auth.QuotaRead, node)
	if err != nil {
		return Overview{}, err
	}
	rows, err := db.New(rd.pool).QuotaVersions(ctx)
	if err != nil {
		return Overview{}, fmt.Errorf("read versions of limits: %w", err)
	}
	versions := make(map[uuid.UUID]int64, len(rows))
	for _, r := range rows {
		versions[r.NodeID] = r.Version
	}
	snapshot := rd.fair.Snapshot()
	o := overview(&snapshot, func(id uuid.UUID) bool { return subject.May(auth.QuotaRead, id) }, node)
	for i := range o.Nodes {
		n := &o.Nodes[i]
		n.Version, n.Writable = versions[n.ID], subject.May(auth.QuotaWrite, above(n.Level))
	}
	if w := snapshot.Longest; w != nil && o.Find(w.Project) != nil {
		longest, err := rd.queued(ctx, subject, []fair.Waiting{*w})
		if err != nil {
			return Overview{}, err
		}
		o.Longest = &longest[0]
	}
	return o, nil
}

// above is the node whose permissions allow a change of the limits of l: its parent, so that
// no team raises its own limits.
func above(l fair.Level) uuid.UUID {
	if l.Parent == uuid.Nil {
		return l.ID
	}
	return l.Parent
}

// overview returns the readable part of snapshot, at or below node.
func overview(snapshot *fair.Snapshot, may func(uuid.UUID) bool, node uuid.UUID) Overview {
	o := Overview{At: snapshot.At, Resources: snapshot.Resources}
	nodes := arrange(snapshot.Levels)
	inside, shown := map[uuid.UUID]bool{}, map[uuid.UUID]bool{}
	paths := map[uuid.UUID][]fair.LevelRef{}
	for _, n := range nodes {
		if node == uuid.Nil || n.ID == node || inside[n.Parent] {
			inside[n.ID] = true
		}
		if !may(n.ID) {
			continue
		}
		n.Path = append(slices.Clone(paths[n.Parent]), n.Ref())
		paths[n.ID] = n.Path
		if inside[n.ID] {
			shown[n.ID], o.Nodes = true, append(o.Nodes, n)
		}
	}
	seen := func(l fair.LevelRef) bool { return shown[l.ID] }
	for _, p := range snapshot.Pairs {
		if seen(p.Starved) && seen(p.Other) {
			o.Pairs = append(o.Pairs, p)
		}
	}
	for _, i := range snapshot.Idle {
		if seen(i.Level) {
			o.Idle = append(o.Idle, i)
		}
	}
	return o
}

// arrange orders levels depth first and computes the maximum use of each.
func arrange(levels []fair.LevelState) []Node {
	children := map[uuid.UUID][]fair.LevelState{}
	for _, l := range levels {
		children[l.Parent] = append(children[l.Parent], l)
	}
	nodes := make([]Node, 0, len(levels))
	var add func(l fair.LevelState, most fair.Vector, bounds map[fair.Resource]fair.LevelRef)
	add = func(l fair.LevelState, most fair.Vector, bounds map[fair.Resource]fair.LevelRef) {
		n := Node{LevelState: l, Children: len(children[l.ID]), Distributed: fair.Vector{}}
		n.Most, n.Bounds = ceiling(l.Level, most, bounds)
		for _, c := range children[l.ID] {
			for r, v := range c.Limits.Limit {
				n.Distributed[r] += v
			}
		}
		nodes = append(nodes, n)
		for _, c := range children[l.ID] {
			add(c, n.Most, n.Bounds)
		}
	}
	for _, l := range children[uuid.Nil] {
		add(l, fair.Vector{}, nil)
	}
	return nodes
}

// ceiling is the maximum use of l below a parent whose maximum is most, and the level
// that sets it.
func ceiling(l fair.Level, most fair.Vector, bounds map[fair.Resource]fair.LevelRef) (fair.Vector, map[fair.Resource]fair.LevelRef) {
	own, by := fair.Vector{}, map[fair.Resource]fair.LevelRef{}
	for r, v := range most {
		own[r], by[r] = v, bounds[r]
	}
	for r, limit := range l.Limits.Limit {
		v := limit + l.Limits.Borrow[r]
		if above, bound := own[r]; !bound || v <= above {
			own[r], by[r] = v, l.Ref()
		}
	}
	return own, by
}
