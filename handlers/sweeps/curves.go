package sweeps

import (
	"context"
	"net/url"
	"slices"

	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/comparison"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// metricKey is the parameter with the metric of the curves.
const metricKey = "metric"

// kept are the parameters of the curves, which links of the table keep.
func kept(q url.Values) url.Values {
	next := url.Values{}
	for _, key := range append(label.CurveKeys(), metricKey) {
		if v := q.Get(key); v != "" {
			next.Set(key, v)
		}
	}
	return next
}

// curves are the curves of one metric of the best runs: of the metric in the address, or of the objective,
// or else of the metric that most of the runs report. metrics is whether the reader can choose another.
func (h *Pages) curves(ctx context.Context, study sweep.Study, q url.Values, metrics bool) (views.SweepCurves, error) {
	s, drawn := study.Sweep, study.Charted(comparison.Most)
	address := func(key, value string) string {
		next := url.Values{}
		for k, values := range q {
			if k != key && k != rowsKey && k != metricsKey {
				next[k] = values
			}
		}
		if value != "" {
			next.Set(key, value)
		}
		return views.SweepQueryURL(s.ID.String(), next) + "#curves"
	}
	m := views.SweepCurves{
		ID: s.ID.String(), CompareCurves: label.Curves(q, func(axis string) string { return address("x", axis) }), Empty: "The runs have not reported metrics.",
	}
	m.Live, m.Note = !s.State.Ended(), drawnText(s, len(drawn.Executions), drawn.Of)
	if len(drawn.All) == 0 {
		m.Empty = "No run has started."
	}
	for key, values := range q {
		if !slices.Contains(append(label.CurveKeys(), metricKey, rowsKey, metricsKey), key) {
			for _, v := range values {
				m.Hidden = append(m.Hidden, [2]string{key, v})
			}
		}
	}
	if axis := q.Get("x"); axis != "" {
		m.Hidden = append(m.Hidden, [2]string{"x", axis})
	}
	slices.SortFunc(m.Hidden, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	var reported []telemetry.MetricName
	if metrics {
		places := make([]telemetry.Place, len(drawn.Executions))
		for i, id := range drawn.Executions {
			places[i] = telemetry.Place{ExecutionID: id, ProjectID: s.ProjectID}
		}
		var err error
		if reported, _, err = h.Telemetry.MetricNames(ctx, places); err != nil {
			return m, err
		}
	}
	names := metricNames(s, q.Get(metricKey), reported)
	if len(names) == 0 {
		return m, nil
	}
	m.Metric = names[0]
	slices.Sort(names)
	for _, name := range names {
		m.Metrics = append(m.Metrics, ui.Option{Value: name, Name: name, Selected: name == m.Metric})
	}
	data := url.Values{"sweep": {m.ID}, metricKey: {m.Metric}}
	if axis := q.Get("x"); axis != "" {
		data.Set("x", axis)
	}
	m.Charts = []views.CompareChart{{Name: m.Metric, DataURL: views.ComparePartURL("/curves", data), CSVURL: views.ComparePartURL("/curves.csv", data)}}
	return m, nil
}

// metricNames are the metrics that can be shown, the selected one first.
func metricNames(s sweep.Sweep, selected string, reported []telemetry.MetricName) []string {
	var names []string
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	add(selected)
	if s.Objective != nil {
		add(s.Objective.Metric)
	}
	for _, m := range reported {
		add(m.Name)
	}
	return names
}

// drawnText is which runs have curves.
func drawnText(s sweep.Sweep, drawn, of int) string {
	switch {
	case drawn == of:
		return units.Plural(of, "run", "runs")
	case s.Objective != nil:
		return "The best " + units.Number(int64(drawn)) + " of " + units.Plural(of, "run", "runs")
	}
	return "The newest " + units.Number(int64(drawn)) + " of " + units.Plural(of, "run", "runs")
}
