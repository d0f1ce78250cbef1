package executions

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/chart"
	"github.com/flowforge/flowforge/views/ui"
)

const (
	maxCharts   = 24
	maxCurves   = 6
	chartPoints = 500
)

// metrics draws the metrics of the whole execution, or of the selected node.
func (x *executionView) metrics(ctx context.Context) views.Metrics {
	read := seriesReader(x.h.bestSeries)
	if x.shares && !x.Status.Ended() {
		read = func(ctx context.Context, q telemetry.MetricQuery) (series []telemetry.Series, err error) {
			series, x.received, err = x.h.shared.taskSeries(ctx, q)
			return series, err
		}
	}
	return x.h.metricsOf(ctx, x.clock, telemetry.MetricQuery{ExecutionID: x.ID, Node: x.query.Get("node"), Source: telemetry.FromTask}, read,
		x.query, views.ExecutionURL(x.ID.String()), !x.Status.Ended())
}

// metricOptions are the choices of the reader, kept in the URL.
type metricOptions struct {
	time, log bool
	zero      bool // values begin at 0
	smooth    int
	zone      *time.Location
}

func metricOptionsOf(q url.Values, zone *time.Location) metricOptions {
	smooth, err := strconv.Atoi(q.Get("smooth"))
	if err != nil || smooth < 0 || smooth > 95 {
		smooth = 0
	}
	return metricOptions{time: q.Get("x") == "time", log: q.Get("scale") == "log", smooth: smooth, zone: zone}
}

// metricsOf draws the results of query, one chart per metric with a curve per node and
// attempt. If the telemetry store is unavailable, the rest of the page still works.
func (h *Pages) metricsOf(ctx context.Context, clock ui.Clock, query telemetry.MetricQuery, read seriesReader, q url.Values, path string, live bool) views.Metrics {
	o := metricOptionsOf(q, clock.Zone)
	m := views.Metrics{
		Smooth: o.smooth, Action: path, Explains: "Metrics that tasks report with client.metric(\"loss\", 0.2, step=1) are shown here.",
		Axes: []ui.Choice{
			{Name: "Step", URL: label.ListURL(path, q, "x", "") + "#metrics", Current: !o.time},
			{Name: "Time", URL: label.ListURL(path, q, "x", "time") + "#metrics", Current: o.time},
		},
		Scales: []ui.Choice{
			{Name: "Linear", URL: label.ListURL(path, q, "scale", "") + "#metrics", Current: !o.log},
			{Name: "Log", URL: label.ListURL(path, q, "scale", "log") + "#metrics", Current: o.log},
		},
		Hidden: hiddenFields(q, "node", "view", "x", "scale"),
	}
	if query.Node != "" {
		m.Note = query.Node
	}
	m.Live = live
	series, err := read(ctx, query)
	if ctx.Err() != nil { // the reader has gone
		return m
	}
	if err != nil {
		h.Log.Warn("metrics cannot be read", "execution", query.ExecutionID, "error", err)
		m.Problem = "The metric store is not responding. No data is lost: values are kept on disk and appear when it is back."
		return m
	}
	byName := map[string][]telemetry.Series{}
	var names []string
	for _, s := range series {
		if _, ok := byName[s.Name]; !ok {
			names = append(names, s.Name)
		}
		byName[s.Name] = append(byName[s.Name], s)
	}
	slices.Sort(names)
	items := h.itemLabels(ctx, query.ExecutionID, series)
	for _, name := range names[:min(len(names), maxCharts)] {
		c := metricChart(name, byName[name], items, o)
		c.ExportURL = views.MetricCSVURL(query.ExecutionID.String(), query.Node, name)
		m.Charts = append(m.Charts, c)
	}
	if len(names) > maxCharts {
		m.Note = label.JoinNote(m.Note, fmt.Sprintf("%d of %d metrics", maxCharts, len(names)))
	}
	return m
}

// hiddenFields keeps parameters of the URL across a GET form.
func hiddenFields(q url.Values, keys ...string) [][2]string {
	var fields [][2]string
	for _, k := range keys {
		if v := q.Get(k); v != "" {
			fields = append(fields, [2]string{k, v})
		}
	}
	return fields
}

func metricChart(name string, series []telemetry.Series, items map[string]string, o metricOptions) views.MetricChart {
	c := views.MetricChart{Name: name, Single: true}
	names := curveNames(series, items)
	var curves []chart.Series
	for i, s := range series {
		points := curvePoints(s, o.time)
		if len(points) == 0 {
			continue
		}
		curves = append(curves, chart.Series{Name: names[i], Points: points})
		c.Single = c.Single && len(points) == 1
		last, low, high := points[len(points)-1].Y, points[0].Y, points[0].Y
		for _, p := range points {
			low, high = min(low, p.Y), max(high, p.Y)
		}
		key := views.ChartKey{Index: len(curves), Name: names[i], Last: ui.Float(last), Best: ui.Float(low) + " to " + ui.Float(high), Count: units.Number(int64(len(points)))}
		c.Table = append(c.Table, key)
		c.Last = key.Last
	}
	c.Keys = c.Table
	if more := series[0].Of - len(series); more > 0 {
		c.Name = fmt.Sprintf("%s (best %d of %s)", name, len(series), units.Number(int64(series[0].Of)))
	}
	unit := "step"
	c.Lines = chart.NewLines(curves, chart.LineOptions{Log: o.log, Time: o.time, Zero: o.zero, Zone: o.zone, XUnit: unit, Smooth: float64(o.smooth) / 100, Format: ui.Float})
	c.Label = fmt.Sprintf("%s: %s, last %s", name, units.Plural(len(curves), "curve", "curves"), c.Last)
	c.Data = chartData(curves, o)
	return c
}

// curveNames names curves by the parts in which they differ: node, attempt, tags. The name of
// a fan-out item is its value.
func curveNames(series []telemetry.Series, items map[string]string) []string {
	names := make([]string, len(series))
	nodes, attempts := map[string]bool{}, map[int]bool{}
	for _, s := range series {
		nodes[s.Node], attempts[s.Attempt] = true, true
	}
	for i, s := range series {
		var tags []string
		for k, v := range s.Tags {
			if k == "GPU" || k == "rank" {
				tags = append(tags, k+" "+v)
				continue
			}
			tags = append(tags, k+"="+v)
		}
		slices.Sort(tags)
		name := ""
		if len(nodes) > 1 || (len(tags) == 0 && len(attempts) == 1) {
			name = cmp.Or(items[s.Node], s.Node)
		}
		for _, t := range tags {
			name = label.JoinNote(name, t)
		}
		if len(attempts) > 1 {
			name = label.JoinNote(name, fmt.Sprintf("attempt %d", s.Attempt))
		}
		names[i] = name
	}
	return names
}

// curvePoints are the finite points by step, or by time in seconds. Points without a step are
// numbered.
func curvePoints(s telemetry.Series, byTime bool) []chart.Point {
	points := make([]chart.Point, 0, len(s.Points))
	for i, p := range s.Points {
		v := float64(p.Value)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		x := float64(i)
		switch {
		case byTime:
			x = float64(p.Time.UnixMilli()) / 1000
		case p.Step != nil:
			x = float64(*p.Step)
		}
		points = append(points, chart.Point{X: x, Y: v})
	}
	slices.SortStableFunc(points, func(a, b chart.Point) int {
		switch {
		case a.X < b.X:
			return -1
		case a.X > b.X:
			return 1
		}
		return 0
	})
	return points
}

// chartData is the input of the script: one x axis for all curves, with gaps.
func chartData(curves []chart.Series, o metricOptions) string {
	data := struct {
		Names []string     `json:"names"`
		X     []float64    `json:"x"`
		Ys    [][]*float64 `json:"ys"`
		Time  bool         `json:"time"`
		Log   bool         `json:"log"`
		Zero  bool         `json:"zero"`
		Zone  string       `json:"zone,omitempty"`
	}{Time: o.time, Log: o.log, Zero: o.zero, X: []float64{}}
	if o.zone != nil && o.zone != time.Local {
		data.Zone = o.zone.String()
	}
	for _, c := range curves {
		for _, p := range c.Points {
			data.X = append(data.X, p.X)
		}
	}
	slices.Sort(data.X)
	data.X = slices.Compact(data.X)
	for _, c := range curves {
		ys := make([]*float64, len(data.X))
		for _, p := range c.Points {
			i, _ := slices.BinarySearch(data.X, p.X)
			if !o.log || p.Y > 0 {
				ys[i] = &p.Y
			}
		}
		data.Names, data.Ys = append(data.Names, c.Name), append(data.Ys, ys)
	}
	b, err := json.Marshal(data)
	if err != nil {
		return "{}"
	}
	return string(b)
}
