package query

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution/stored"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// ClusterWait is a node that has been handed to the cluster, and that the cluster has
// not begun.
type ClusterWait struct {
	fair.Key

	Name     quota.Name
	Project  fair.LevelRef
	Priority Priority
	Asked    fair.Amount // of all its pods together
	Since    time.Time   // when it was handed over
	Reason   Reason      // its Code is one of those of package launcher
}

// ClusterWaits are nodes that wait in the cluster, those that were handed to it first
// come first. More is how many there are beyond them.
type ClusterWaits struct {
	Entries []ClusterWait
	More    int
}

// startingGrace is how long a pod may be on its way until that is called waiting.
const startingGrace = 30 * time.Second

// WaitCodes are the codes of reasons that a launcher gives for an attempt that has
// not begun. They give way to each other, and to nothing else.
func WaitCodes() []string {
	return []string{
		launcher.WaitUnschedulable, launcher.WaitImage, launcher.WaitStarting, launcher.WaitGang, launcher.WaitCluster, launcher.WaitResident,
	}
}

// InCluster returns what waits in the cluster at or below place, a node of the tenancy
// tree; uuid.Nil is the caller's project. Projects that the caller may not read are
// left out: unlike in the queue, nobody's turn depends on them. It returns NotFound
// for a place that the caller does not know.
func (q *Reader) InCluster(ctx context.Context, place uuid.UUID, limit int) (ClusterWaits, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return ClusterWaits{}, err
	}
	if place == uuid.Nil {
		place = subject.ProjectID
	}
	projects, err := q.quota.ProjectsAt(ctx, place)
	if err != nil || len(projects) == 0 {
		return ClusterWaits{}, err
	}
	if limit <= 0 {
		limit = defaultPage
	}
	rows, err := q.queries.ListWaitingInCluster(ctx, db.ListWaitingInClusterParams{
		Projects: slices.Collect(maps.Keys(projects)), Codes: WaitCodes(), Starting: launcher.WaitStarting, StartingBefore: q.now().Add(-startingGrace),
		MaxRows: int32(min(limit, maxPage)),
	})
	if err != nil {
		return ClusterWaits{}, fmt.Errorf("list what waits in the cluster: %w", err)
	}
	waits := ClusterWaits{Entries: make([]ClusterWait, len(rows))}
	for i, r := range rows {
		w := ClusterWait{
			Key: fair.Key{Execution: r.ExecutionID, Node: int(r.NodeIndex)}, Name: quota.Name{Workflow: r.WorkflowName, Execution: r.ExecutionName, Node: r.NodeName},
			Project: projects[r.ProjectID], Priority: Priority(r.Priority), Since: r.CreatedAt.UTC(),
			Asked: fair.Amount{CPUMillis: int(r.CpuMillis), MemoryMiB: int(r.MemoryMib), GPUs: int(r.Gpus), GPUType: r.GpuType, Pods: int(r.Pods)},
		}
		if reason := stored.Into[Reason](r.Reason); reason != nil {
			w.Reason = *reason
		}
		waits.Entries[i], waits.More = w, int(r.Total)-len(rows)
	}
	return waits, nil
}
