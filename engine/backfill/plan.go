package backfill

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/schedule"
)

// existing is the latest execution for a time of a schedule. A deleted execution has the status "",
// and the outcome tells how it ended.
type existing struct {
	execution       uuid.UUID // uuid.Nil for none
	status, outcome string
	awaited         bool // the schedule itself is about to launch the time
}

// Planned is a slot of a dry run: what exists, and whether it would run.
type Planned struct {
	Fire, Start time.Time
	Runs        bool
	ExecutionID *uuid.UUID // of the last execution, nil without one; if it does not run, the schedule is about to launch it
	Status      string     // of it, "" for one that was deleted
}

// plan decides which slots run. found has existing executions by their time in microseconds: a run that a person
// launched in the second of a fire is not of that fire. It is pure.
func plan(slots []schedule.Slot, found map[int64]existing, rule Rerun) []Planned {
	out := make([]Planned, len(slots))
	for i, slot := range slots {
		out[i] = Planned{Fire: slot.Fire, Start: slot.Start, Runs: true}
		if e, ok := found[slot.Fire.UnixMicro()]; ok {
			if e.execution != uuid.Nil {
				out[i].ExecutionID, out[i].Status, out[i].Runs = new(e.execution), e.status, again(rule, cmp.Or(e.status, e.outcome))
			}
			out[i].Runs = out[i].Runs && !e.awaited
		}
	}
	return out
}

// launchedSince reports whether a slot that is to run has an execution that the plan does not know, or waits in
// the queue of the schedule.
func launchedSince(slots []Planned, found map[int64]existing) bool {
	return slices.ContainsFunc(slots, func(slot Planned) bool {
		e, ok := found[slot.Fire.UnixMicro()]
		return slot.Runs && ok && (e.awaited || slot.ExecutionID == nil || *slot.ExecutionID != e.execution)
	})
}

// again reports whether a slot with an execution runs again. An execution whose outcome is unknown
// counts as ended.
func again(rule Rerun, status string) bool {
	switch query.State(status) {
	case query.Pending, query.Running, query.Paused:
		return false
	case query.Failed, query.Cancelled:
		return rule != RerunMissing
	}
	return rule == RerunAll
}

// span estimates the duration of a number of executions, some of which run concurrently.
func span(runs, parallelism int, each time.Duration) time.Duration {
	if runs == 0 {
		return 0
	}
	return time.Duration((runs+parallelism-1)/parallelism) * each
}
