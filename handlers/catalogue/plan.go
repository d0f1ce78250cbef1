package catalogue

import (
	"strings"

	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/planview"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/dagview"
	"github.com/flowforge/flowforge/views/ui"
)

// planPicture draws a graph of a version without states. Operators that run a graph link to
// its picture.
func (h *Pages) planPicture(v workflow.Version, graph, id, label string) dagview.Picture {
	plan, operators := planview.GraphOf(v, graph)
	states, names := make([]dagview.NodeState, len(plan.Nodes)), make([]string, len(plan.Nodes))
	for i := range plan.Nodes {
		names[i], states[i] = plan.Nodes[i].Name, planState(&operators[i])
	}
	p := dagview.Painter{
		ID: id, Drawing: h.Drawings.Of(v, graph, dagview.Right), States: states, Names: names, Selected: -1, Fit: true,
		Links: dagview.Links{Node: func(i int) string {
			if g := operators[i].Graph; g != "" {
				return "#" + views.PlanGraphID(g)
			}
			return ""
		}},
	}
	return p.Picture(label)
}

// planState is the note of an operator in the plan: its expansion, its condition or its
// outputs.
func planState(o *workflow.Operator) dagview.NodeState {
	summary := planview.OperatorSummary(o)
	switch {
	case o.Foreach != nil:
		s := dagview.NodeState{Sub: planview.GroupSummary(o, false), Note: summary, Times: "× n"}
		if o.Graph != "" {
			s.Note = "each runs the graph " + o.Graph
		}
		if n := o.Foreach.Parallelism; n > 0 {
			s.Note += ", " + units.Number(int64(n)) + " at once"
		}
		return s
	case o.Graph != "", o.Workflow != "":
		return dagview.NodeState{Sub: planview.GroupSummary(o, false), Note: whenText(o)}
	case o.Approval != nil:
		return dagview.NodeState{Sub: "awaits approval"}
	case o.When != "":
		return dagview.NodeState{Sub: whenText(o)}
	}
	return dagview.NodeState{Sub: summary}
}

func whenText(o *workflow.Operator) string {
	if o.When == "" {
		return ""
	}
	return "when " + o.When
}

// controlText describes on one line when, how often and as what an operator runs. It is
// empty for an operator that runs once after its dependencies have succeeded.
func controlText(o *workflow.Operator) string {
	var parts []string
	add := func(text string, condition bool) {
		if condition {
			parts = append(parts, text)
		}
	}
	if f := o.Foreach; f != nil {
		text := planview.GroupSummary(o, false)
		if f.Parallelism > 0 {
			text += ", " + units.Number(int64(f.Parallelism)) + " at once"
		}
		if f.Partial {
			text += ", failed items allowed (null)"
		}
		parts = append(parts, text)
	}
	add("runs the graph "+o.Graph, o.Graph != "")
	add("runs "+o.Workflow, o.Workflow != "")
	add("awaits approval", o.Approval != nil)
	add("starts if "+ui.Short(o.Depends, 160), o.Depends != "")
	add("condition: "+ui.Short(o.When, 160), o.When != "")
	add("its failure does not fail the execution", o.AllowFailure)
	return strings.Join(parts, " · ")
}

// limitText states the maximum number of concurrent nodes of a graph, "" for no limit.
func limitText(parallelism int) string {
	if parallelism == 0 {
		return ""
	}
	return ", at most " + units.Plural(parallelism, "node", "nodes") + " at once"
}

// planGraphs are the graphs that operators of a version run, each with its picture.
func (h *Pages) planGraphs(v workflow.Version) []views.PlanGraph {
	var graphs []views.PlanGraph
	for i := range v.Definition.Graphs {
		g := &v.Definition.Graphs[i]
		if plan, _ := planview.GraphOf(v, g.Name); plan == nil {
			continue
		}
		operators := units.Plural(len(g.Operators), "operator", "operators")
		graph := views.PlanGraph{
			Name: g.Name, Description: g.Description, Text: operators + limitText(g.Parallelism),
			Picture: h.planPicture(v, g.Name, views.PlanGraphID(g.Name)+"-plan", "Graph "+g.Name+": "+operators), Operators: operatorRows(v, g.Name),
		}
		var inputs, outputs []string
		for _, f := range g.Inputs.Fields {
			inputs = append(inputs, f.Name)
		}
		for _, o := range g.Outputs {
			outputs = append(outputs, o.Name)
		}
		graph.Inputs, graph.Outputs = strings.Join(inputs, ", "), strings.Join(outputs, ", ")
		graphs = append(graphs, graph)
	}
	return graphs
}
