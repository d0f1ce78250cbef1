package executions

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// usage draws the resource usage of the attempts of a node: CPU, memory and each GPU. Samples
// are periodic, so the axis is time.
func (x *nodeView) usage(ctx context.Context) views.Usage {
	u := views.Usage{Explains: usageExplains(x.node)}
	series, err := x.h.Telemetry.Series(ctx, telemetry.MetricQuery{ExecutionID: x.ID, Node: x.node.Name, Source: telemetry.FromMachine, MaxPoints: chartPoints})
	if err != nil {
		x.h.Log.Warn("resource usage cannot be read", "execution", x.ID, "error", err)
		u.Problem = "The metric store is not responding. No data is lost: values are kept on disk and appear when it is back."
		return u
	}
	if x.node.State.Ended() && !slices.ContainsFunc(series, func(s telemetry.Series) bool { return len(s.Points) > 1 }) {
		return u // one sample can be the moment of the start
	}
	o := metricOptions{time: true, zero: true, zone: x.clock.Zone}
	for _, kind := range usageKinds() {
		if curves := kind.curves(series); len(curves) > 0 {
			u.Charts = append(u.Charts, metricChart(kind.fit(curves), curves, nil, o))
		}
	}
	return u
}

func usageExplains(d query.NodeDetail) string {
	if d.State.Ended() && d.Attempt == 0 {
		return "Did not run."
	}
	if d.State.Ended() {
		return "Too short to plot: usage is sampled every 10 s. The attempts show their CPU time and peak memory."
	}
	return "Resource usage is measured every 10 s while the node runs."
}

// usageKind is a chart of related curves.
type usageKind struct {
	title, unit    string
	prefix, suffix string // of the metric; the number of the GPU is between them
}

func usageKinds() []usageKind {
	return []usageKind{
		{"CPU", "cores", "system.cpu", ""},
		{"Memory", "MiB", "system.memory_mib", ""},
		{"GPU use", "%", "system.gpu", "_utilisation"},
		{"GPU memory", "MiB", "system.gpu", "_memory_mib"},
	}
}

// fit scales the values to a readable unit and returns the title with this unit.
func (k usageKind) fit(curves []telemetry.Series) string {
	unit := k.unit
	highest := 0.
	for _, s := range curves {
		for _, p := range s.Points {
			highest = max(highest, float64(p.Value))
		}
	}
	divisor := 1.
	if unit == "MiB" && highest >= 1024 {
		unit, divisor = "GiB", 1024
	}
	for _, s := range curves {
		for i := range s.Points {
			s.Points[i].Value = telemetry.Number(threeFigures(float64(s.Points[i].Value) / divisor))
		}
	}
	return k.title + ", " + unit
}

// threeFigures rounds a measurement to three significant digits.
func threeFigures(v float64) float64 {
	if v >= 100 {
		return math.Round(v)
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	if err != nil {
		return v
	}
	return math.Round(rounded*1000) / 1000
}

// curves are the series of the kind, each named by its GPU; their points are copies.
func (k usageKind) curves(series []telemetry.Series) []telemetry.Series {
	var out []telemetry.Series
	for _, s := range series {
		rest, ok := strings.CutPrefix(s.Name, k.prefix)
		if !ok {
			continue
		}
		number, ok := strings.CutSuffix(rest, k.suffix)
		if !ok || (k.suffix == "") != (number == "") {
			continue
		}
		own := s
		own.Points = slices.Clone(s.Points)
		if number != "" {
			own.Tags = map[string]string{"GPU": number}
			if rank, ok := s.Tags["rank"]; ok {
				own.Tags["rank"] = rank
			}
		}
		out = append(out, own)
	}
	// The latest attempt and the lowest rank come first and are drawn if there are many.
	slices.SortStableFunc(out, func(a, b telemetry.Series) int {
		return cmp.Or(b.Attempt-a.Attempt, rankNumber(a)-rankNumber(b), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func rankNumber(s telemetry.Series) int {
	n, err := strconv.Atoi(s.Tags["rank"])
	if err != nil {
		return 0
	}
	return n
}

// gpuHours formats GPU-hours: "1.5 GPU-hours", "3 GPU-minutes".
func gpuHours(hours float64) string {
	if hours <= 0 {
		return ""
	}
	if hours < 1 {
		return units.Plural(max(int(hours*60+0.5), 1), "GPU-minute", "GPU-minutes")
	}
	return ui.Float(float64(int(hours*10+0.5))/10) + " GPU-hours"
}
