package executions

import (
	"fmt"
	"strings"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/planview"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views/ui"
)

// omitted is the displayed state of a skipped node that could not run, and has its own icon. SKIPPED is a node whose
// own condition was not met.
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

// homeName is the name of a node, or of its fan-out.
func homeName(n query.Node) string {
	if n.ItemIndex != nil {
		return strings.TrimSuffix(n.Name, fmt.Sprintf("[%d]", *n.ItemIndex))
	}
	return n.Name
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
	for _, s := range []dag.State{dag.Succeeded, dag.Running, ui.AwaitingApproval, dag.Retrying, dag.Failed, dag.Queued, dag.Ready, dag.Pending, dag.Skipped, dag.Cancelled} {
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

// progressText is such as "812 of 1,000".
func progressText(c query.ChildCounts, n query.Node) string {
	if n.Children == 0 {
		return "no items"
	}
	return units.Number(int64(c.Ended())) + " of " + units.Number(int64(n.Children)) + " ended"
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
		{Name: "For each of", Value: ui.Short(planview.SourceSummary(f.Items), 120), Mono: true},
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
