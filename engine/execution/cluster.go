package execution

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
)

// KeepCluster writes the view of the cluster for all servers. The process that watches the
// cluster calls it.
func (s *Supervisor) KeepCluster(ctx context.Context, state json.RawMessage) error {
	if err := s.queries.SetClusterSnapshot(ctx, state, s.now()); err != nil {
		return fmt.Errorf("write the view of the cluster: %w", err)
	}
	return nil
}

// Known reports which tasks are attempts that have begun or may begin, and have not ended or
// still send their log. The process that watches the cluster calls it: it ignores all other
// pods.
func (s *Supervisor) Known(ctx context.Context, tasks []string) (map[string]bool, error) {
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

// Ended returns the states of executions that have ended, and "" for live ones. It leaves
// out executions that do not exist. The process that watches the cluster calls it.
func (s *Supervisor) Ended(ctx context.Context, ids []string) (map[string]string, error) {
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
