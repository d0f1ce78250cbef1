package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/db"
)

// bySweep is a page with one run for each sweep, at the place of the sweep.
func (q *Reader) bySweep(ctx context.Context, p db.ListExecutionsParams, limit int) (Page, error) {
	singles, err := q.queries.ListSingleExecutions(ctx, db.ListSingleExecutionsParams{
		ProjectID: p.ProjectID, Before: p.Before, WorkflowID: p.WorkflowID, Submitters: p.Submitters, Statuses: p.Statuses, Purpose: p.Purpose,
		Waiting: p.Waiting, Approval: p.Approval, Least: p.Least, Beyond: p.Beyond, MaxRows: p.MaxRows,
	})
	if err != nil {
		return Page{}, fmt.Errorf("list executions of no sweep: %w", err)
	}
	statuses := p.Statuses
	if len(statuses) == 0 {
		statuses = []string{string(Pending), string(Running), string(Paused), string(Succeeded), string(Failed), string(Cancelled)}
	}
	counted := len(p.Statuses) > 0 || p.Waiting || p.Approval != "" || p.Least != nil || p.Beyond != nil // else all runs match
	swept, err := q.queries.ListSweptExecutions(ctx, db.ListSweptExecutionsParams{
		ProjectID: p.ProjectID, Before: p.Before, WorkflowID: p.WorkflowID, Submitters: p.Submitters, Statuses: statuses, Purpose: p.Purpose,
		Waiting: p.Waiting, Approval: p.Approval, Least: p.Least, Beyond: p.Beyond, MaxRows: p.MaxRows, Counted: counted,
	})
	if err != nil {
		return Page{}, fmt.Errorf("list the runs of sweeps: %w", err)
	}
	matching := map[uuid.UUID]int{}
	rows := singles
	for _, run := range swept {
		rows = append(rows, run.Execution)
		matching[placeOf(run.Execution)] = int(run.Matching)
	}
	slices.SortFunc(rows, func(a, b db.Execution) int { return cmp.Compare(placeOf(b).String(), placeOf(a).String()) })
	var page Page
	if len(rows) > limit {
		rows = rows[:limit]
		page.Next = placeOf(rows[limit-1]).String()
	}
	for _, row := range rows {
		e := ExecutionFrom(row)
		hideOthers(ctx, e.Reason)
		page.Executions = append(page.Executions, e)
		if counted && e.SweepID != nil {
			if page.Runs == nil {
				page.Runs = map[uuid.UUID]int{}
			}
			page.Runs[*e.SweepID] = matching[*e.SweepID]
		}
	}
	return page, nil
}

// placeOf is the place of an execution in a list by sweep: the ID of its sweep, or its own.
func placeOf(row db.Execution) uuid.UUID {
	if row.SweepID != nil {
		return *row.SweepID
	}
	return row.ID
}
