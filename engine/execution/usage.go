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

// writeHours records what the attempts that end with the batch used.
func (l *loop) writeHours(ctx context.Context, q *db.Queries) error {
	var rows []usedRow
	for _, e := range l.batch.ended {
		if e.StartedAt == nil || e.FinishedAt.Sub(*e.StartedAt) < leastHeld {
			continue
		}
		held := l.batch.release[e.Node]
		rows = append(rows, usedRow{
			attemptKey: e.attemptKey, EndedAt: e.FinishedAt, Seconds: e.FinishedAt.Sub(*e.StartedAt).Seconds(),
			CPU: held.CPUMillis, Memory: held.MemoryMiB, GPUs: held.GPUs, GPUType: held.GPUType,
		})
	}
	if len(rows) == 0 {
		return nil
	}
	err := q.RecordHours(ctx, db.RecordHoursParams{
		ExecutionID: l.id, ProjectID: l.row.ProjectID, Person: l.row.SubmittedBy, WorkflowName: l.row.WorkflowName, Spans: mustJSON(rows),
	})
	if err != nil {
		return fmt.Errorf("record hours: %w", err)
	}
	return nil
}
