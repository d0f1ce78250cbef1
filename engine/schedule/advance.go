package schedule

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/db"
)

// occurrenceRow is an occurrence as InsertOccurrences reads it.
type occurrenceRow struct {
	ScheduleID    uuid.UUID  `json:"schedule_id"`
	FireAt        time.Time  `json:"fire_at"`
	LastFireAt    time.Time  `json:"last_fire_at"`
	Fires         int64      `json:"fires"`
	IntervalStart time.Time  `json:"interval_start"`
	State         State      `json:"state"`
	Reason        string     `json:"reason"`
	Message       string     `json:"message"`
	ExecutionID   *uuid.UUID `json:"execution_id"`
	DecidedAt     time.Time  `json:"decided_at"`
}

// write writes runs in a transaction, each only if its schedule has not changed since the run was
// decided. Otherwise it sets the error of the run.
type write func(ctx context.Context, q *db.Queries, runs []*run) error

// maxSettled is the maximum number of schedules that one transaction advances.
const maxSettled = 250

// settle writes steps that launch nothing.
func (s loop) settle(ctx context.Context, runs []*run) {
	for part := range slices.Chunk(runs, maxSettled) {
		db.TxGroup(ctx, s.database, part, func(_ pgx.Tx, q *db.Queries, runs []*run) error {
			s.config.Crash("settle.begin")
			return s.advance(ctx, q, runs)
		}, func(runs []*run, err error) {
			s.config.Crash("settle.committed")
			for _, r := range runs {
				if err != nil {
					r.err = err
				}
			}
		})
	}
}

// advance records steps and sets the next runs of their schedules. It is part of the transaction that
// launches the executions.
func (s loop) advance(ctx context.Context, q *db.Queries, runs []*run) error {
	runs, err := claim(ctx, q, runs)
	if err != nil {
		return err
	}
	if runs, err = occur(ctx, q, runs); err != nil || len(runs) == 0 {
		return err
	}
	var missed []occurrenceRow
	for _, r := range runs {
		if m := r.step.missed; m.fires > 0 {
			missed = append(missed, occurrenceRow{
				ScheduleID: r.row.ID, FireAt: m.first, LastFireAt: m.last, Fires: m.fires, IntervalStart: m.first,
				State: Skipped, Reason: ReasonMissed, Message: m.message(), DecidedAt: s.now(),
			})
		}
	}
	if _, err := insertOccurrences(ctx, q, missed); err != nil {
		return err
	}
	type times struct {
		ID     uuid.UUID  `json:"id"`
		LastAt time.Time  `json:"last_at"`
		NextAt *time.Time `json:"next_at"`
		DueAt  *time.Time `json:"due_at"`
	}
	rows := make([]times, len(runs))
	for i, r := range runs {
		rows[i] = times{ID: r.row.ID, LastAt: r.step.last}
		if next := r.step.next; !next.IsZero() {
			rows[i].NextAt, rows[i].DueAt = &next, new(next.Add(r.schedule.Delay))
		}
	}
	encoded, err := json.Marshal(rows)
	if err == nil {
		err = q.AdvanceSchedules(ctx, encoded)
	}
	if err != nil {
		return fmt.Errorf("advance %d schedules: %w", len(rows), err)
	}
	return nil
}

// claim locks the schedules of runs, and returns the runs of those that have not changed since the
// runs were decided. The others get errNotDue.
func claim(ctx context.Context, q *db.Queries, runs []*run) ([]*run, error) {
	ids := make([]uuid.UUID, len(runs))
	for i, r := range runs {
		ids[i] = r.row.ID
	}
	claimed, err := q.ClaimSchedules(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("claim %d schedules: %w", len(ids), err)
	}
	rows := make(map[uuid.UUID]db.ClaimSchedulesRow, len(claimed))
	for _, row := range claimed {
		rows[row.ID] = row
	}
	unchanged := make([]*run, 0, len(runs))
	for _, r := range runs {
		row, ok := rows[r.row.ID]
		if !ok || row.Paused || row.NextAt == nil || !row.NextAt.Equal(*r.row.NextAt) || !row.UpdatedAt.Equal(r.row.UpdatedAt) {
			r.err = errNotDue
			continue
		}
		r.err = nil
		unchanged = append(unchanged, r)
	}
	return unchanged, nil
}

// occur records runs. It returns the runs that are new, and those that have nothing to record. The
// others were recorded before and get errDecided; a run that was skipped because it was missed is
// decided again.
func occur(ctx context.Context, q *db.Queries, runs []*run) ([]*run, error) {
	written, err := insertOccurrences(ctx, q, records(runs, nil))
	if err != nil {
		return nil, err
	}
	if repeated := records(runs, written); len(repeated) > 0 {
		var ids []uuid.UUID
		var times []time.Time
		for _, o := range repeated {
			ids, times = append(ids, o.ScheduleID), append(times, o.FireAt)
		}
		forgotten, err := q.ForgetMissedOccurrences(ctx, ids, times)
		if err != nil {
			return nil, fmt.Errorf("decide missed runs again: %w", err)
		}
		again := slices.DeleteFunc(repeated, func(o occurrenceRow) bool { return !slices.Contains(forgotten, o.ScheduleID) })
		more, err := insertOccurrences(ctx, q, again)
		if err != nil {
			return nil, err
		}
		for id := range more {
			written[id] = true
		}
	}
	rest := make([]*run, 0, len(runs))
	for _, r := range runs {
		if r.record != nil && !written[r.row.ID] {
			r.err = errDecided
			continue
		}
		rest = append(rest, r)
	}
	return rest, nil
}

// records returns what runs record, without those of some schedules.
func records(runs []*run, without map[uuid.UUID]bool) (rows []occurrenceRow) {
	for _, r := range runs {
		if r.record != nil && !without[r.row.ID] {
			rows = append(rows, *r.record)
		}
	}
	return rows
}

// insertOccurrences writes occurrences, and returns the schedules of those whose time has none yet.
func insertOccurrences(ctx context.Context, q *db.Queries, rows []occurrenceRow) (written map[uuid.UUID]bool, err error) {
	written = make(map[uuid.UUID]bool, len(rows))
	if len(rows) == 0 {
		return written, nil
	}
	encoded, err := json.Marshal(rows)
	if err != nil {
		return nil, fmt.Errorf("encode occurrences: %w", err)
	}
	ids, err := q.InsertOccurrences(ctx, encoded)
	if err != nil {
		return nil, fmt.Errorf("record %d runs: %w", len(rows), err)
	}
	for _, id := range ids {
		written[id] = true
	}
	return written, nil
}
