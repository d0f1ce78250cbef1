package launch

import (
	"context"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/engine/search"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/views"
)

const (
	metricsRead = 80 // names of metrics, and
	runsRead    = 50 // latest executions, in which a warning about an objective looks
)

// objectives are the names of metrics and outputs that the form offers.
func (h *sweepPages) objectives(ctx context.Context, d *draft) []string {
	var names []string
	for _, o := range d.version.Definition.Outputs {
		names = append(names, o.Name)
	}
	for _, name := range h.metrics(ctx) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// metrics are the names of the metrics of the project.
func (h *sweepPages) metrics(ctx context.Context) []string {
	fields, err := h.Index.Fields(ctx)
	if err != nil {
		h.Log.Warn("offer metrics as objectives", "error", err)
		return nil
	}
	var names []string
	for _, f := range fields.Names.Fields() {
		if f.Part == search.Metrics {
			names = append(names, f.Name)
		}
	}
	return names
}

// unknownObjective warns about a metric that no execution of the workflow has reported, if any has
// reported others.
func (h *sweepPages) unknownObjective(ctx context.Context, d *draft, o *sweep.Objective) *views.Verdict {
	if o == nil || o.Metric == "" {
		return nil
	}
	names := h.metrics(ctx)
	q := index.Query{And: search.And{search.Fact("workflow", search.Equal, search.Value{Type: search.String, Text: d.version.Name})}, Limit: runsRead}
	if slices.Contains(names, o.Metric) {
		named := q
		named.Where, named.Limit = "has:"+search.QuoteText("metrics."+o.Metric), 1
		if found, err := h.Index.Find(ctx, named); err != nil || len(found.Rows) > 0 {
			return nil
		}
	}
	if meant := apperr.Nearest(o.Metric, names); meant != "" { // so that it is among the names that are read
		names = slices.Insert(names, 0, meant)
	}
	names = names[:min(len(names), metricsRead)]
	for _, name := range names {
		q.Columns = append(q.Columns, "metrics."+name)
	}
	found, err := h.Index.Find(ctx, q)
	if err != nil {
		return nil // without ClickHouse, nothing is known
	}
	var reported []string
	for i, name := range names {
		if slices.ContainsFunc(found.Rows, func(r index.Row) bool { return r.Values[i] != nil }) && !slices.Contains(reported, name) {
			reported = append(reported, name)
		}
	}
	if len(reported) == 0 {
		return nil
	}
	v := views.Verdict{Tone: "warn", Strong: "No run of " + d.version.Name + " has reported “" + o.Metric + "”."}
	if meant := apperr.Nearest(o.Metric, reported); meant != "" {
		v.Text = "Did you mean " + meant + "?"
	} else {
		v.Text = "Its runs report " + strings.Join(reported[:min(len(reported), 5)], ", ") + "."
	}
	return &v
}
