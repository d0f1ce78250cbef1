package executions

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/planview"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views/dagview"
	"github.com/flowforge/flowforge/views/ui"
)

// snapshot is an execution at one point in time, as a request reads it: what the pages of the
// execution and of its nodes share.
type snapshot struct {
	h     *Pages
	clock ui.Clock
	query url.Values

	query.Execution
	version workflow.Version
	names   *artifactNames
	// children counts, by state, the children of the nodes of the page.
	children map[int]query.ChildCounts
}

// loadSnapshot reads the execution that r names.
func (h *Pages) loadSnapshot(r *http.Request) (*snapshot, error) {
	e, v, err := h.executionAndVersion(r)
	if err != nil {
		return nil, err
	}
	return &snapshot{h: h, clock: h.Page.Clock(r), query: r.URL.Query(), Execution: e, version: v, names: h.artifactNames()}, nil
}

// refresh reads the execution again.
func (x *snapshot) refresh(ctx context.Context) error {
	e, err := x.h.Executions.Get(ctx, x.ID)
	if err != nil {
		return err
	}
	x.Execution, x.clock.Now = e, x.h.Now()
	return nil
}

// title names the execution in breadcrumbs and tabs.
func (x *snapshot) title() string {
	return label.ExecutionTitle(x.Execution) + " " + label.ShortID(x.ID)
}

// operator is the operator of a node of the page, or nil if its version has none.
func (x *snapshot) operator(n query.Node) *workflow.Operator {
	op, ok := query.OperatorOf(x.version, n)
	if !ok {
		return nil
	}
	return op
}

// becomes reports whether a node expands into others.
func (x *snapshot) becomes(n query.Node) bool {
	op := x.operator(n)
	return op != nil && n.Group(op)
}

// planned is the entry of a node, or of its fan-out, in its plan, or nil if the version has
// none.
func (x *snapshot) planned(n query.Node) (*dag.Plan, *dag.Node) {
	plan, _ := planview.GraphOf(x.version, n.Graph)
	if plan == nil || n.Place >= len(plan.Nodes) {
		return nil, nil
	}
	return plan, &plan.Nodes[n.Place]
}

// siblingPrefix is the prefix of the names of the nodes next to n: "outer[1]/" of
// "outer[1]/cell[3]".
func (x *snapshot) siblingPrefix(n query.Node) string {
	_, node := x.planned(n)
	if node == nil {
		return ""
	}
	return strings.TrimSuffix(homeName(n), node.Name)
}

// dependencies is the number of nodes that a node depends on.
func (x *snapshot) dependencies(n query.Node) int {
	_, node := x.planned(n)
	if node == nil {
		return 0
	}
	return len(node.Dependencies)
}

// attemptOf is the current attempt of a node: "2 of 3".
func (x *snapshot) attemptOf(n query.Node) string {
	limit := 0
	if op := x.operator(n); op != nil {
		limit = op.Retry.Limit
	}
	return fmt.Sprintf("%d of %d", n.Attempt, max(limit+1, n.Attempt))
}

// count counts the children of nodes again.
func (x *snapshot) count(ctx context.Context, nodes []query.Node) error {
	var groups []int
	for _, n := range nodes {
		if n.Children > 0 {
			groups = append(groups, n.Index)
		}
	}
	if len(groups) == 0 {
		return nil
	}
	counts, err := x.h.Executions.Nodes.ChildCounts(ctx, x.ID, groups)
	if err != nil {
		return err
	}
	if x.children == nil {
		x.children = map[int]query.ChildCounts{}
	}
	maps.Copy(x.children, counts)
	return nil
}

// groupState is the state of a node with children in the graph: its progress and the states
// of its children.
func (x *snapshot) groupState(n query.Node, op *workflow.Operator) dagview.NodeState {
	s := dagview.NodeState{State: shownState(n)}
	if !n.Expanded {
		s.Sub, s.Note = x.nodeSummaryLine(n), planview.GroupSummary(op, n.ItemIndex != nil)
		if n.State == dag.Pending {
			s.Sub, s.Note = s.Note, s.Sub
		}
		return s
	}
	c := x.children[n.Index]
	s.Children = stateCounts(c, nil)
	if n.FansOut(op) {
		s.Times = "× " + units.Number(int64(n.Children))
	}
	s.Sub = progressText(c, n)
	var rest []ui.Count
	for _, count := range s.Children {
		if count.State != string(dag.Succeeded) && (count.State != string(dag.Pending) || len(s.Children) == 1) {
			rest = append(rest, count)
		}
	}
	s.Note = strings.Join(dagview.CountTexts(rest), ", ")
	if s.Note == "" && n.State.Ended() {
		s.Note = cmp.Or(resultOf(n), units.Duration(nodeTook(x.clock.Now, n)))
	}
	return s
}

// streamQuery contains the parameters with which the stream draws the same pieces as the
// page.
func (x *snapshot) streamQuery(cursor string) url.Values {
	q := url.Values{}
	for _, k := range []string{"node", "view", "state", "nodes", "from", "to", "stem", "after", "x", "scale", "smooth"} {
		if v := x.query.Get(k); v != "" {
			q.Set(k, v)
		}
	}
	q.Set("seen", x.clock.Now.UTC().Format(time.RFC3339Nano))
	if cursor != "" {
		q.Set("last-event-id", cursor)
	}
	return q
}

// nodeState is the state of a node in the graph, with its most useful fact.
func (x *snapshot) nodeState(n query.Node) dagview.NodeState {
	if op := x.operator(n); op != nil && n.Group(op) {
		return x.groupState(n, op)
	}
	s := dagview.NodeState{State: shownState(n), Sub: x.nodeSummaryLine(n)}
	if n.Progress != nil {
		s.Progress = n.Progress.Percent
	}
	if n.State == dag.Running && n.StartedAt != nil && (n.Progress == nil || n.Progress.Message == "") {
		s.Since = n.StartedAt.Format(time.RFC3339)
	}
	return s
}

// nodeSummaryLine is the most useful fact about a node, in a few words.
func (x *snapshot) nodeSummaryLine(n query.Node) string {
	switch n.State {
	case dag.Succeeded:
		return cmp.Or(resultOf(n), units.Duration(nodeTook(x.clock.Now, n)))
	case dag.Running:
		if n.Progress != nil && n.Progress.Message != "" {
			return n.Progress.Message
		}
		return units.Duration(nodeTook(x.clock.Now, n))
	case dag.Failed:
		if n.Error != nil {
			return label.Cause(n.Error.Message)
		}
	case dag.Ready, dag.Queued, dag.Skipped, dag.Cancelled, dag.Retrying:
		if n.Reason != nil {
			return n.Reason.Message
		}
	case dag.Pending:
		if after := x.dependencies(n); after > 0 {
			return "after " + units.Plural(after, "node", "nodes")
		}
	}
	return ""
}
