package schedule

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
)

// Reader answers queries about many schedules for pages: searches, months and days.
type Reader struct{ schedules *Service }

// Reader returns the reader of the schedules.
func (s *Service) Reader() Reader { return Reader{s} }

// Origin is the schedule that launched an execution.
type Origin struct {
	ID     uuid.UUID
	Name   string
	Manual bool // a person launched the run
}

// OriginOf returns the schedule that launched an execution, or nil. The caller must be able to read the
// execution.
func (r Reader) OriginOf(ctx context.Context, execution uuid.UUID) (*Origin, error) {
	row, err := r.schedules.queries.ScheduleOfExecution(ctx, execution)
	if db.IsNoRows(err) {
		return nil, nil //nolint:nilnil // no schedule launched it
	}
	if err != nil {
		return nil, fmt.Errorf("schedule of execution %s: %w", execution, err)
	}
	return &Origin{ID: row.ID, Name: row.Name, Manual: row.Reason == ReasonManual}, nil
}

// Search selects schedules for a page.
type Search struct {
	Text     string // in the name, the workflow or the owner
	Workflow string // name or ID
	Paused   *bool
	After    string // name of the last schedule of the former page
	Limit    int
	Recent   int // occurrences of each schedule
}

// Found is a page of schedules.
type Found struct {
	Schedules []Schedule
	Next      string // After of the next page
	Total     int    // of the project or the workflow, without the search
	Active    int    // of Total: those that will run
	NextAt    *time.Time
}

// Search returns schedules of the caller's project by name.
func (r Reader) Search(ctx context.Context, f Search) (Found, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return Found{}, err
	}
	params := db.SearchSchedulesParams{ProjectID: subject.ProjectID, Paused: f.Paused, After: f.After, Pattern: containing(f.Text)}
	var of *uuid.UUID
	if f.Workflow != "" {
		w, err := r.schedules.config.Workflows.Get(ctx, f.Workflow)
		if err != nil {
			return Found{}, err
		}
		of, params.ProjectID = &w.ID, w.ProjectID
	}
	params.WorkflowID = of
	limit := min(cmp.Or(max(f.Limit, 0), defaultRows), maxRows)
	params.MaxRows = int32(limit + 1) //nolint:gosec // bounded
	rows, err := r.schedules.queries.SearchSchedules(ctx, params)
	if err != nil {
		return Found{}, fmt.Errorf("search schedules: %w", err)
	}
	counts, err := r.schedules.queries.CountProjectSchedules(ctx, params.ProjectID, of)
	if err != nil {
		return Found{}, fmt.Errorf("count schedules: %w", err)
	}
	out := Found{Total: int(counts.Total), Active: int(counts.Active)}
	if counts.Active > 0 {
		out.NextAt = new(counts.NextAt.UTC())
	}
	if len(rows) > limit {
		rows = rows[:limit]
		out.Next = rows[limit-1].Name
	}
	out.Schedules, err = r.schedules.fromRows(ctx, rows, f.Recent)
	return out, err
}

// containing is the pattern of ILIKE for a text, "" for no text.
func containing(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
}

// Lateness returns how late an occurrence was launched. It returns false for an occurrence that
// the loop did not launch at its time, because it was queued, caught up, or launched by a user.
func (sc Schedule) Lateness(o Occurrence) (time.Duration, bool) {
	if o.State != Launched || o.Reason != "" {
		return 0, false
	}
	return max(o.DecidedAt.Sub(o.FireAt)-sc.Delay, 0), true
}
