package execution

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

// maxPodEvents bounds the events of the pods of one node that are answered.
const maxPodEvents = 500

// PodEvents returns the events of the pods of a node's attempt, the oldest first; of
// all its attempts when attempt is 0. It returns NotFound for an unknown execution or
// node. There are none where attempts run as local processes.
func (s *Service) PodEvents(ctx context.Context, id uuid.UUID, node string, attempt int) ([]PodEvent, error) {
	row, err := s.row(ctx, id)
	if err != nil {
		return nil, err
	}
	n, _, err := s.findNode(ctx, row, node)
	if err != nil {
		return nil, err
	}
	rows, err := s.queries.PodEvents(ctx, id, n.NodeIndex, int32(attempt), maxPodEvents) //nolint:gosec // a count
	if err != nil {
		return nil, fmt.Errorf("list the events of the pods of %s: %w", node, err)
	}
	events := make([]PodEvent, len(rows))
	for i, r := range rows {
		events[i] = PodEvent{Attempt: int(r.Attempt), At: r.At.UTC(), Warning: r.Warning, Reason: r.Reason, Message: r.Message, Count: int(r.Count)}
	}
	return events, nil
}

// GPUHours returns what the attempts of each of several executions used of GPUs until
// now. It leaves out those that the caller may not see, and those that used none.
func (s *Service) GPUHours(ctx context.Context, ids ...uuid.UUID) (map[uuid.UUID]float64, error) {
	seen := make([]uuid.UUID, 0, len(ids))
	for _, id := range ids {
		_, err := s.row(ctx, id)
		if apperr.Is(err, apperr.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		seen = append(seen, id)
	}
	rows, err := s.queries.HoursOfExecutions(ctx, s.now(), seen)
	if err != nil {
		return nil, fmt.Errorf("sum up GPU-hours: %w", err)
	}
	hours := make(map[uuid.UUID]float64, len(rows))
	for _, r := range rows {
		hours[r.ExecutionID] = r.GpuHours
	}
	return hours, nil
}

// ClusterView is what the server that watches the cluster saw of it last, for the
// page of an administrator.
type ClusterView struct {
	Cluster bool // attempts run as pods
	State   ClusterState
	SeenAt  time.Time // zero: nobody has looked yet
}

// ClusterState is a cluster as its launcher saw it.
type ClusterState = launcher.ClusterState

// MachineState is a machine of a cluster.
type MachineState = launcher.MachineState

// GPUState counts the GPUs of one type.
type GPUState = launcher.GPUState

// NamespaceState is the namespace of a project.
type NamespaceState = launcher.NamespaceState

// Cluster returns the latest view of the cluster. It needs QuotaRead at the
// installation.
func (s *Service) Cluster(ctx context.Context) (ClusterView, error) {
	if _, err := auth.AuthorizeIn(ctx, auth.QuotaRead, auth.Installation, apperr.New(apperr.NotFound, "There is no such page.")); err != nil {
		return ClusterView{}, err
	}
	row, err := s.queries.GetClusterSnapshot(ctx)
	if db.IsNoRows(err) {
		return ClusterView{Cluster: s.config.Cluster}, nil
	}
	if err != nil {
		return ClusterView{}, fmt.Errorf("read the view of the cluster: %w", err)
	}
	view := ClusterView{Cluster: s.config.Cluster, SeenAt: row.SeenAt.UTC()}
	if err := json.Unmarshal(row.Snapshot, &view.State); err != nil {
		return ClusterView{}, fmt.Errorf("the view of the cluster: %w", err)
	}
	return view, nil
}

// KeepCluster writes what the cluster looks like, for all servers. For the process
// that watches it.
func (s *Service) KeepCluster(ctx context.Context, state json.RawMessage) error {
	if err := s.queries.SetClusterSnapshot(ctx, state, s.now()); err != nil {
		return fmt.Errorf("write the view of the cluster: %w", err)
	}
	return nil
}

// Known says which of these tasks are attempts that have begun or may begin, and have
// not ended or still send their log. For the process that watches the cluster: no other
// pods are needed.
func (s *Service) Known(ctx context.Context, tasks []string) (map[string]bool, error) {
	scopes := make([]auth.TaskScope, 0, len(tasks))
	names := make([]string, 0, len(tasks))
	for _, task := range tasks {
		if id, ok := parseTaskID(task); ok {
			scopes, names = append(scopes, auth.TaskScope{ExecutionID: id.execution, NodeIndex: id.Node, Attempt: id.Attempt}), append(names, task)
		}
	}
	alive, err := s.reporting(ctx, scopes)
	if err != nil {
		return nil, err
	}
	known := make(map[string]bool, len(names))
	for i, name := range names {
		if alive[i] {
			known[name] = true
		}
	}
	return known, nil
}

// Ended tells of executions how those have ended that have, "" of those that go on, and
// leaves out those that are no more. For the process that watches the cluster.
func (s *Service) Ended(ctx context.Context, ids []string) (map[string]string, error) {
	parsed := make([]uuid.UUID, 0, len(ids))
	for _, text := range ids {
		if id, err := uuid.Parse(text); err == nil {
			parsed = append(parsed, id)
		}
	}
	rows, err := s.queries.ExecutionEnds(ctx, parsed)
	if err != nil {
		return nil, fmt.Errorf("read how executions ended: %w", err)
	}
	ends := make(map[string]string, len(rows))
	for _, r := range rows {
		ends[r.ID.String()] = ""
		if r.FinishedAt != nil {
			ends[r.ID.String()] = r.Status
		}
	}
	return ends, nil
}
