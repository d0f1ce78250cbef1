package query

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
)

// Bounds of a NodeGrid.
const (
	MaxGridExecutions = 100
	MaxGridNodes      = 100
)

// NodeGrid has the nodes of the plans of several executions side by side.
type NodeGrid struct {
	Executions []Execution // newest first
	Next       string      // the After of older executions; "" on the last page
	Rows       []NodeGridRow
	More       bool // the plans have nodes behind the rows
}

// NodeGridRow is a node of the plans. Cells are in the order of the executions; nil where a plan has no
// such node.
type NodeGridRow struct {
	Name   string
	Cells  []*NodeGridCell
	Median time.Duration // of the successful ones; 0 without any
}

// NodeGridCell is a node in one execution.
type NodeGridCell struct {
	State      dag.State
	StartedAt  *time.Time
	FinishedAt *time.Time
}

// Took is how long the node has run; 0 before its start.
func (c *NodeGridCell) Took(now time.Time) time.Duration {
	if c.StartedAt == nil {
		return 0
	}
	end := now
	if c.FinishedAt != nil {
		end = *c.FinishedAt
	}
	return max(0, end.Sub(*c.StartedAt))
}

// NodeGrid returns the grid of the executions that f selects, at most MaxGridExecutions, with the
// MaxGridNodes nodes from the one at index first. Rows are in the order of the newest plan; nodes that
// only older plans have follow.
func (q *Reader) NodeGrid(ctx context.Context, f Filter, first int) (NodeGrid, error) {
	if _, err := auth.Authorize(ctx, auth.ExecutionRead); err != nil {
		return NodeGrid{}, err
	}
	if first < 0 || first > 1<<20 {
		return NodeGrid{}, apperr.InvalidFields("There is no such node.", []apperr.Field{{Path: "first", Message: "Enter 0 or more."}})
	}
	if f.Limit <= 0 || f.Limit > MaxGridExecutions {
		f.Limit = MaxGridExecutions
	}
	page, err := q.List(ctx, f)
	if err != nil || len(page.Executions) == 0 {
		return NodeGrid{}, err
	}
	grid := NodeGrid{Executions: page.Executions, Next: page.Next}
	ids, columns := make([]uuid.UUID, len(page.Executions)), map[uuid.UUID]int{}
	for i, e := range page.Executions {
		ids[i], columns[e.ID] = e.ID, i
	}
	compare := func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }
	nodes, err := q.queries.GridNodes(ctx, db.GridNodesParams{
		Executions: ids, Least: slices.MinFunc(ids, compare), Most: slices.MaxFunc(ids, compare),
		FirstIndex: int32(first), BeyondIndex: int32(first + MaxGridNodes + 1),
	})
	if err != nil {
		return NodeGrid{}, fmt.Errorf("nodes of the grid: %w", err)
	}
	rows := map[string]int{}
	for _, plan := range nodes {
		for i, name := range plan.Names {
			if int(plan.Indexes[i]) == first+MaxGridNodes {
				grid.More = true
				continue
			}
			row, known := rows[name]
			if !known {
				row = len(grid.Rows)
				rows[name] = row
				grid.Rows = append(grid.Rows, NodeGridRow{Name: name, Cells: make([]*NodeGridCell, len(ids))})
			}
			grid.Rows[row].Cells[columns[plan.ExecutionID]] = &NodeGridCell{State: dag.State(plan.States[i]), StartedAt: momentOf(plan.Started[i]), FinishedAt: momentOf(plan.Finished[i])}
		}
	}
	for i := range grid.Rows {
		grid.Rows[i].Median = medianOf(grid.Rows[i].Cells)
	}
	return grid, nil
}

// momentOf reads microseconds; -1 is none.
func momentOf(microseconds int64) *time.Time {
	if microseconds < 0 {
		return nil
	}
	return new(time.UnixMicro(microseconds).UTC())
}

func medianOf(cells []*NodeGridCell) time.Duration {
	var took []time.Duration
	for _, c := range cells {
		if c != nil && c.State == dag.Succeeded && c.StartedAt != nil && c.FinishedAt != nil {
			took = append(took, c.FinishedAt.Sub(*c.StartedAt))
		}
	}
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return (took[(len(took)-1)/2] + took[len(took)/2]) / 2
}
