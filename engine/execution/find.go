package execution

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/workflow"
)

// findNode returns the row of the node called name; NotFound when there is none.
func (s *Service) findNode(ctx context.Context, row db.Execution, name string) (db.Node, workflow.Version, error) {
	version, err := s.workflows.VersionByID(auth.AsSystem(ctx), row.VersionID)
	if err != nil {
		return db.Node{}, version, err
	}
	node, ok, err := s.walk(ctx, row.ID, version, name)
	if err != nil {
		return node, version, fmt.Errorf("get node %s of %s: %w", name, row.ID, err)
	}
	if !ok {
		return node, version, apperr.New(apperr.NotFound, "The execution has no node called %q.", name)
	}
	return node, version, nil
}

// walk goes from the plan to the node called name, such as "sweep[3]/train", by what
// each node on the way became last. So an item of ten thousand costs two rows.
func (s *Service) walk(ctx context.Context, execution uuid.UUID, version workflow.Version, name string) (node db.Node, ok bool, err error) {
	plan, base := version.Plan, 0
	for k, step := range strings.Split(name, "/") {
		if k > 0 {
			op, known := operatorOf(version, node)
			if !known || node.FirstChild == nil || version.Plans[op.Graph] == nil {
				return node, false, nil
			}
			plan, base = version.Plans[op.Graph], int(*node.FirstChild)
		}
		operator, item := splitItem(step)
		position, known := plan.Lookup(operator)
		if !known {
			return node, false, nil
		}
		node, err = s.queries.GetNode(ctx, execution, int32(base+position)) //nolint:gosec // at most maxNodes
		if err == nil && item >= 0 {
			if node.FirstChild == nil || item >= int(node.ChildCount) {
				return node, false, nil
			}
			node, err = s.queries.GetNode(ctx, execution, *node.FirstChild+int32(item)) //nolint:gosec // less than maxNodes
		}
		if db.IsNoRows(err) {
			return node, false, nil
		}
		if err != nil {
			return node, false, err
		}
	}
	return node, node.Name == name, nil
}

// splitItem splits "name[3]" into its parts; the second is -1 without brackets, and
// where they hold no number the name is none.
func splitItem(step string) (string, int) {
	operator, rest, found := strings.Cut(step, "[")
	if !found {
		return operator, -1
	}
	at, err := strconv.Atoi(strings.TrimSuffix(rest, "]"))
	if err != nil || at < 0 || at >= maxNodes {
		return "", -1
	}
	return operator, at
}

// operatorOf is the operator of a node; false when the version has it no more.
func operatorOf(v workflow.Version, node db.Node) (*workflow.Operator, bool) {
	g, ok := v.Definition.Graph(node.Graph)
	at := int(node.NodeIndex)
	if node.OperatorIndex != nil {
		at = int(*node.OperatorIndex)
	}
	if !ok || at >= len(g.Operators) {
		return nil, false
	}
	return &g.Operators[at], true
}

// nodeAt returns the row and the operator of the node with an index; NotFound when
// there is none.
func (s *Service) nodeAt(ctx context.Context, row db.Execution, i int) (db.Node, *workflow.Operator, error) {
	version, err := s.workflows.VersionByID(auth.AsSystem(ctx), row.VersionID)
	if err != nil {
		return db.Node{}, nil, err
	}
	absent := apperr.New(apperr.NotFound, "The execution has no node %d.", i)
	if i < 0 || i >= maxNodes {
		return db.Node{}, nil, absent
	}
	node, err := s.queries.GetNode(ctx, row.ID, int32(i))
	if db.IsNoRows(err) {
		return node, nil, absent
	}
	if err != nil {
		return node, nil, fmt.Errorf("get node %d of %s: %w", i, row.ID, err)
	}
	op, ok := operatorOf(version, node)
	if !ok {
		return node, nil, absent
	}
	return node, op, nil
}

// view is an execution as its rows were, to work out values of its nodes. Whoever
// uses it holds its lock.
type view struct {
	sync.Mutex
	loop *loop
}

// views remembers a few executions, so that each of ten thousand items does not read
// the rows of all.
type views struct {
	mu    sync.Mutex
	known map[uuid.UUID]*view
}

const maxViews = 8

// view returns the execution of row as it was when node i had begun, or is now.
func (s *Service) view(ctx context.Context, row db.Execution, version workflow.Version, i int) (*view, error) {
	s.views.mu.Lock()
	v, ok := s.views.known[row.ID]
	s.views.mu.Unlock()
	if ok && v.knows(i) {
		return v, nil
	}
	rows, err := s.queries.LoadNodes(ctx, row.ID)
	if err != nil {
		return nil, fmt.Errorf("load nodes: %w", err)
	}
	l := newLoop(s, row, version)
	if err := l.loadNodes(rows); err != nil {
		return nil, err
	}
	if i >= len(l.nodes) {
		return nil, apperr.New(apperr.NotFound, "The execution has no node %d.", i)
	}
	v = &view{loop: l}
	s.views.mu.Lock()
	defer s.views.mu.Unlock()
	if s.views.known == nil || len(s.views.known) >= maxViews {
		s.views.known = map[uuid.UUID]*view{}
	}
	s.views.known[row.ID] = v
	return v, nil
}

// knows reports whether v was made after node i had begun: nothing that its inputs
// depend on changes any more.
func (v *view) knows(i int) bool {
	v.Lock()
	defer v.Unlock()
	return i < len(v.loop.nodes) && v.loop.progress.State(i) != dag.Pending
}
