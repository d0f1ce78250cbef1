package execution

import (
	"context"
	"fmt"
	"time"

	"github.com/flowforge/flowforge/db"
)

// leastHeld is how long an attempt has to last for its use to be recorded: what
// is quicker costs more to write down than it used.
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

// usageHours records what attempts used.
type usageHours struct {
	feature
	noPart
}

// write records what the attempts that end with the batch used.
func (uh *usageHours) write(ctx context.Context, q *db.Queries) error {
	var rows []usedRow
	for _, e := range uh.batch.ended {
		if e.StartedAt == nil || e.FinishedAt.Sub(*e.StartedAt) < leastHeld {
			continue
		}
		held := uh.admission.part.release[e.Node]
		rows = append(rows, usedRow{
			attemptKey: e.attemptKey, EndedAt: e.FinishedAt, Seconds: e.FinishedAt.Sub(*e.StartedAt).Seconds(),
			CPU: held.CPUMillis, Memory: held.MemoryMiB, GPUs: held.GPUs, GPUType: held.GPUType,
		})
	}
	if len(rows) == 0 {
		return nil
	}
	err := q.RecordHours(ctx, db.RecordHoursParams{
		ExecutionID: uh.id, ProjectID: uh.row.ProjectID, Person: uh.row.SubmittedBy, WorkflowName: uh.row.WorkflowName, Spans: mustJSON(rows),
	})
	if err != nil {
		return fmt.Errorf("record hours: %w", err)
	}
	return nil
}
