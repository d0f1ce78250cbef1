package catalogue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/planview"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// overview fills the first tab of a workflow: the plan and the schemas.
func (h *Pages) overview(m *views.Workflow, v workflow.Version) {
	operators := units.Plural(len(v.Plan.Nodes), "operator", "operators")
	levels := units.Plural(len(v.Plan.Levels), "level", "levels")
	m.Plan = h.planPicture(v, "", "plan", fmt.Sprintf("Plan of %s: %s in %s", v.Name, operators, levels))
	m.PlanText = operators + ", " + levels + limitText(v.Definition.Parallelism)
	m.Graphs = h.planGraphs(v)
	m.Inputs = inputRows(v.Definition.Inputs)
	for _, o := range v.Definition.Outputs {
		m.Outputs = append(m.Outputs, views.SchemaRow{
			Name: o.Name, Type: ui.Short(o.Type.String(), 60), TypeURL: views.TypeURL(o.Type.Name()), Description: o.Description, From: o.Origin(),
		})
	}
	m.Operators = operatorRows(v, "")
	m.Packages = packagesOf(v)
}

// packagesOf groups the operators of a version, including those of its graphs, by their Python packages.
func packagesOf(v workflow.Version) []views.OperatorPackages {
	var found []views.OperatorPackages
	add := func(operators []workflow.Operator) {
		for i := range operators {
			requirements := operators[i].Code.Requirements
			if len(requirements) == 0 {
				continue
			}
			at := slices.IndexFunc(found, func(p views.OperatorPackages) bool { return slices.Equal(p.Requirements, requirements) })
			if at < 0 {
				at, found = len(found), append(found, views.OperatorPackages{Requirements: requirements})
			}
			found[at].Operators = append(found[at].Operators, operators[i].Name)
		}
	}
	add(v.Definition.Operators)
	for _, g := range v.Definition.Graphs {
		add(g.Operators)
	}
	return found
}

// operatorsShown limits the rows of a table of operators.
const operatorsShown = 200

// defaultShown is the number of characters of a default on a workflow page.
const defaultShown = 80

// operatorRows are the operators of a graph of v.
func operatorRows(v workflow.Version, graph string) []views.OperatorRow {
	plan, operators := planview.GraphOf(v, graph)
	var rows []views.OperatorRow
	for i := range operators[:min(len(operators), operatorsShown)] {
		rows = append(rows, operatorRow(plan, &operators[i], i))
	}
	return rows
}

func inputRows(schema typeregistry.Schema) []views.SchemaRow {
	var rows []views.SchemaRow
	defaults, _ := schema.CheckAll(nil, typeregistry.Env{}) // of objects, those of their fields
	for _, f := range schema.Fields {
		row := views.SchemaRow{
			Name: f.Name, Type: ui.Short(f.Type.String(), 60), TypeURL: views.TypeURL(f.Type.Name()), Description: cmp.Or(f.Description, f.Hints.Help), Required: f.Required,
		}
		if f.Default != nil {
			row.Default = renderDefault(f)
		} else if _, ok := f.DefaultValue(typeregistry.Env{}); ok {
			row.Default = ui.Short(f.Type.Render(defaults[f.Name]), defaultShown)
		}
		rows = append(rows, row)
	}
	return rows
}

func renderDefault(f typeregistry.Field) string {
	value, err := label.DecodeJSON(f.Default)
	if err != nil {
		return string(f.Default)
	}
	return ui.Short(f.Type.Render(value), defaultShown)
}

func operatorRow(plan *dag.Plan, o *workflow.Operator, i int) views.OperatorRow {
	row := views.OperatorRow{
		Name: o.Name, Kind: string(o.Type), Resources: planview.ResourceText(o.Resources), Place: planview.PodText(o), Control: controlText(o), Retry: planview.RetriesText(o), Timeout: planview.TimeoutText(o),
	}
	if !o.Runs() {
		row.Resources = ""
	}
	var after []string
	for _, d := range plan.Nodes[i].Dependencies {
		after = append(after, plan.Nodes[d].Name)
		if len(after) == 4 && len(plan.Nodes[i].Dependencies) > 5 {
			after = append(after, fmt.Sprintf("and %d more", len(plan.Nodes[i].Dependencies)-4))
			break
		}
	}
	row.After = strings.Join(after, ", ")
	if o.Final {
		row.After = "all others (exit handler)"
	}
	return row
}
