// Package backfill launches a schedule for times in the past: the runs of a range of dates, each
// with the data interval of its time. Each slot launches at most one execution, even if a server
// stops in between.
package backfill

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/typeregistry"
)

// Rerun defines which slots with an execution run again.
type Rerun string

// The rules for slots that had an execution. Those whose execution has not ended never run again.
const (
	RerunMissing Rerun = "missing" // none: only slots without an execution run
	RerunFailed  Rerun = "failed"  // those whose last execution failed or was cancelled
	RerunAll     Rerun = "all"
)

// Reruns returns all values of Rerun, the default first.
func Reruns() []Rerun { return []Rerun{RerunMissing, RerunFailed, RerunAll} }

// Limits of backfills.
const (
	MaxSlots           = 10_000
	MaxParallelism     = 100
	DefaultParallelism = 4
)

// Status is the state of a backfill.
type Status string

// The states of backfills.
const (
	Running   Status = "RUNNING"
	Paused    Status = "PAUSED"
	Finished  Status = "FINISHED"
	Cancelled Status = "CANCELLED"
)

// Ended reports whether nothing more happens.
func (s Status) Ended() bool { return s == Finished || s == Cancelled }

// State is the outcome of a slot.
type State string

// The states of slots.
const (
	SlotPending   State = "PENDING"
	SlotLaunched  State = "LAUNCHED"
	SlotKept      State = "KEPT" // it had an execution, which stays
	SlotRefused   State = "REFUSED"
	SlotCancelled State = "CANCELLED"
)

// Spec contains the fields of a backfill that users set.
type Spec struct {
	Schedule    uuid.UUID
	From, Until time.Time // the runs from From until before Until
	Rerun       Rerun     // "": RerunMissing
	NewestFirst bool
	Parallelism int            // executions at a time; 0: DefaultParallelism
	Version     string         // "": that of the schedule, else the latest now
	Priority    query.Priority // query.Declared: that of the schedule
}

// Backfill is a backfill and its state.
type Backfill struct {
	ID           uuid.UUID
	ProjectID    uuid.UUID
	WorkflowID   uuid.UUID
	Workflow     string
	ScheduleName string
	Timezone     string
	Inputs       map[string]any
	Spec
	Status     Status
	Message    string // why it is paused
	Owner      query.Person
	CreatedAt  time.Time
	UpdatedAt  time.Time
	FinishedAt *time.Time
	Counts     Counts
}

// Counts are the numbers of slots of a backfill by outcome.
type Counts struct {
	Total, Pending, Running, Succeeded, Failed, Cancelled, Kept, Refused int
}

// Done is the number of slots that are finished.
func (c Counts) Done() int { return c.Total - c.Pending - c.Running }

// Slot is one time of a backfill.
type Slot struct {
	Fire, Start time.Time // of the data interval
	State       State
	Message     string
	ExecutionID *uuid.UUID // of SlotKept the earlier one, or nil if the schedule launches the time
	Status      string     // of the execution, "" for none or one that was deleted
	DecidedAt   time.Time
	StartedAt   *time.Time
	FinishedAt  *time.Time
	Failure     string
}

// add counts slots in one state whose executions have one status.
func (c *Counts) add(state State, status string, n int) {
	c.Total += n
	switch state {
	case SlotPending:
		c.Pending += n
	case SlotKept:
		c.Kept += n
	case SlotRefused:
		c.Refused += n
	case SlotCancelled:
		c.Cancelled += n
	case SlotLaunched:
		switch query.State(status) {
		case query.Failed:
			c.Failed += n
		case query.Cancelled:
			c.Cancelled += n
		case query.Pending, query.Running, query.Paused:
			c.Running += n
		default: // succeeded, or succeeded and deleted
			c.Succeeded += n
		}
	}
}

func fromRow(row db.Backfill) (Backfill, error) {
	out := Backfill{
		ID: row.ID, ProjectID: row.ProjectID, WorkflowID: row.WorkflowID, Workflow: row.WorkflowName, ScheduleName: row.ScheduleName, Timezone: row.Timezone,
		Spec: Spec{
			Schedule: row.ScheduleID, From: row.FromAt.UTC(), Until: row.UntilAt.UTC(), Rerun: Rerun(row.Rerun), NewestFirst: row.NewestFirst,
			Parallelism: int(row.Parallelism), Version: row.Version, Priority: query.Priority(row.Priority),
		},
		Status: Status(row.Status), Message: row.Message, Owner: query.Person{ID: row.OwnerID, Name: row.OwnerName},
		CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(), FinishedAt: row.FinishedAt,
	}
	v, err := typeregistry.DecodeJSON(row.Inputs)
	if err != nil {
		return out, fmt.Errorf("inputs of backfill %s: %w", row.ID, err)
	}
	out.Inputs, _ = v.(map[string]any)
	return out, nil
}
