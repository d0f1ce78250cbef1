package executions

import (
	"fmt"
	"slices"
	"time"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/chart"
	"github.com/flowforge/flowforge/views/ui"
)

const timelineRows = 60

// timeline draws one row per node that has its own box, and one per group, in the order in
// which they started.
func (x *executionView) timeline() views.ExecutionTimeline {
	if x.StartedAt == nil {
		return views.ExecutionTimeline{Empty: "No node has started yet."}
	}
	end := x.clock.Now
	if x.FinishedAt != nil {
		end = *x.FinishedAt
	}
	o := chart.TimelineOptions{From: x.CreatedAt, To: end, Zone: x.clock.Zone}
	if x.FinishedAt == nil {
		o.Now = x.clock.Now
		o.To = end.Add(end.Sub(x.CreatedAt) / 12) // space for future spans
	}
	rows := x.timelineNodes(end)
	t := views.ExecutionTimeline{}
	if len(rows) > timelineRows {
		t.Note = fmt.Sprintf("the first %d of %s", timelineRows, units.Plural(len(rows), "row", "rows"))
		rows = rows[:timelineRows]
	}
	o.Label = fmt.Sprintf("Timeline of %s: %s", x.title(), units.Plural(len(rows), "row", "rows"))
	t.Chart = chart.NewTimeline(rows, o)
	return t
}

func (x *executionView) timelineNodes(end time.Time) []chart.Row {
	nodes := make([]query.Node, 0, len(x.nodes))
	for _, n := range x.nodes {
		nodes = append(nodes, n)
	}
	slices.SortFunc(nodes, func(a, b query.Node) int {
		if (a.StartedAt == nil) != (b.StartedAt == nil) {
			if a.StartedAt != nil {
				return -1
			}
			return 1
		}
		if a.StartedAt != nil {
			if c := a.StartedAt.Compare(*b.StartedAt); c != 0 {
				return c
			}
		}
		return a.Index - b.Index
	})
	var rows []chart.Row
	for _, n := range nodes {
		rows = append(rows, x.timelineRow(n, end))
	}
	painter := x.painter()
	for b := range x.drawing.Boxes {
		if x.drawing.Boxes[b].Group() {
			shape := painter.Shape(b)
			rows = append(rows, chart.Row{Name: shape.FullTitle, URL: shape.URL, Note: shape.Sub})
		}
	}
	return rows
}

// pollOutcome is the outcome of a poll of a sensor that found nothing.
const pollOutcome = "NOT_YET"

// timelineRow is one node: its waiting times, its attempts and the current state.
func (x *executionView) timelineRow(n query.Node, end time.Time) chart.Row {
	row := chart.Row{Name: n.Name, URL: views.ExecutionNodeURL(x.ID.String(), n.Name)}
	until := func(t *time.Time) time.Time {
		if t != nil {
			return *t
		}
		return end
	}
	tries := x.tries[n.Index]
	at := n.ReadyAt
	for _, a := range tries {
		if a.StartedAt == nil || a.Outcome == pollOutcome {
			continue // polls of a sensor are part of its wait
		}
		if at != nil && a.StartedAt.Sub(*at) > 0 {
			row.Spans = append(row.Spans, chart.Span{From: *at, To: *a.StartedAt, Title: n.Name + " waited " + units.Duration(a.StartedAt.Sub(*at))})
		}
		state := string(dag.Running)
		if a.FinishedAt != nil {
			state = outcomeState(a.Outcome)
		}
		took := until(a.FinishedAt).Sub(*a.StartedAt)
		row.Spans = append(row.Spans, chart.Span{
			State: state, From: *a.StartedAt, To: until(a.FinishedAt),
			Title: fmt.Sprintf("%s, attempt %d: %s, %s", n.Name, a.Number, ui.Word(state), units.Duration(took)),
		})
		at = a.FinishedAt
	}
	switch {
	case len(tries) == 0 && resultOf(n) != "":
		row.Note = resultOf(n)
	case len(tries) == 0 && n.StartedAt != nil:
		row.Spans = append(row.Spans, chart.Span{
			State: shownState(n), From: *n.StartedAt, To: until(n.FinishedAt),
			Title: fmt.Sprintf("%s: %s, %s", n.Name, ui.Word(shownState(n)), units.Duration(nodeTook(x.clock.Now, n))),
		})
	case (n.State == dag.Ready || n.State == dag.Queued || n.State == dag.Retrying) && n.ReadyAt != nil && len(row.Spans) == 0:
		row.Spans = append(row.Spans, chart.Span{From: *n.ReadyAt, To: end, Title: n.Name + " waits"})
	case len(row.Spans) == 0:
		row.Note = groupNote(n.State)
	}
	return row
}

func groupNote(s dag.State) string {
	switch s {
	case dag.Pending:
		return "pending"
	case dag.Skipped:
		return "skipped"
	case dag.Cancelled:
		return "cancelled"
	case dag.Failed:
		return "did not start"
	case dag.Ready, dag.Queued, dag.Running, dag.Retrying, dag.Succeeded:
	}
	return ""
}

// outcomeState is the displayed state of an attempt with this outcome.
func outcomeState(outcome string) string {
	switch outcome {
	case "SUCCEEDED":
		return string(dag.Succeeded)
	case pollOutcome:
		return string(dag.Retrying)
	case "CANCELLED", "INTERRUPTED":
		return string(dag.Cancelled)
	}
	return string(dag.Failed)
}
