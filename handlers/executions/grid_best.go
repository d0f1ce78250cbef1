package executions

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/engine/search"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/handlers/table"
	"github.com/flowforge/flowforge/views"
)

// better reports whether a is better than b.
type better func(a, b float64) bool

func higher(a, b float64) bool { return a > b }

func lower(a, b float64) bool { return a < b }

// directions knows which values of a column are better: those that the objective of the sweep prefers,
// or else those that the order of the table puts first. Inputs are no results, so that none is better.
type directions struct {
	sort      string
	objective *sweep.Objective // of the sweep whose runs the query selects; nil for none
}

func (d directions) of(c index.Column) better {
	switch c.Part {
	case search.Metrics, search.Outputs, search.Metadata:
	default:
		return nil
	}
	if !c.Numeric() {
		return nil
	}
	if o := d.objective; o != nil && (o.Metric != "" && c.Metric() == o.Metric || o.Output != "" && c.Path == string(search.Outputs)+"."+o.Output) {
		return o.Better
	}
	sorted, descending := strings.CutPrefix(d.sort, "-")
	switch {
	case sorted != c.Path && sorted != c.Title:
		return nil
	case descending:
		return higher
	}
	return lower
}

// directions are those of a table. Only a query for the runs of a sweep has an objective.
func (h *lists) directions(ctx context.Context, sort string, where search.Expr, found table.Page) (directions, error) {
	d := directions{sort: sort}
	if !selectsSweep(where) || len(found.Executions) == 0 {
		return d, nil
	}
	id, _, _, known, err := h.Sweeps.OfExecution(ctx, found.Executions[0].ID)
	if err != nil || !known {
		return d, err
	}
	s, err := h.Sweeps.Get(ctx, id)
	d.objective = s.Objective
	return d, err
}

// selectsSweep reports whether a query selects the runs of one sweep.
func selectsSweep(where search.Expr) bool {
	switch e := where.(type) {
	case search.Compare:
		return e.Field.Part == search.Facts && e.Field.Name == "sweep" && e.Op == search.Equal && len(e.Values) == 1
	case search.And:
		return slices.ContainsFunc(e, selectsSweep)
	}
	return false
}

// rowSet are rows of a table with the values that they show.
type rowSet struct {
	rows  []views.GridRow
	found table.Page
}

// only are the rows that a page shows. They share their cells with s.
func (s rowSet) only(shown map[uuid.UUID]bool) rowSet {
	var some rowSet
	some.found.Values = s.found.Values
	for i, e := range s.found.Executions {
		if shown[e.ID] {
			some.rows, some.found.Executions = append(some.rows, s.rows[i]), append(some.found.Executions, e)
		}
	}
	return some
}

// markBest marks the best values of each column among the rows that the table shows. It marks none if
// all values are equal.
func (d directions) markBest(columns []index.Column, sets ...rowSet) {
	for i, c := range columns {
		is := d.of(c)
		if is == nil {
			continue
		}
		best, differ, seen := math.NaN(), false, false
		eachValue(i, sets, func(v float64, _ *views.GridCell) {
			differ = differ || seen && v != best
			if !seen || is(v, best) {
				best, seen = v, true
			}
		})
		if differ {
			eachValue(i, sets, func(v float64, cell *views.GridCell) { cell.Best = v == best })
		}
	}
}

// eachValue calls a function with the numbers of a column and their cells.
func eachValue(column int, sets []rowSet, do func(v float64, cell *views.GridCell)) {
	for _, s := range sets {
		for i, e := range s.found.Executions {
			values := s.found.Values[e.ID]
			if column >= len(values) || column >= len(s.rows[i].Cells) {
				continue
			}
			if v, ok := values[column].(float64); ok && !math.IsNaN(v) {
				do(v, &s.rows[i].Cells[column])
			}
		}
	}
}
