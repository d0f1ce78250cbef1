package quota

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// Reload reads the tree and its limits from the rows at once.
func (s *Service) Reload(ctx context.Context) error {
	_, err := s.loadTree(ctx, s.queries)
	return err
}

// follow reloads when the limits or the tree have changed.
func (s *Service) follow(ctx context.Context) error {
	revision, err := s.queries.QuotaRevision(ctx)
	if err != nil {
		return fmt.Errorf("check for changed limits: %w", err)
	}
	if _, known := s.currentTree(); revision == known {
		return nil
	}
	return s.Reload(ctx)
}

// findProjectTimeout limits the search for a newly created project.
const findProjectTimeout = 5 * time.Second

// refreshTree reads the tree with q when project is newer than the loaded tree.
func (s *Service) refreshTree(ctx context.Context, q *db.Queries, project uuid.UUID) {
	if s.fair.Tree().Path(project) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, findProjectTimeout)
	defer cancel()
	if _, err := s.loadTree(ctx, q); err != nil {
		s.config.Logger.Warn("failed to find a new project", "project", project, "error", err)
	}
}

// currentTree returns the tree in use and its revision.
func (s *Service) currentTree() (*fair.Tree, int64) {
	s.trees.Lock()
	defer s.trees.Unlock()
	return s.fair.Tree(), s.revision
}

// activateTree makes tree the one in use, unless a newer one is in use.
func (s *Service) activateTree(tree *fair.Tree, revision int64) bool {
	s.trees.Lock()
	defer s.trees.Unlock()
	if revision < s.revision {
		return false
	}
	s.fair.SetTree(tree)
	s.revision = revision
	return true
}

// loadTree reads the tree with q and activates it, unless a newer one is in use. It
// reads the revision first: the next check finds a change in between.
func (s *Service) loadTree(ctx context.Context, q *db.Queries) (*fair.Tree, error) {
	revision, err := q.QuotaRevision(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the revision of the limits: %w", err)
	}
	rows, err := q.QuotaTree(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the limits: %w", err)
	}
	levels := make([]fair.Level, len(rows))
	for i, r := range rows {
		if levels[i], err = levelOf(r); err != nil {
			return nil, err
		}
	}
	if err := s.readCapacity(ctx, q); err != nil {
		return nil, err
	}
	levels = sound(levels, s.bounds())
	levels[0].UsedOutside = s.Capacity().inUse()
	tree, err := fair.NewTree(levels)
	if err != nil {
		return nil, fmt.Errorf("the limits: %w", err)
	}
	if s.activateTree(tree, revision) {
		s.wakeStored()
	}
	return tree, nil
}

func levelOf(r db.QuotaTreeRow) (fair.Level, error) {
	l := fair.Level{ID: r.ID, Kind: r.Kind, Name: r.Name, Limits: fair.Limits{Weight: r.Weight}}
	if r.ParentID != nil {
		l.Parent = *r.ParentID
	}
	for _, part := range []struct {
		raw  json.RawMessage
		into *fair.Vector
	}{{r.Limits, &l.Limits.Limit}, {r.Borrow, &l.Limits.Borrow}, {r.Lend, &l.Limits.Lend}, {r.Defaults, &l.Limits.Default}} {
		if len(part.raw) == 0 {
			continue
		}
		if err := json.Unmarshal(part.raw, part.into); err != nil {
			return fair.Level{}, fmt.Errorf("the limits of %s %s: %w", r.Kind, r.Name, err)
		}
	}
	return l, nil
}

// sound returns levels with limits that are valid on this installation: the root has
// the available capacity, and no level has more than one above it. Limits become
// invalid when a machine gets smaller. levels are ordered parents before children.
func sound(levels []fair.Level, capacity fair.Vector) []fair.Level {
	bounds := make(map[uuid.UUID]fair.Vector, len(levels))
	for i := range levels {
		l := &levels[i]
		above, below := bounds[l.Parent], fair.Vector{}
		if l.Parent == uuid.Nil {
			above, l.Limits.Borrow = capacity, nil
			own := l.Limits.Limit
			l.Limits.Limit = maps.Clone(capacity)
			maps.Copy(l.Limits.Limit, own)
		}
		maps.Copy(below, above)
		for r, n := range l.Limits.Limit {
			if most, ok := above[r]; ok {
				n = min(n, most)
			}
			l.Limits.Limit[r], below[r] = n, n
		}
		for r, n := range l.Limits.Lend {
			limit, ok := l.Limits.Limit[r]
			if !ok {
				delete(l.Limits.Lend, r)
				continue
			}
			l.Limits.Lend[r] = min(n, limit)
		}
		for r := range l.Limits.Borrow {
			if _, ok := l.Limits.Limit[r]; !ok {
				delete(l.Limits.Borrow, r)
			}
		}
		bounds[l.ID] = below
	}
	return levels
}

// held returns all live reservations, of any server.
func (s *Service) held(ctx context.Context, q *db.Queries) ([]fair.Held, error) {
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

// longestTransaction is the maximum time between a decision in memory and its commit.
const longestTransaction = time.Minute

// refresh corrects the image in memory from the rows.
func (s *Service) refresh(ctx context.Context) error {
	asOf := s.now().Add(-longestTransaction)
	held, err := s.held(ctx, s.queries)
	if err != nil {
		return err
	}
	s.fair.Refresh(asOf, held)
	return nil
}

// restoreHistory loads the decayed use of former processes.
func (s *Service) restoreHistory(ctx context.Context) error {
	rows, err := s.queries.QuotaUse(ctx)
	if err != nil {
		return fmt.Errorf("read past use: %w", err)
	}
	for _, r := range rows {
		var history map[fair.Resource]float64
		if err := json.Unmarshal(r.History, &history); err != nil {
			return fmt.Errorf("past use of %s: %w", r.NodeID, err)
		}
		if len(history) > 0 {
			s.fair.SetHistory(r.HistoryAt, map[uuid.UUID]map[fair.Resource]float64{r.NodeID: history})
		}
	}
	return nil
}
