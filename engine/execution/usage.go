package execution

import (
	"context"
	"fmt"
	"time"

	"github.com/flowforge/flowforge/db"
)

// leastHeld is the minimum duration of an attempt for its usage to be recorded: for shorter
// ones the record costs more than the usage.
const leastHeld = time.Second

// usedRow is a row of the record set in RecordHours.
type usedRow struct {
	attemptKey
	EndedAt time.Time `json:"finished"`
	Seconds float64   `json:"seconds"`
	CPU     int       `json:"cpu"`
	Memory  int       `json:"memory"`
	GPUs    int       `json:"gpus"`
	GPUType string    `json:"gpu_type"`
}

// usageHours records the usage of attempts.
type usageHours struct {
	feature
	noPart
}

// write records the usage of the attempts that end with the batch.
func (uh *usageHours) write(ctx context.Context, q *db.Queries) error {
	var rows []usedRow
	for _, e := range uh.loop.batch.ended {
		if e.StartedAt == nil || e.FinishedAt.Sub(*e.StartedAt) < leastHeld {
			continue
		}
		held := uh.loop.admission.part.release[e.Node]
		if uh.loop.operator(e.Node).Pool != "" { // it has reserved nothing
			held = uh.loop.admission.amount(e.Node)
			held.MemoryMiB = max(held.MemoryMiB, uh.loop.nodes[e.Node].memory)
		}
		rows = append(rows, usedRow{
			attemptKey: e.attemptKey, EndedAt: e.FinishedAt, Seconds: e.FinishedAt.Sub(*e.StartedAt).Seconds(),
			CPU: held.CPUMillis, Memory: held.MemoryMiB, GPUs: held.GPUs, GPUType: held.GPUType,
		})
	}
	if len(rows) == 0 {
		return nil
	}
	err := q.RecordHours(ctx, db.RecordHoursParams{
		ExecutionID: uh.loop.id, ProjectID: uh.loop.row.ProjectID, Person: uh.loop.row.SubmittedBy, WorkflowName: uh.loop.row.WorkflowName, Spans: mustJSON(rows),
	})
	if err != nil {
		return fmt.Errorf("record hours: %w", err)
	}
	return nil
}
