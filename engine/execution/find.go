package execution

import (
	"context"
	"fmt"
	"sync"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/workflow"
)

// view is an execution as its rows were, to compute values of its nodes. Callers hold its
// lock.
type view struct {
	sync.Mutex
	loop *loop
}

// views caches a few executions, so that ten thousand items do not each read all rows.
type views struct {
	mu    sync.Mutex
	known map[uuid.UUID]*view
}

const maxViews = 8

// snapshots computes values of nodes from the rows of executions.
type snapshots struct {
	*core

	driver *Driver
	views  views
}

// view returns the execution of row when node i started, or its current state.
func (s *snapshots) view(ctx context.Context, row db.Execution, version workflow.Version, i int) (*view, error) {
	s.views.mu.Lock()
	v, ok := s.views.known[row.ID]
	s.views.mu.Unlock()
	if ok && v.knows(i) {
		return v, nil
	}
	return s.loadView(ctx, row, version, i)
}

// viewOfAttempt is view, made after the attempt of scope had begun.
func (s *snapshots) viewOfAttempt(ctx context.Context, row db.Execution, version workflow.Version, scope auth.TaskScope) (*view, error) {
	v, err := s.view(ctx, row, version, scope.NodeIndex)
	if err != nil || v.attempt(scope.NodeIndex) == scope.Attempt {
		return v, err
	}
	return s.loadView(ctx, row, version, scope.NodeIndex)
}

func (s *snapshots) loadView(ctx context.Context, row db.Execution, version workflow.Version, i int) (*view, error) {
	rows, err := s.queries.LoadNodes(ctx, row.ID)
	if err != nil {
		return nil, fmt.Errorf("load nodes: %w", err)
	}
	l := newLoop(s.driver, row, version)
	if err := (&loader{loop: l, rows: rows}).loadNodes(); err != nil {
		return nil, err
	}
	if i >= len(l.nodes) {
		return nil, apperr.New(apperr.NotFound, "The execution has no node %d.", i)
	}
	v := &view{loop: l}
	s.views.mu.Lock()
	defer s.views.mu.Unlock()
	if s.views.known == nil || len(s.views.known) >= maxViews {
		s.views.known = map[uuid.UUID]*view{}
	}
	s.views.known[row.ID] = v
	return v, nil
}

// knows reports whether v was made after node i had begun: the values that its inputs depend
// on do not change after that.
func (v *view) knows(i int) bool {
	v.Lock()
	defer v.Unlock()
	return i < len(v.loop.nodes) && v.loop.progress.State(i) != dag.Pending
}

// attempt is the number of the attempt of node i that v knows.
func (v *view) attempt(i int) int {
	v.Lock()
	defer v.Unlock()
	return v.loop.nodes[i].attempt
}

// nodeInputs returns the known values of a node's typed inputs.
func (s *snapshots) nodeInputs(ctx context.Context, row db.Execution, version workflow.Version, i int) (map[string]any, error) {
	view, err := s.view(ctx, row, version, i)
	if err != nil {
		return nil, err
	}
	view.Lock()
	defer view.Unlock()
	values := map[string]any{}
	for _, input := range view.loop.operator(i).Inputs {
		v, ok, err := view.loop.values.of(ctx, i, input.Source)
		if isUnreadable(err) {
			return nil, err
		}
		if ok && err == nil {
			values[input.Name] = v
		}
	}
	return values, nil
}
