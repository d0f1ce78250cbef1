package quota

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// Name is the display name of a node of an execution. The zero Name means that the
// reader may not see it.
type Name struct {
	Workflow, Execution, Node string
}

// Queued is a waiting node with its name. A node that the reader may not see has only a
// position, an amount and an age.
type Queued struct {
	fair.Waiting

	Name Name
}

// Hidden reports whether the reader may not see its identity.
func (q Queued) Hidden() bool { return q.Execution == uuid.Nil }

// Running is a running attempt with its name; like Queued, it may be hidden.
type Running struct {
	fair.Held

	Name Name
}

// Hidden reports whether the reader may not see its identity.
func (r Running) Hidden() bool { return r.Execution == uuid.Nil }

// names looks up the display names of nodes.
func (rd *Reader) names(ctx context.Context, keys []fair.Key) (map[fair.Key]Name, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	executions, indexes := make([]uuid.UUID, len(keys)), make([]int32, len(keys))
	for i, k := range keys {
		executions[i], indexes[i] = k.Execution, int32(k.Node) //nolint:gosec // an index of a node
	}
	rows, err := db.New(rd.pool).DescribeWaiting(ctx, executions, indexes)
	if err != nil {
		return nil, fmt.Errorf("find names of nodes: %w", err)
	}
	names := make(map[fair.Key]Name, len(rows))
	for _, r := range rows {
		names[fair.Key{Execution: r.ExecutionID, Node: int(r.NodeIndex)}] = Name{r.WorkflowName, r.ExecutionName, r.NodeName}
	}
	return names, nil
}

// queued adds names to waiting requests, and hides what subject may not see.
func (rd *Reader) queued(ctx context.Context, subject auth.Subject, waiting []fair.Waiting) ([]Queued, error) {
	var keys []fair.Key
	for _, w := range waiting {
		keys = append(keys, w.Key)
	}
	names, err := rd.names(ctx, keys)
	if err != nil {
		return nil, err
	}
	queue := make([]Queued, len(waiting))
	for i, w := range waiting {
		if !subject.May(auth.ExecutionRead, w.Project) {
			w = fair.Waiting{Request: fair.Request{Amount: w.Amount, Since: w.Since}, Position: w.Position}
		}
		queue[i] = Queued{w, names[w.Key]}
		hideHolders(subject, &queue[i].Reason)
	}
	return queue, nil
}

// running adds names to running attempts, and hides what subject may not see.
func (rd *Reader) running(ctx context.Context, subject auth.Subject, held []fair.Held) ([]Running, error) {
	var keys []fair.Key
	for _, h := range held {
		keys = append(keys, h.Key)
	}
	names, err := rd.names(ctx, keys)
	if err != nil {
		return nil, err
	}
	out := make([]Running, len(held))
	for i, h := range held {
		if !subject.May(auth.ExecutionRead, h.Project) {
			h = fair.Held{Request: fair.Request{Amount: h.Amount, Since: h.Since}}
		}
		out[i] = Running{h, names[h.Key]}
	}
	return out, nil
}

// hideHolders removes from a reason what the subject may not see.
func hideHolders(subject auth.Subject, r *fair.Reason) {
	r.Holders = slices.Clone(r.Holders)
	for i := range r.Holders {
		h := &r.Holders[i]
		if !subject.May(auth.ExecutionRead, h.Project.ID) {
			h.Execution, h.Node, h.Project = uuid.Nil, 0, fair.LevelRef{}
		}
		if !subject.May(auth.QuotaRead, h.Owner.ID) {
			h.Owner = fair.LevelRef{}
		}
	}
}
