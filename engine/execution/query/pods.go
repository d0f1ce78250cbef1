package query

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/db"
)

// maxPodEvents limits the events of the pods of one node in an answer.
const maxPodEvents = 500

// PodEvents returns the events of the pods of a node's attempt, the oldest first; of all its
// attempts when attempt is 0. It returns NotFound for an unknown execution or node. Without
// a cluster there are none.
func (q *NodeReader) PodEvents(ctx context.Context, id uuid.UUID, node string, attempt int) ([]PodEvent, error) {
	row, err := q.rows.Execution(ctx, id)
	if err != nil {
		return nil, err
	}
	n, _, err := q.rows.Node(ctx, row, node)
	if err != nil {
		return nil, err
	}
	rows, err := q.queries.PodEvents(ctx, id, n.NodeIndex, int32(attempt), maxPodEvents) //nolint:gosec // a count
	if err != nil {
		return nil, fmt.Errorf("list the events of the pods of %s: %w", node, err)
	}
	events := make([]PodEvent, len(rows))
	for i, r := range rows {
		events[i] = PodEvent{Attempt: int(r.Attempt), At: r.At.UTC(), Warning: r.Warning, Reason: r.Reason, Message: r.Message, Count: int(r.Count)}
	}
	return events, nil
}

// ClusterView is the latest state of the cluster that its watching server stored, for the
// administrator's page.
type ClusterView struct {
	Cluster bool // attempts run as pods
	State   ClusterState
	SeenAt  time.Time // zero: the cluster was not read yet
}

// ClusterState is a cluster as its launcher saw it.
type ClusterState = launcher.ClusterState

// MachineState is a machine of a cluster.
type MachineState = launcher.MachineState

// GPUState counts the GPUs of one type.
type GPUState = launcher.GPUState

// NamespaceState is the namespace of a project.
type NamespaceState = launcher.NamespaceState

// Cluster returns the latest view of the cluster. It requires QuotaRead at the installation.
func (q *Reader) Cluster(ctx context.Context) (ClusterView, error) {
	if _, err := auth.AuthorizeIn(ctx, auth.QuotaRead, auth.Installation, apperr.New(apperr.NotFound, "There is no such page.")); err != nil {
		return ClusterView{}, err
	}
	row, err := q.queries.GetClusterSnapshot(ctx)
	if db.IsNoRows(err) {
		return ClusterView{Cluster: q.config.Cluster}, nil
	}
	if err != nil {
		return ClusterView{}, fmt.Errorf("read the view of the cluster: %w", err)
	}
	view := ClusterView{Cluster: q.config.Cluster, SeenAt: row.SeenAt.UTC()}
	if err := json.Unmarshal(row.Snapshot, &view.State); err != nil {
		return ClusterView{}, fmt.Errorf("the view of the cluster: %w", err)
	}
	return view, nil
}
