package executions

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// The parameter that lists each run of a sweep, instead of one row for the sweep.
const (
	sweepsKey = "sweeps"
	eachRun   = "each"
)

// BySweep are the rows of a list by sweep (query.Filter.BySweep). Links to the runs of a sweep keep the
// filters of the list.
func (h *Rows) BySweep(ctx context.Context, clock ui.Clock, page query.Page, filters url.Values) ([]views.ExecutionRow, error) {
	sweeps, err := h.Sweeps.OfRuns(ctx, page.Executions)
	if err != nil {
		return nil, err
	}
	rows, err := h.Of(ctx, clock, page.Executions)
	if err != nil {
		return nil, err
	}
	for i, e := range page.Executions {
		if e.SweepID == nil {
			continue
		}
		if s, found := sweeps[*e.SweepID]; found {
			rows[i] = h.sweepRow(clock, s, page.Runs, filters)
		}
	}
	return rows, nil
}

// sweepRow is the row of a sweep. matching has the numbers of runs that match the filters.
func (h *Rows) sweepRow(clock ui.Clock, s sweep.Sweep, matching map[uuid.UUID]int, filters url.Values) views.ExecutionRow {
	id := s.ID.String()
	of := "Sweep of " + s.WorkflowName + " "
	if s.Name == strings.TrimSpace(of) { // the title says it
		of = ""
	}
	row := views.ExecutionRow{
		ID: id, Short: label.ShortID(s.ID), URL: views.SweepURL(id), Title: s.Name, Version: s.Version, Flow: of + s.Version,
		By: s.CreatedBy.Name, Started: clock.Moment(s.CreatedAt), Bar: label.SweepBar(s), WorkflowURL: views.WorkflowURL(s.WorkflowName),
	}
	row.Sweep = &views.ExecutionSweep{State: label.SweepState(s.State), Runs: units.Plural(s.Counts.Created, "run", "runs")}
	if n, counted := matching[s.ID]; counted && n < s.Counts.Created {
		row.Sweep.Runs = units.Number(int64(n)) + " of " + row.Sweep.Runs
	}
	runs := url.Values{}
	for _, key := range listFilters() {
		if v := filters.Get(key); v != "" {
			runs.Set(key, v)
		}
	}
	row.Sweep.RunsURL = label.ListURL(views.ExecutionsURL(), runs, "where", "sweep = "+id)
	if s.EndedAt == nil {
		row.Sub = units.Number(int64(s.Counts.Ended())) + " of " + units.Plural(s.Planned, "run", "runs") + " ended"
	}
	if s.Objective != nil && s.Best != nil && s.Best.Objective != nil {
		row.Sub = "best " + s.Objective.Name() + " " + ui.Float(*s.Best.Objective)
	}
	end := h.Now()
	if s.EndedAt != nil {
		end = *s.EndedAt
	} else {
		row.Since = s.CreatedAt.Format(time.RFC3339)
	}
	row.Took = units.Duration(end.Sub(s.CreatedAt))
	return row
}

// sweepChoices choose between one row for a sweep and one for each run; none in a project without
// sweeps, and for a text, which finds each run.
func (h *lists) sweepChoices(ctx context.Context, q url.Values) ([]ui.Choice, error) {
	each := q.Get(sweepsKey) == eachRun
	if q.Get("q") != "" {
		return nil, nil
	}
	if has, err := h.Sweeps.Any(ctx); err != nil || !has && !each {
		return nil, err
	}
	return []ui.Choice{
		{Name: "Sweeps", URL: label.ListURL(views.ExecutionsURL(), q, sweepsKey, ""), Current: !each},
		{Name: "Each run", URL: label.ListURL(views.ExecutionsURL(), q, sweepsKey, eachRun), Current: each},
	}, nil
}
