package metaflow

import (
	"context"
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Statuses of a run.
const (
	Running   = "running"
	Completed = "completed"
	Failed    = "failed"
)

// RunFilter selects runs of a project. Empty fields match every run.
type RunFilter struct {
	Text   string // a part of flow/run
	User   string // a part of the user's name
	Tag    string // a part of a tag or of a system tag
	Status string // Running, Completed or Failed
	After  string // the cursor that the page before returned
	Limit  int
}

// RunSummary is a run in a list.
type RunSummary struct {
	Run

	EndedEpoch int64 // when the step "end" reported; 0: it has not
}

// LastEpoch is the time of the last sign of the run: its end, else its last heartbeat, else its
// start.
func (r RunSummary) LastEpoch() int64 {
	switch {
	case r.EndedEpoch > 0:
		return r.EndedEpoch
	case r.LastHeartbeat != nil:
		return max(*r.LastHeartbeat*1000, r.TSEpoch) // heartbeats are whole seconds
	}
	return r.TSEpoch
}

// HasRuns reports whether the project has runs.
func (s *Service) HasRuns(ctx context.Context) (bool, error) {
	subject, q, err := s.reader(ctx)
	if err != nil {
		return false, err
	}
	return q.HasMetaflowRuns(ctx, subject.ProjectID)
}

// FindRuns returns runs of all flows, newest first, and the cursor of the next page, which
// is "" after the last one. Errors: apperr.Invalid for an unknown status or cursor.
func (s *Service) FindRuns(ctx context.Context, f RunFilter) ([]RunSummary, string, error) {
	subject, q, err := s.reader(ctx)
	if err != nil {
		return nil, "", err
	}
	switch f.Status {
	case "", Running, Completed, Failed:
	default:
		return nil, "", apperr.New(apperr.Invalid, "status: enter %s, %s or %s, not %q.", Running, Completed, Failed, f.Status)
	}
	var before int64
	if f.After != "" {
		if before, err = strconv.ParseInt(f.After, 10, 64); err != nil || before <= 0 {
			return nil, "", apperr.New(apperr.Invalid, "after: enter the cursor from the previous page, not %q.", f.After)
		}
	}
	rows, err := q.FindMetaflowRuns(ctx, db.FindMetaflowRunsParams{
		ProjectID: subject.ProjectID, Before: before, Text: f.Text, UserPart: f.User, Tag: f.Tag, Status: f.Status, RowLimit: int32(f.Limit) + 1, //nolint:gosec // a page
	})
	if err != nil {
		return nil, "", fmt.Errorf("find runs: %w", err)
	}
	next := ""
	if len(rows) > f.Limit {
		rows = rows[:f.Limit]
		next = strconv.FormatInt(rows[f.Limit-1].RunNumber, 10)
	}
	runs := make([]RunSummary, 0, len(rows))
	for _, row := range rows {
		runs = append(runs, summaryOf(row))
	}
	return runs, next, nil
}

// summary returns a run with its end.
func summary(ctx context.Context, q *db.Queries, project uuid.UUID, flow, run string) (RunSummary, error) {
	r, err := findRun(ctx, q, project, flow, run)
	if err != nil {
		return RunSummary{}, err
	}
	rows, err := q.FindMetaflowRuns(ctx, db.FindMetaflowRunsParams{ProjectID: project, RunNumber: r.RunNumber.Number, RowLimit: 1})
	if err != nil || len(rows) == 0 {
		return RunSummary{}, fmt.Errorf("read run %s/%s: %w", flow, run, err)
	}
	return summaryOf(rows[0]), nil
}

func summaryOf(row db.MetaflowRunRow) RunSummary {
	s := RunSummary{Run: runOf(row)}
	if row.EndedEpoch != nil {
		s.EndedEpoch = *row.EndedEpoch
	}
	return s
}
