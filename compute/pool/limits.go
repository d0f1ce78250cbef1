package pool

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/db"
)

const (
	// UsePeriod is the period of the use that Shares returns.
	UsePeriod = 30 * 24 * time.Hour
	// keepUse is how long the use of pools is kept.
	keepUse = 400 * 24 * time.Hour
	// MaxShares is the maximum number of levels that Shares returns.
	MaxShares = 500
)

// Limit is what the projects at and below a tenant, department, team or project may run in a pool at the
// same time. Nil is no limit.
type Limit struct {
	Tasks *int // running attempts
	GPUs  *int
}

func (l Limit) empty() bool { return l.Tasks == nil && l.GPUs == nil }

// facts are the limit in an entry of the audit log.
func (l Limit) facts(node AccessNode) map[string]any {
	out := map[string]any{"node": node.ID}
	if l.Tasks != nil {
		out["tasks"] = *l.Tasks
	}
	if l.GPUs != nil {
		out["gpus"] = *l.GPUs
	}
	return out
}

// Share is what a level of the tenancy tree uses of a pool, with all levels below it.
type Share struct {
	Node    AccessNode
	Limit   Limit
	Running int // attempts that a worker has taken
	GPUs    int // of them
	Queued  int
	// Of attempts that ended in the last UsePeriod or run now:
	Ended     int
	TaskHours float64
	GPUHours  float64
}

// Shares returns the levels that have a limit in a pool, use it, or have used it in the last UsePeriod, by
// path; an unknown pool has none. For administrators.
func (s *Service) Shares(ctx context.Context, pool string) ([]Share, error) {
	if _, err := administers(ctx); err != nil {
		return nil, err
	}
	rows, err := s.queries.PoolShares(ctx, pool, s.config.Now().Add(-UsePeriod), MaxShares)
	if err != nil {
		return nil, fmt.Errorf("list the use of pool %s: %w", pool, err)
	}
	shares := make([]Share, len(rows))
	for i, r := range rows {
		shares[i] = Share{
			Node: AccessNode{ID: r.ID, Kind: r.Kind, Path: r.Names, Archived: r.Archived}, Limit: limitOf(r.Tasks, r.Gpus),
			Running: int(r.Running), GPUs: int(r.GpusUsed), Queued: int(r.Queued), Ended: int(r.Ended), TaskHours: r.TaskSeconds / 3600, GPUHours: r.GpuSeconds / 3600,
		}
	}
	return shares, nil
}

func limitOf(tasks, gpus *int32) (l Limit) {
	if tasks != nil {
		l.Tasks = new(int(*tasks))
	}
	if gpus != nil {
		l.GPUs = new(int(*gpus))
	}
	return l
}

// SetLimit sets or, without amounts, removes the limit of a tenant, department, team or project in a pool.
// Running attempts continue. It returns NotFound for a pool that does not exist, and Invalid for a node
// that does not exist or for an amount below 0. For administrators.
func (s *Service) SetLimit(ctx context.Context, pool string, node uuid.UUID, l Limit) error {
	if _, err := administers(ctx); err != nil {
		return err
	}
	tasks, gpus, err := l.amounts()
	if err != nil {
		return err
	}
	err = s.change(ctx, pool, func(q *db.Queries, _ db.Pool) error {
		before, err := q.PoolLimit(ctx, pool, node)
		if err != nil && !db.IsNoRows(err) {
			return fmt.Errorf("find a limit of pool %s: %w", pool, err)
		}
		if l.empty() {
			err = q.DeletePoolLimit(ctx, pool, node)
		} else {
			var n int64
			if n, err = q.SetPoolLimit(ctx, pool, tasks, gpus, node); err == nil && n == 0 {
				return apperr.InvalidFields("The limit was not changed.", []apperr.Field{{Path: "node", Message: "Select a tenant, department, team or project."}})
			}
		}
		if err != nil {
			return fmt.Errorf("set a limit of pool %s: %w", pool, err)
		}
		level := AccessNode{ID: node}
		return record(ctx, q, "pool.limit", pool, limitOf(before.Tasks, before.Gpus).facts(level), l.facts(level))
	})
	if err == nil {
		s.wake()
	}
	return err
}

// amounts returns the amounts as they are stored, or Invalid.
func (l Limit) amounts() (tasks, gpus *int32, err error) {
	var fields []apperr.Field
	check := func(field string, amount *int) *int32 {
		if amount == nil {
			return nil
		}
		if *amount < 0 || *amount > math.MaxInt32 {
			fields = append(fields, apperr.Field{Path: field, Message: "Enter 0 or more, or leave the field empty for no limit."})
			return nil
		}
		return new(int32(*amount))
	}
	tasks, gpus = check("tasks", l.Tasks), check("gpus", l.GPUs)
	return tasks, gpus, apperr.InvalidFields("The limit was not changed.", fields)
}

// lockLimits makes the limits of a pool hold for attempts that several servers assign at the same time.
func lockLimits(ctx context.Context, q *db.Queries, pool string) error {
	if err := q.LockPoolLimits(ctx, pool); err != nil {
		return fmt.Errorf("lock the limits of pool %s: %w", pool, err)
	}
	return nil
}

// limited returns why the limits of a pool prevent an attempt from starting now, or nil.
func limited(w db.WaitingPoolWorkRow, limits []db.PoolLimitsRow) *launcher.Waiting {
	for _, l := range limits {
		if l.Pool != w.Pool || !slices.Contains(w.Path, l.NodeID) {
			continue
		}
		level := l.Kind + " " + l.Name
		if l.Tasks != nil && l.TasksUsed >= *l.Tasks {
			return new(waiting(launcher.WaitPoolLimit, "The %s has reached its limit in the pool %s: %d of %d running tasks.", level, w.Pool, l.TasksUsed, *l.Tasks))
		}
		if l.Gpus != nil && l.GpusUsed+w.Gpus > *l.Gpus {
			return new(waiting(launcher.WaitPoolLimit, "The %s has reached its limit in the pool %s: %d of %d GPUs are in use, and the task requests %d.", level, w.Pool, l.GpusUsed, *l.Gpus, w.Gpus))
		}
	}
	return nil
}
