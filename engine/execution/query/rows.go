package query

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/workflow"
)

// MaxNodes limits the nodes of one execution, including expanded ones.
const MaxNodes = 1_000_000

// Rows finds the rows of executions and of their nodes that the caller may read.
type Rows struct {
	queries *db.Queries
	// current reads what queries may lack, because they may use a replica.
	current   *db.Queries
	workflows *workflow.Service
}

// NewRows returns a Rows that reads current rows.
func NewRows(queries *db.Queries, workflows *workflow.Service) Rows {
	return Rows{queries: queries, current: queries, workflows: workflows}
}

// complete reads the rows of ids, each of which has at most one. Rows that are missing are looked up
// among the current ones, because an execution may be newer than what a replica has.
func complete[T any](r Rows, ids []uuid.UUID, read func(*db.Queries) ([]T, error)) ([]T, error) {
	rows, err := read(r.queries)
	if err != nil || len(rows) >= len(ids) || r.current == r.queries {
		return rows, err
	}
	return read(r.current)
}

// Execution returns the execution when the caller may read it. The error is the same for a
// missing execution and for one that the caller may not read.
func (r Rows) Execution(ctx context.Context, id uuid.UUID) (db.Execution, error) {
	if _, err := auth.SignedIn(ctx); err != nil {
		return db.Execution{}, err
	}
	row, err := r.queries.GetExecution(ctx, id)
	if db.IsNoRows(err) {
		return db.Execution{}, Absent(id)
	}
	if err != nil {
		return db.Execution{}, fmt.Errorf("get execution %s: %w", id, err)
	}
	if _, err := auth.AuthorizeIn(ctx, auth.ExecutionRead, row.ProjectID, Absent(id)); err != nil {
		return db.Execution{}, err
	}
	return row, nil
}

// Executions returns executions in the order of their ids, with the errors of Execution. They may
// belong to several projects.
func (r Rows) Executions(ctx context.Context, ids []uuid.UUID) ([]db.Execution, error) {
	if _, err := auth.SignedIn(ctx); err != nil {
		return nil, err
	}
	rows, err := complete(r, ids, func(d *db.Queries) ([]db.Execution, error) { return d.ExecutionsByID(ctx, ids) })
	if err != nil {
		return nil, fmt.Errorf("read %d executions: %w", len(ids), err)
	}
	found := map[uuid.UUID]db.Execution{}
	for _, row := range rows {
		found[row.ID] = row
	}
	list := make([]db.Execution, 0, len(ids))
	for _, id := range ids {
		row, ok := found[id]
		if !ok {
			return nil, Absent(id)
		}
		if _, err := auth.AuthorizeIn(ctx, auth.ExecutionRead, row.ProjectID, Absent(id)); err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	return list, nil
}

// Absent is the error for an execution that does not exist, or that the caller may not read.
func Absent(id uuid.UUID) error { return apperr.New(apperr.NotFound, "There is no execution %s.", id) }

// Node returns the row of the node called name; NotFound when there is none.
func (r Rows) Node(ctx context.Context, row db.Execution, name string) (db.Node, workflow.Version, error) {
	version, err := r.workflows.VersionByID(auth.AsSystem(ctx), row.VersionID)
	if err != nil {
		return db.Node{}, version, err
	}
	node, ok, err := r.walk(ctx, row.ID, version, name)
	if err != nil {
		return node, version, fmt.Errorf("get node %s of %s: %w", name, row.ID, err)
	}
	if !ok {
		return node, version, apperr.New(apperr.NotFound, "The execution has no node called %q.", name)
	}
	return node, version, nil
}

// walk follows the path from the plan to the node called name, such as "sweep[3]/train",
// through the latest children of each node. So an item of ten thousand costs two rows.
func (r Rows) walk(ctx context.Context, execution uuid.UUID, version workflow.Version, name string) (node db.Node, ok bool, err error) {
	plan, base := version.Plan, 0
	for k, step := range strings.Split(name, "/") {
		if k > 0 {
			op, known := OperatorAt(version, node)
			if !known || node.FirstChild == nil || version.Plans[op.Graph] == nil {
				return node, false, nil
			}
			plan, base = version.Plans[op.Graph], int(*node.FirstChild)
		}
		operator, item := splitItem(step)
		position, known := plan.Lookup(operator)
		if !known {
			return node, false, nil
		}
		node, err = r.queries.GetNode(ctx, execution, int32(base+position)) //nolint:gosec // at most MaxNodes
		if err == nil && item >= 0 {
			if node.FirstChild == nil || item >= int(node.ChildCount) {
				return node, false, nil
			}
			node, err = r.queries.GetNode(ctx, execution, *node.FirstChild+int32(item)) //nolint:gosec // less than MaxNodes
		}
		if db.IsNoRows(err) {
			return node, false, nil
		}
		if err != nil {
			return node, false, err
		}
	}
	return node, node.Name == name, nil
}

// splitItem splits "name[3]" into its parts; the second is -1 without brackets or with
// brackets that contain no number.
func splitItem(step string) (string, int) {
	operator, rest, found := strings.Cut(step, "[")
	if !found {
		return operator, -1
	}
	at, err := strconv.Atoi(strings.TrimSuffix(rest, "]"))
	if err != nil || at < 0 || at >= MaxNodes {
		return "", -1
	}
	return operator, at
}

// OperatorAt returns the operator of a node; false when the version no longer has it.
func OperatorAt(v workflow.Version, node db.Node) (*workflow.Operator, bool) {
	g, ok := v.Definition.Graph(node.Graph)
	at := int(node.NodeIndex)
	if node.OperatorIndex != nil {
		at = int(*node.OperatorIndex)
	}
	if !ok || at >= len(g.Operators) {
		return nil, false
	}
	return &g.Operators[at], true
}

// NodeAt returns the row and the operator of the node with an index; NotFound when it does
// not exist.
func (r Rows) NodeAt(ctx context.Context, row db.Execution, i int) (db.Node, *workflow.Operator, error) {
	version, err := r.workflows.VersionByID(auth.AsSystem(ctx), row.VersionID)
	if err != nil {
		return db.Node{}, nil, err
	}
	absent := apperr.New(apperr.NotFound, "The execution has no node %d.", i)
	if i < 0 || i >= MaxNodes {
		return db.Node{}, nil, absent
	}
	node, err := r.queries.GetNode(ctx, row.ID, int32(i))
	if db.IsNoRows(err) {
		return node, nil, absent
	}
	if err != nil {
		return node, nil, fmt.Errorf("get node %d of %s: %w", i, row.ID, err)
	}
	op, ok := OperatorAt(version, node)
	if !ok {
		return node, nil, absent
	}
	return node, op, nil
}
