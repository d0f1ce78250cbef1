package executions

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/comparison/sheet"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

const (
	executionsOfWorkflow = 24 // on the page of their workflow

	inputsShown  = 3 // in a row of the list
	resultsShown = 2
	figureShown  = 40 // characters of a value in a row
)

// Rows draws executions as lists show them. It is safe for concurrent use.
type Rows struct {
	Now        func() time.Time
	Executions *query.Reader
	Sweeps     *sweep.Service
}

// Of are the rows of a list. Each has its result, and the inputs in which it differs from
// other executions of its workflow on the page.
func (h *Rows) Of(ctx context.Context, clock ui.Clock, list []query.Execution) ([]views.ExecutionRow, error) {
	inputs := make([]map[string]any, len(list))
	for i, e := range list {
		inputs[i] = parts(e.Inputs)
	}
	differing := differingInputs(list, inputs)
	rows := make([]views.ExecutionRow, len(list))
	for i, e := range list {
		rows[i] = h.executionRow(clock, e, request.WorkflowRef(ctx, e.WorkflowName, e.WorkflowID))
		if mayKeep(ctx, e.ProjectID) {
			rows[i].EditURL = views.LabelsURL(rows[i].ID)
		}
		if e.AwaitsApproval {
			rows[i].State = ui.AwaitingApproval
		}
		names := changedFirst(differing[e.WorkflowID], list, inputs, i)
		rows[i].Inputs = shortNames(figures(inputs[i], names, inputsShown))
		rows[i].Results = figures(e.Outputs, slices.Sorted(maps.Keys(e.Outputs)), resultsShown)
	}
	return rows, nil
}

// OfWorkflow are the latest executions of a workflow.
func (h *Rows) OfWorkflow(ctx context.Context, clock ui.Clock, id uuid.UUID) ([]views.ExecutionRow, error) {
	page, err := h.Executions.List(ctx, query.Filter{Workflow: id.String(), Limit: executionsOfWorkflow})
	if err != nil {
		return nil, err
	}
	return h.Of(ctx, clock, page.Executions)
}

// parts are values by their dotted paths, such as hyperparameters.learning_rate.
func parts(values map[string]any) map[string]any {
	out := make(map[string]any, len(values))
	for name, v := range values {
		for _, part := range sheet.Flatten(sheet.Inputs, name, v) {
			out[part.Path] = part.Value
		}
	}
	return out
}

// shortNames leaves out the path before the last name where the row stays unambiguous.
func shortNames(facts []ui.Fact) []ui.Fact {
	last := func(f ui.Fact) string { return f.Name[strings.LastIndexByte(f.Name, '.')+1:] }
	count := map[string]int{}
	for _, f := range facts {
		count[last(f)]++
	}
	for i, f := range facts {
		if count[last(f)] == 1 {
			facts[i].Name = last(f)
		}
	}
	return facts
}

// differingInputs names, by workflow, the inputs whose values differ among executions, those with the
// most values first. The inputs of list[i] are inputs[i]. A workflow with a single execution has all of its inputs.
func differingInputs(list []query.Execution, inputs []map[string]any) map[uuid.UUID][]string {
	values := map[uuid.UUID]map[string]map[string]bool{} // by workflow and input
	runs := map[uuid.UUID]int{}
	for i, e := range list {
		runs[e.WorkflowID]++
		for name, v := range inputs[i] {
			if values[e.WorkflowID] == nil {
				values[e.WorkflowID] = map[string]map[string]bool{}
			}
			if values[e.WorkflowID][name] == nil {
				values[e.WorkflowID][name] = map[string]bool{}
			}
			text, _ := json.Marshal(v) //nolint:errchkjson // a decoded JSON value
			values[e.WorkflowID][name][string(text)] = true
		}
	}
	names := map[uuid.UUID][]string{}
	for id, inputs := range values {
		for name, seen := range inputs {
			if len(seen) > 1 || runs[id] == 1 {
				names[id] = append(names[id], name)
			}
		}
		slices.SortFunc(names[id], func(a, b string) int {
			return cmp.Or(len(inputs[b])-len(inputs[a]), strings.Compare(a, b))
		})
	}
	return names
}

// changedFirst moves the inputs in which list[i] differs from the executions of its workflow beside it to
// the front: those that a sweep varies.
func changedFirst(names []string, list []query.Execution, inputs []map[string]any, i int) []string {
	var beside []map[string]any
	for _, step := range []int{-1, 1} {
		for k := i + step; k >= 0 && k < len(list); k += step {
			if list[k].WorkflowID == list[i].WorkflowID {
				beside = append(beside, inputs[k])
				break
			}
		}
	}
	rank := func(name string) int {
		for _, other := range beside {
			if !reflect.DeepEqual(other[name], inputs[i][name]) {
				return 0
			}
		}
		return 1
	}
	sorted := slices.Clone(names)
	slices.SortStableFunc(sorted, func(a, b string) int { return rank(a) - rank(b) })
	return sorted
}

// Figures are the first values, or parts of values, that fit in a line, by name.
func Figures(values map[string]any, most int) []ui.Fact {
	flat := parts(values)
	return figures(flat, slices.Sorted(maps.Keys(flat)), most)
}

// figures are the first named values that fit in a row: numbers, strings and booleans.
func figures(values map[string]any, names []string, most int) []ui.Fact {
	var facts []ui.Fact
	for _, name := range names {
		if text := rowFigure(values[name]); text != "" && len(facts) < most {
			facts = append(facts, ui.Fact{Name: name, Value: text})
		}
	}
	return facts
}

// rowFigure is a single value in a few characters, "" for composite values.
func rowFigure(v any) string {
	switch v := v.(type) {
	case json.Number:
		if f, err := v.Float64(); err == nil && len(v) > roundedFrom {
			return ui.Float(f)
		}
		return v.String()
	case string:
		return ui.Short(strings.Join(strings.Fields(v), " "), figureShown)
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case map[string]any:
		if entry, ok := v["$catalogue"].(string); ok {
			return ui.Short(entry, figureShown)
		}
	}
	return ""
}

// executionRow is an execution as lists show it; links name its workflow by ref.
func (h *Rows) executionRow(clock ui.Clock, e query.Execution, ref string) views.ExecutionRow {
	id := e.ID.String()
	row := views.ExecutionRow{
		ID: id, Short: label.ShortID(e.ID), URL: views.ExecutionURL(id), State: string(e.Status), Title: label.ExecutionTitle(e), Version: e.Version,
		Flow: e.Version, Sub: label.ExecutionSummary(e), By: e.SubmittedBy.Name, Started: clock.Moment(e.CreatedAt), Took: units.Duration(label.TookSoFar(h.Now(), e)),
		Bar: executionBar(e, ""), RelaunchURL: views.RelaunchURL(ref, id), WorkflowURL: views.WorkflowURL(ref),
	}
	if e.Name != "" {
		row.Flow = e.WorkflowName + " " + e.Version
	}
	if !e.Status.Ended() && e.StartedAt != nil {
		row.Since = e.StartedAt.Format(time.RFC3339)
	}
	return row
}

// outputCell is an output of an item in a cell of the table.
func outputCell(v any) string {
	if text := rowFigure(v); text != "" || v == nil {
		return text
	}
	if ref, ok := v.(map[string]any); ok && ref["$artifact"] != nil {
		return "artifact"
	}
	return ui.Short(oneLine(v), itemValueShown)
}

// TrendLength is the number of executions in the trend of a workflow.
const TrendLength = 24

// Recent returns the last executions of each workflow, newest first.
func (h *Rows) Recent(ctx context.Context, items []workflow.Summary) (map[uuid.UUID][]query.Execution, error) {
	ids := make([]uuid.UUID, 0, len(items))
	for _, item := range items {
		ids = append(ids, item.ID)
	}
	return h.Executions.Recent(ctx, ids, TrendLength)
}
