package executions

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/planview"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/dagview"
	"github.com/flowforge/flowforge/views/ui"
)

// omitted is the displayed state of a node that could not run. SKIPPED is a node whose own
// condition was not met.
const omitted = "OMITTED"

// shownState is the displayed state of a node.
func shownState(n query.Node) string {
	if n.State == dag.Skipped && n.Reason != nil && n.Reason.Code != execution.ReasonCondition {
		return omitted
	}
	if n.State == dag.Running && n.Reason != nil && n.Reason.Code == execution.ReasonApproval {
		return ui.AwaitingApproval
	}
	return string(n.State)
}

// operator is the operator of a node of the page, or nil if its version has none.
func (x *executionView) operator(n query.Node) *workflow.Operator {
	op, ok := query.OperatorOf(x.version, n)
	if !ok {
		return nil
	}
	return op
}

// becomes reports whether a node expands into others.
func (x *executionView) becomes(n query.Node) bool {
	op := x.operator(n)
	return op != nil && n.Group(op)
}

// planned is the entry of a node, or of its fan-out, in its plan, or nil if the version has
// none.
func (x *executionView) planned(n query.Node) (*dag.Plan, *dag.Node) {
	plan, _ := planview.GraphOf(x.version, n.Graph)
	if plan == nil || n.Place >= len(plan.Nodes) {
		return nil, nil
	}
	return plan, &plan.Nodes[n.Place]
}

// siblingPrefix is the prefix of the names of the nodes next to n: "outer[1]/" of
// "outer[1]/cell[3]".
func (x *executionView) siblingPrefix(n query.Node) string {
	_, node := x.planned(n)
	if node == nil {
		return ""
	}
	return strings.TrimSuffix(homeName(n), node.Name)
}

// homeName is the name of a node, or of its fan-out.
func homeName(n query.Node) string {
	if n.ItemIndex != nil {
		return strings.TrimSuffix(n.Name, fmt.Sprintf("[%d]", *n.ItemIndex))
	}
	return n.Name
}

// dependencies is the number of nodes that a node depends on.
func (x *executionView) dependencies(n query.Node) int {
	_, node := x.planned(n)
	if node == nil {
		return 0
	}
	return len(node.Dependencies)
}

// attemptOf is the current attempt of a node: "2 of 3".
func (x *executionView) attemptOf(n query.Node) string {
	limit := 0
	if op := x.operator(n); op != nil {
		limit = op.Retry.Limit
	}
	return fmt.Sprintf("%d of %d", n.Attempt, max(limit+1, n.Attempt))
}

// count counts the children of nodes again.
func (x *executionView) count(ctx context.Context, nodes []query.Node) error {
	var groups []int
	for _, n := range nodes {
		if n.Children > 0 {
			groups = append(groups, n.Index)
		}
	}
	if len(groups) == 0 {
		return nil
	}
	counts, err := x.h.Executions.ChildCounts(ctx, x.ID, groups)
	if err != nil {
		return err
	}
	if x.children == nil {
		x.children = map[int]query.ChildCounts{}
	}
	maps.Copy(x.children, counts)
	return nil
}

// liveGroups are the drawn nodes whose children can still change.
func (x *executionView) liveGroups() []query.Node {
	var live []query.Node
	for _, n := range x.nodes {
		if n.Children > 0 && (!n.State.Ended() || x.children[n.Index].Total() != x.children[n.Index].Ended()) {
			live = append(live, n)
		}
	}
	return live
}

// stateCounts are counts in the order of bars.
func stateCounts(c query.ChildCounts, url func(state string) string) []ui.Count {
	var counts []ui.Count
	for _, s := range []dag.State{dag.Succeeded, dag.Running, dag.Retrying, dag.Failed, dag.Queued, dag.Ready, dag.Pending, dag.Skipped, dag.Cancelled} {
		if c[s] == 0 {
			continue
		}
		count := ui.Count{State: string(s), N: c[s]}
		if url != nil {
			count.URL = url(count.State)
		}
		counts = append(counts, count)
	}
	return counts
}

// groupState is the state of a node with children in the graph: its progress and the states
// of its children.
func (x *executionView) groupState(n query.Node, op *workflow.Operator) dagview.NodeState {
	s := dagview.NodeState{State: shownState(n)}
	if !n.Expanded {
		s.Sub, s.Note = x.nodeSummaryLine(n), planview.GistOfGroup(op, n.ItemIndex != nil)
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

// progressText is such as "812 of 1,000".
func progressText(c query.ChildCounts, n query.Node) string {
	if n.Children == 0 {
		return "no items"
	}
	return units.Number(int64(c.Ended())) + " of " + units.Number(int64(n.Children)) + " ended"
}

// inGraph draws the graph that node n runs. Its nodes are children, in the order of the plan.
func (x *executionView) inGraph(n query.Node, graph string, children []query.Node) dagview.Picture {
	plan, _ := planview.GraphOf(x.version, graph)
	drawing := x.h.Drawings.Best(x.version, graph)
	names, states := make([]string, len(plan.Nodes)), make([]dagview.NodeState, len(plan.Nodes))
	for i := range plan.Nodes {
		names[i], states[i].State = plan.Nodes[i].Name, string(dag.Pending)
		if i < len(children) {
			states[i] = x.nodeState(children[i])
		}
	}
	id := x.ID.String()
	p := dagview.Painter{
		ID: views.InnerGraphID(), Drawing: drawing, States: states, Names: names, Selected: -1,
		Links: dagview.Links{
			Node:  func(i int) string { return views.NodeURL(id, n.Name+"/"+names[i]) },
			Group: func(b dagview.Box) string { return views.ChildrenURL(id, n.Name, "", b.Stem) },
		},
	}
	return p.Picture(fmt.Sprintf("Graph %s: %s", graph, units.Plural(len(plan.Nodes), "node", "nodes")))
}

// crumbs lead from the list of executions to a node.
func (x *executionView) crumbs(ctx context.Context, n query.Node) ([]views.Crumb, error) {
	id := x.ID.String()
	crumbs := []views.Crumb{{Name: "Executions", URL: views.ExecutionsURL()}, {Name: x.title(), URL: views.ExecutionURL(id)}}
	if n.Parent < 0 {
		return crumbs, nil
	}
	above, err := x.h.Executions.Ancestors(ctx, x.ID, n.Index)
	if err != nil {
		return nil, err
	}
	const shown = 4
	if hidden := len(above) - shown; hidden > 0 {
		crumbs = append(crumbs, views.Crumb{Name: shortName(above[0].Name), URL: views.NodeURL(id, above[0].Name)},
			views.Crumb{Name: "…", URL: views.NodeURL(id, above[hidden].Name)})
		above = above[hidden+1:]
	}
	for _, a := range above {
		crumbs = append(crumbs, views.Crumb{Name: shortName(a.Name), URL: views.NodeURL(id, a.Name)})
	}
	return crumbs, nil
}

// shortName is a name without its path: "cell[3]" of "outer[1]/cell[3]".
func shortName(name string) string { return name[strings.LastIndex(name, "/")+1:] }

// topName is the name of the node of the plan that contains the node called name.
func topName(name string) string {
	if i := strings.IndexAny(name, "[/"); i > 0 {
		return name[:i]
	}
	return name
}

// fanFacts describe the expansion of an operator.
func fanFacts(op *workflow.Operator, n query.Node) []ui.Fact {
	if !n.FansOut(op) {
		if op.Workflow != "" {
			return []ui.Fact{{Name: "Workflow", Value: op.Workflow, Mono: true}}
		}
		return []ui.Fact{{Name: "Graph", Value: op.Graph, Mono: true}}
	}
	f := op.Foreach
	facts := []ui.Fact{
		{Name: "For each of", Value: ui.Short(planview.SourceGist(f.Items), 120), Mono: true},
		{Name: "Parallelism", Value: "unlimited"},
		{Name: "Failed items", Value: "not allowed"},
		{Name: "Limit", Value: units.Number(int64(f.Limit))},
	}
	if f.Parallelism > 0 {
		facts[1].Value = units.Plural(f.Parallelism, "item", "items")
	}
	if f.Partial {
		facts[2].Value = "allowed (null)"
	}
	if op.Graph != "" {
		facts = append(facts, ui.Fact{Name: "Each runs", Value: op.Graph, Mono: true})
	}
	return facts
}
