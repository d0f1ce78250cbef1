package api

import (
	"context"

	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/comparison"
	"github.com/flowforge/flowforge/engine/comparison/sheet"
	"github.com/flowforge/flowforge/web/contract"
)

// ComparedQuery names the executions of a comparison.
type ComparedQuery struct {
	Executions string `query:"executions" required:"true" doc:"Comma-separated IDs, or ID suffixes, of 2 to 50 executions" minLength:"1" maxLength:"2000"`
}

// compareAPI serves executions side by side.
type compareAPI struct {
	Comparison *comparison.Service
}

func (h *compareAPI) mount(api *operations) {
	operation(api, get("compare-executions", "/compare", "Compare executions", "Executions"), h.apiCompare)
	operation(api, get("compare-metrics", "/compare/metrics", "Get the curves of a metric across executions", "Logs and metrics"), h.apiCompareMetrics)
}

func (h *compareAPI) apiCompare(ctx context.Context, in *struct {
	ComparedQuery
	Baseline string `query:"baseline" doc:"Execution to compare the others with; defaults to the first one" maxLength:"40"`
	All      bool   `query:"all" doc:"Include rows without differences"`
}) (*body[contract.ComparisonBody], error) {
	c, err := h.Comparison.Compare(ctx, comparison.Refs(in.Executions), in.Baseline)
	if err != nil {
		return nil, err
	}
	same, rows := sheet.Rest(c.Rows)
	if in.All {
		rows = c.Rows
	}
	out := contract.ComparisonBody{
		Baseline: c.Executions[c.Baseline].ID, Rows: make([]contract.ComparedRow, 0, len(rows)), Same: len(same), Metrics: c.Metrics, Notes: c.Notes,
	}
	if out.Metrics == nil {
		out.Metrics = []string{}
	}
	for _, e := range c.Executions {
		out.Executions = append(out.Executions, contract.ComparedExecution{
			ExecutionID: e.ID, Name: e.Name, WorkflowName: e.WorkflowName, Version: e.Version, Status: string(e.Status),
			SubmittedBy: e.SubmittedBy.Name, CreatedAt: e.CreatedAt, StartedAt: e.StartedAt, FinishedAt: e.FinishedAt,
		})
	}
	for _, r := range rows {
		row := contract.ComparedRow{Section: string(r.Section), Path: r.Path, Statistic: string(r.Statistic), Unit: string(r.Unit), Better: string(r.Better), Differs: r.Differs}
		for _, cell := range r.Cells {
			row.Values = append(row.Values, contract.ComparedCell{Present: cell.Present, Value: cell.Value, Changed: cell.Changed, Delta: cell.Delta, Best: cell.Best})
		}
		out.Rows = append(out.Rows, row)
	}
	return reply(out), nil
}

func (h *compareAPI) apiCompareMetrics(ctx context.Context, in *struct {
	ComparedQuery
	Name      string `query:"name" required:"true" doc:"Metric name" minLength:"1" maxLength:"200"`
	Axis      string `query:"axis" enum:"step,time,relative" default:"step" doc:"Horizontal axis; relative time starts at the beginning of each execution"`
	MaxPoints int    `query:"max_points" doc:"Maximum number of points per curve; longer curves are downsampled and keep their extremes" minimum:"2" maximum:"10000" default:"1000"`
}) (*body[contract.ComparedCurves], error) {
	c, err := h.Comparison.Curves(ctx, comparison.CurvesRequest{
		Executions: comparison.Refs(in.Executions), Metric: in.Name, Axis: telemetry.Axis(in.Axis), Points: in.MaxPoints,
	})
	if err != nil {
		return nil, err
	}
	out := contract.ComparedCurves{Metric: in.Name, Axis: in.Axis, Curves: make([]contract.ComparedCurve, 0, len(c.Curves)), Of: c.Of, Partial: c.Partial}
	for _, one := range c.Curves {
		b := contract.ComparedCurve{ExecutionID: one.Execution, Node: one.Node, Attempt: one.Attempt, Tags: one.Tags, X: make([]float64, len(one.Points)), Y: make([]float64, len(one.Points))}
		for i, p := range one.Points {
			b.X[i], b.Y[i] = p.X, p.Y
		}
		out.Curves = append(out.Curves, b)
	}
	return reply(out), nil
}
