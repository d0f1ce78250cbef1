package quota

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// Slot names a reservation: an attempt of a node, or attempt 0 of
// fair.ExecutionItself.
type Slot struct {
	Execution uuid.UUID `json:"execution_id"`
	Node      int       `json:"i"`
	Attempt   int       `json:"attempt"`
}

// reservation is a row as InsertReservations reads it.
type reservation struct {
	Slot

	Project     uuid.UUID `json:"project_id"`
	CPU         int       `json:"cpu"`
	Memory      int       `json:"memory"`
	GPUs        int       `json:"gpus"`
	GPUType     string    `json:"gpu_type"`
	Pods        int       `json:"pods"`
	Executions  int       `json:"executions"`
	Machine     string    `json:"machine"`
	Devices     []int     `json:"devices"`
	Preemptible bool      `json:"preemptible"`
	Priority    int       `json:"priority"`
	ExpiresAt   time.Time `json:"expires_at"`
}

// Reservations are the rows of what attempts hold, each counted on every level above it.
type Reservations struct {
	levels   *Levels
	now      func() time.Time
	instance string
	lease    time.Duration
}

// Reserve writes the reservations of grants, which belong to one project, in the
// caller's transaction: all of them or, with a reason, none. They are valid for the
// lease time unless they are renewed (TouchReservations).
func (r *Reservations) Reserve(ctx context.Context, q *db.Queries, grants []fair.Grant) (*fair.Reason, error) {
	if len(grants) == 0 {
		return nil, nil //nolint:nilnil // nil means that it fits
	}
	project, delta := grants[0].Project, fair.Vector{}
	now := r.now()
	rows := make([]reservation, len(grants))
	for i, g := range grants {
		if g.Project != project {
			return nil, apperr.New(apperr.Internal, "grants of two projects in one reservation")
		}
		delta = delta.Plus(g.Amount.Vector())
		rows[i] = reservation{
			Slot: Slot{g.Execution, g.Node, g.Attempt}, Project: project, CPU: g.Amount.CPUMillis, Memory: g.Amount.MemoryMiB,
			GPUs: g.Amount.GPUs, GPUType: g.Amount.GPUType, Pods: g.Amount.Pods, Executions: g.Amount.Executions,
			Preemptible: g.Preemptible, Priority: g.Priority, ExpiresAt: now.Add(r.lease),
		}
		rows[i].Machine, rows[i].Devices = DevicesOf(g.Placement)
	}
	l, err := r.levels.lock(ctx, q, project)
	if err != nil {
		return nil, err
	}
	reason, err := l.charge(ctx, delta)
	if err != nil || reason != nil {
		return reason, err
	}
	encoded, err := json.Marshal(rows)
	if err != nil {
		return nil, fmt.Errorf("encode reservations: %w", err)
	}
	n, err := q.InsertReservations(ctx, r.instance, now, encoded)
	if err != nil {
		return nil, fmt.Errorf("insert reservations: %w", err)
	}
	if int(n) != len(rows) {
		return nil, apperr.New(apperr.Conflict, "Some of the attempts already hold a reservation.")
	}
	return nil, nil //nolint:nilnil // nil means that it fits
}

// DevicesOf returns the machine and the GPU indexes of a placement on one machine.
func DevicesOf(placement []fair.Placement) (machine string, devices []int) {
	if len(placement) == 0 {
		return "", nil
	}
	return placement[0].Machine, placement[0].Devices
}

// Release deletes reservations in the caller's transaction and returns how many
// existed: deleting the row decides, so releasing twice is harmless.
func (r *Reservations) Release(ctx context.Context, q *db.Queries, project uuid.UUID, slots []Slot) (int, error) {
	l, err := r.levels.lock(ctx, q, project)
	if err != nil {
		return 0, err
	}
	keys, err := json.Marshal(slots)
	if err != nil {
		return 0, fmt.Errorf("encode reservations: %w", err)
	}
	rows, err := q.DeleteReservations(ctx, keys)
	if err != nil {
		return 0, fmt.Errorf("delete reservations: %w", err)
	}
	delta := fair.Vector{}
	for _, r := range rows {
		delta = delta.Minus(amountOf(r).Vector())
	}
	if len(delta) == 0 {
		return len(rows), nil
	}
	return len(rows), l.add(ctx, delta, 0)
}

func amountOf(r db.Reservation) fair.Amount {
	return fair.Amount{
		CPUMillis: int(r.CpuMillis), MemoryMiB: int(r.MemoryMib), GPUs: int(r.Gpus), GPUType: r.GpuType,
		Pods: int(r.Pods), Executions: int(r.Executions),
	}
}

// heldReservations returns all live reservations, of any server.
func heldReservations(ctx context.Context, q *db.Queries) ([]fair.Held, error) {
	rows, err := q.ListReservations(ctx)
	if err != nil {
		return nil, fmt.Errorf("list reservations: %w", err)
	}
	held := make([]fair.Held, len(rows))
	for i, r := range rows {
		held[i] = fair.Held{
			Request: fair.Request{
				Key:     fair.Key{Execution: r.ExecutionID, Node: int(r.NodeIndex)},
				Project: r.ProjectID, Attempt: int(r.Attempt), Priority: int(r.Priority), Preemptible: r.Preemptible,
				Since: r.CreatedAt, Workflow: r.WorkflowName, Operator: r.Operator, Expected: fair.EstimateOf(durationsOf(r.Durations)),
				Amount: fair.Amount{
					CPUMillis: int(r.CpuMillis), MemoryMiB: int(r.MemoryMib), GPUs: int(r.Gpus), GPUType: r.GpuType,
					Pods: int(r.Pods), Executions: int(r.Executions),
				},
			},
			Granted: r.CreatedAt, Ending: r.PreemptedAt != nil,
		}
		if len(r.Devices) > 0 {
			held[i].Placement = []fair.Placement{placementOf(r.Machine, r.Devices)}
		}
	}
	return held, nil
}

// durationsOf reads milliseconds.
func durationsOf(list []int64) []time.Duration {
	durations := make([]time.Duration, len(list))
	for i, ms := range list {
		durations[i] = time.Duration(ms) * time.Millisecond
	}
	return durations
}

func placementOf(machine string, devices []int32) fair.Placement {
	p := fair.Placement{Machine: machine, Devices: make([]int, len(devices))}
	for i, d := range devices {
		p.Devices[i] = int(d)
	}
	return p
}
