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

// ClusterWait is a node that was submitted to the cluster and has not begun there.
type ClusterWait struct {
	fair.Key

	Name      quota.Name
	Project   fair.LevelRef
	Priority  Priority
	Requested fair.Amount // requested by all its pods together
	Since     time.Time   // when it was submitted
	Reason    Reason      // its Code is one of package launcher's
}

// ClusterWaits are nodes that wait in the cluster, in the order of their submission. More
// counts the nodes beyond them.
type ClusterWaits struct {
	Entries []ClusterWait
	More    int
}

// startingGrace is how long a pod may take to start before it counts as waiting.
const startingGrace = 30 * time.Second

// WaitCodes are the reason codes that a launcher reports for an attempt that has not begun.
// They replace each other, and no other reason.
func WaitCodes() []string {
	return []string{
		launcher.WaitUnschedulable, launcher.WaitImage, launcher.WaitStarting, launcher.WaitGang, launcher.WaitCluster, launcher.WaitResident,
		launcher.WaitPoolEmpty, launcher.WaitPoolUnfit, launcher.WaitPoolBusy, launcher.WaitPoolLimit,
	}
}

// InCluster returns the nodes that wait in the cluster at or below place, a node of the
// tenancy tree; uuid.Nil is the caller's project. It leaves out projects that the caller may
// not read: unlike the queue, it has no order that depends on them. It returns NotFound for
// a place that the caller does not know.
func (q *WaitReader) InCluster(ctx context.Context, place uuid.UUID, limit int) (ClusterWaits, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return ClusterWaits{}, err
	}
	if place == uuid.Nil {
		place = subject.ProjectID
	}
	projects, err := q.quota.Reader.ProjectsAt(ctx, place)
	if err != nil || len(projects) == 0 {
		return ClusterWaits{}, err
	}
	ids := slices.Collect(maps.Keys(projects))
	reserved, err := q.queries.HasReservations(ctx, ids)
	if err != nil {
		return ClusterWaits{}, fmt.Errorf("find reservations in the cluster: %w", err)
	}
	if !reserved { // PostgreSQL plans the next statement for several milliseconds
		return ClusterWaits{}, nil
	}
	if limit <= 0 {
		limit = defaultPage
	}
	rows, err := q.queries.ListWaitingInCluster(ctx, db.ListWaitingInClusterParams{
		Projects: ids, Codes: WaitCodes(), Starting: launcher.WaitStarting, StartingBefore: q.now().Add(-startingGrace),
		MaxRows: int32(min(limit, maxPage)),
	})
	if err != nil {
		return ClusterWaits{}, fmt.Errorf("list nodes that wait in the cluster: %w", err)
	}
	waits := ClusterWaits{Entries: make([]ClusterWait, len(rows))}
	for i, r := range rows {
		w := ClusterWait{
			Key: fair.Key{Execution: r.ExecutionID, Node: int(r.NodeIndex)}, Name: quota.Name{Workflow: r.WorkflowName, Execution: r.ExecutionName, Node: r.NodeName},
			Project: projects[r.ProjectID], Priority: Priority(r.Priority), Since: r.CreatedAt.UTC(),
			Requested: fair.Amount{CPUMillis: int(r.CpuMillis), MemoryMiB: int(r.MemoryMib), GPUs: int(r.Gpus), GPUType: r.GpuType, Pods: int(r.Pods)},
		}
		if reason := stored.Into[Reason](r.Reason); reason != nil {
			w.Reason = *reason
		}
		waits.Entries[i], waits.More = w, int(r.Total)-len(rows)
	}
	return waits, nil
}
