package schedule

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Get returns a schedule that the caller may read, or NotFound.
func (s *Service) Get(ctx context.Context, id uuid.UUID) (Schedule, error) {
	row, err := s.readable(ctx, id)
	if err != nil {
		return Schedule{}, err
	}
	sc, _, _, err := s.read(ctx, s.queries, row)
	return sc, err
}

// Filter limits a list of schedules.
type Filter struct {
	Workflow string // name or ID
	Name     string
	Paused   *bool
	After    string // name of the last schedule of the former page
	Limit    int
	Recent   int // occurrences of each schedule
}

const (
	defaultRows = 50
	maxRows     = 200
)

// List returns schedules of the caller's project by name, and where the next page begins.
func (s *Service) List(ctx context.Context, f Filter) ([]Schedule, string, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return nil, "", err
	}
	params := db.ListSchedulesParams{ProjectID: subject.ProjectID, Paused: f.Paused, Name: f.Name, After: f.After}
	if f.Workflow != "" {
		w, err := s.config.Workflows.Get(ctx, f.Workflow)
		if err != nil {
			return nil, "", err
		}
		params.WorkflowID, params.ProjectID = &w.ID, w.ProjectID
	}
	limit := min(cmp.Or(max(f.Limit, 0), defaultRows), maxRows)
	params.MaxRows = int32(limit + 1) //nolint:gosec // bounded
	rows, err := s.queries.ListSchedules(ctx, params)
	if err != nil {
		return nil, "", fmt.Errorf("list schedules: %w", err)
	}
	next := ""
	if len(rows) > limit {
		rows = rows[:limit]
		next = rows[limit-1].Name
	}
	list, err := s.fromRows(ctx, rows, f.Recent)
	return list, next, err
}

// fromRows returns the schedules of rows, each with its most recent occurrences.
func (s *Service) fromRows(ctx context.Context, rows []db.Schedule, recent int) ([]Schedule, error) {
	list := make([]Schedule, 0, len(rows))
	ids := make([]uuid.UUID, len(rows))
	c := newShared(s.now())
	for i, row := range rows {
		sc, _, _, err := s.readShared(ctx, s.queries, row, c)
		if err != nil {
			return nil, err
		}
		list, ids[i] = append(list, sc), sc.ID
	}
	if recent == 0 || len(rows) == 0 {
		return list, nil
	}
	found, err := s.queries.ListOccurrences(ctx, ids, nil, int32(recent)) //nolint:gosec // bounded
	if err != nil {
		return nil, fmt.Errorf("list occurrences of %d schedules: %w", len(ids), err)
	}
	of := map[uuid.UUID][]Occurrence{}
	for _, row := range found {
		of[row.ScheduleID] = append(of[row.ScheduleID], occurrenceOf(row))
	}
	for i := range list {
		list[i].Recent = of[list[i].ID]
	}
	return list, nil
}

// MayChange reports whether the caller may change a schedule and launch it manually.
func (s *Service) MayChange(ctx context.Context, sc Schedule) bool {
	_, err := auth.AuthorizeOwner(ctx, auth.ExecutionLaunch, auth.ExecutionCancelAny, sc.ProjectID, sc.Owner.ID, absent(sc.ID))
	return err == nil
}

// Occurrences returns the occurrences of a schedule before a time, newest first, and where the next
// page begins.
func (s *Service) Occurrences(ctx context.Context, id uuid.UUID, before *time.Time, limit int) ([]Occurrence, *time.Time, error) {
	if _, err := s.readable(ctx, id); err != nil {
		return nil, nil, err
	}
	limit = min(cmp.Or(max(limit, 0), defaultRows), maxRows)
	rows, err := s.queries.ListOccurrences(ctx, []uuid.UUID{id}, before, int32(limit+1)) //nolint:gosec // bounded
	if err != nil {
		return nil, nil, fmt.Errorf("list occurrences of schedule %s: %w", id, err)
	}
	var next *time.Time
	if len(rows) > limit {
		rows = rows[:limit]
		next = new(rows[limit-1].FireAt.UTC())
	}
	list := make([]Occurrence, len(rows))
	for i, r := range rows {
		list[i] = occurrenceOf(r)
	}
	return list, next, nil
}

func occurrenceOf(r db.ListOccurrencesRow) Occurrence {
	o := Occurrence{
		FireAt: r.FireAt.UTC(), LastFireAt: r.LastFireAt.UTC(), Fires: r.Fires, IntervalStart: r.IntervalStart.UTC(), State: State(r.State), Reason: r.Reason,
		Message: r.Message, ExecutionID: r.ExecutionID, DecidedAt: r.DecidedAt.UTC(), StartedAt: r.StartedAt, FinishedAt: r.FinishedAt, Failure: r.Failure,
	}
	if r.Status != nil {
		o.Status = *r.Status
	}
	return o
}

// Fire is a planned run.
type Fire struct {
	At            time.Time // in the time zone of the schedule
	IntervalStart time.Time // start of its data interval: the previous run
	Note          string    // what a change of the clocks does to it
	Excluded      string    // why it is excluded; "" for a run that is not
}

// MaxPreview is the maximum number of runs in a preview.
const MaxPreview = 100

// Preview returns the next runs of a When, without the jitter. It returns Invalid with fields.
func (s *Service) Preview(ctx context.Context, w When, n int) ([]Fire, error) {
	fires, _, err := s.Outlook(ctx, w, n)
	return fires, err
}

// Outlook is Preview, and also returns the first excluded times before the last run, at most
// MaxPreview.
func (s *Service) Outlook(ctx context.Context, w When, n int) (fires, excluded []Fire, err error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return nil, nil, err
	}
	sp := Spec{When: w}
	sp.fill(s.now())
	if err := s.findCalendar(ctx, subject.ProjectID, &sp.When); err != nil {
		return nil, nil, err
	}
	t, fields := sp.read()
	if len(fields) > 0 {
		return nil, nil, apperr.InvalidFields("The schedule cannot be read.", fields)
	}
	fires = t.fires(s.now(), n)
	return fires, t.exclusionsUntil(s.now(), fires), nil
}

// Fires returns the next runs of a schedule as if it were not paused, without the jitter, and
// the first excluded times before the last of them. A schedule that can no longer be read has none.
func (s *Service) Fires(ctx context.Context, id uuid.UUID, n int) (fires, excluded []Fire, err error) {
	row, err := s.readable(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	_, t, fields, err := s.read(ctx, s.queries, row)
	if err != nil || len(fields) > 0 {
		return nil, nil, err
	}
	fires = t.fires(s.now(), n)
	return fires, t.exclusionsUntil(s.now(), fires), nil
}

// fires returns the first runs after a time.
func (t timing) fires(after time.Time, n int) []Fire {
	var fires []Fire
	for at := t.next(after); !at.IsZero() && len(fires) < min(n, MaxPreview); at = t.next(at) {
		fires = append(fires, Fire{At: at.In(t.clock.Zone), IntervalStart: t.before(at).In(t.clock.Zone), Note: t.note(at)})
	}
	return fires
}

// exclusionsUntil returns the first excluded times between a time and the last of the runs.
func (t timing) exclusionsUntil(after time.Time, fires []Fire) []Fire {
	end := after.Add(366 * 24 * time.Hour)
	if len(fires) > 0 {
		end = fires[len(fires)-1].At
	}
	if t.starts != nil && after.Before(*t.starts) {
		after = t.starts.Add(-time.Nanosecond)
	}
	var excluded []Fire
	for range mostExclusions {
		after = t.following(after)
		if after.IsZero() || after.After(end) || len(excluded) == MaxPreview {
			break
		}
		if _, why := t.excluded.at(after); why != "" {
			excluded = append(excluded, Fire{At: after.In(t.clock.Zone), Excluded: why})
		}
	}
	return excluded
}

// note describes the effect of a clock change on a run, or is "" if there is none.
func (t timing) note(at time.Time) string {
	for _, e := range t.expressions {
		if note := e.Note(at, t.clock); note != "" {
			return note
		}
	}
	return ""
}
