package quota

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// Team is a node of the tree as its members see it: its limits, its use, its rank among
// its siblings, and its queue.
type Team struct {
	Node      Node
	Parent    string // its name; "" for the installation
	Resources []fair.Resource
	Siblings  []ShareRank // with the node itself, next first
	Queue     []Queued    // next first
	Waiting   int         // in total
	Writable  bool        // the reader may change its limits
	Whole     bool        // the reader may read all of it, not only some of its projects
}

// ShareRank is the rank of a sibling by share. Name is "" for one that the reader may
// not see.
type ShareRank struct {
	Name  string
	Own   bool
	Score fair.LevelScore
}

// TeamOf returns the team of a project, or the nearest node above it.
func (rd *Reader) TeamOf(ctx context.Context) (uuid.UUID, error) {
	subject, err := auth.Authorize(ctx, auth.QuotaRead)
	if err != nil {
		return uuid.Nil, err
	}
	level, ok := rd.fair.Tree().Level(subject.ProjectID)
	if !ok || level.Parent == uuid.Nil {
		return uuid.Nil, absent(subject.ProjectID)
	}
	return level.Parent, nil
}

// Team returns a node to subjects who may read limits there, or in a project below it:
// every member of a team sees its limits and its queue. At most limit entries of the
// queue are returned.
func (rd *Reader) Team(ctx context.Context, id uuid.UUID, limit int) (Team, error) {
	subject, whole, err := rd.authorizeMember(ctx, id)
	if err != nil {
		return Team{}, err
	}
	snapshot := rd.fair.Snapshot()
	nodes := arrange(snapshot.Levels)
	i := slices.IndexFunc(nodes, func(n Node) bool { return n.ID == id })
	if i < 0 {
		return Team{}, absent(id)
	}
	t := Team{Node: nodes[i], Resources: snapshot.Resources, Whole: whole, Writable: subject.May(auth.QuotaWrite, above(nodes[i].Level))}
	for p := t.Node.Parent; p != uuid.Nil; {
		above := snapshot.Find(p)
		if subject.May(auth.QuotaRead, p) {
			t.Node.Path = append([]fair.LevelRef{above.Ref()}, t.Node.Path...)
		}
		if p == t.Node.Parent {
			t.Parent = above.Name
		}
		p = above.Parent
	}
	t.Node.Path = append(t.Node.Path, t.Node.Ref())
	for _, n := range nodes {
		if n.Parent != t.Node.Parent {
			continue
		}
		standing := ShareRank{Own: n.ID == id, Score: n.Standing}
		if standing.Own || subject.May(auth.QuotaRead, n.ID) {
			standing.Name = n.Name
		}
		t.Siblings = append(t.Siblings, standing)
	}
	slices.SortStableFunc(t.Siblings, func(a, b ShareRank) int { return cmp.Compare(a.Score.Score, b.Score.Score) })
	t.Waiting = t.Node.Waiting
	t.Queue, err = rd.queued(ctx, subject, rd.fair.Queue(fair.Filter{Level: id, Limit: limit}))
	return t, err
}
