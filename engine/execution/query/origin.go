package query

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution/stored"
)

// OriginUse is how a node uses its origin, a node of an earlier execution.
type OriginUse string

// The uses.
const (
	OriginReused OriginUse = "TAKEN"  // it reuses the result, through a resume
	OriginCached OriginUse = "CACHED" // it reuses the result, from the cache
	OriginBefore OriginUse = "BEFORE" // it ran again, with the checkpoints of its origin
)

// Origin is the node of an earlier execution that a node continues or reuses.
type Origin struct {
	Execution uuid.UUID
	Node      string // its name; "" when it was removed
	Use       OriginUse
}

// originOf returns the origin of a node; nil when it has none.
func (q *NodeReader) originOf(ctx context.Context, node db.Node) (*Origin, error) {
	if node.OriginUse == nil {
		return nil, nil //nolint:nilnil // no origin is a valid result
	}
	o := &Origin{Execution: *node.OriginExecution, Use: OriginUse(*node.OriginUse)}
	rows, err := q.queries.NodeNames(ctx, o.Execution, []int32{*node.OriginIndex})
	if err != nil {
		return nil, fmt.Errorf("name the origin of a node: %w", err)
	}
	for _, r := range rows {
		o.Node = r.Name
	}
	return o, nil
}

// maxResumes limits how many resumes of an execution are listed.
const maxResumes = 20

// Resumes returns the latest executions that resume an execution, newest first.
func (q *Reader) Resumes(ctx context.Context, id uuid.UUID) ([]Execution, error) {
	row, err := q.rows.Execution(ctx, id)
	if err != nil {
		return nil, err
	}
	rows, err := q.queries.ResumesOf(ctx, id, row.ProjectID, maxResumes)
	if err != nil {
		return nil, fmt.Errorf("list resumes of %s: %w", id, err)
	}
	list := make([]Execution, len(rows))
	for i, r := range rows {
		list[i] = Execution{ID: r.ID, ProjectID: row.ProjectID, Status: State(r.Status), CreatedAt: r.CreatedAt}
	}
	return list, nil
}

// resumedFrom is the node from which an execution resumes; "" for the first failures.
func resumedFrom(r db.Execution) string {
	resume := stored.Into[struct {
		From string `json:"from"`
	}](r.Resume)
	if resume == nil {
		return ""
	}
	return resume.From
}
