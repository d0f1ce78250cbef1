package handlers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/execution"
	"github.com/flowforge/flowforge/telemetry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// usage draws what the attempts of a node use of their machines: CPU, memory, and
// every GPU. They come by the clock, so time is their axis.
func (x *executionView) usage(ctx context.Context, d execution.NodeDetail) views.Usage {
	u := views.Usage{Explains: usageExplains(d)}
	series, err := x.h.Telemetry.Series(ctx, telemetry.MetricQuery{ExecutionID: x.ID, Node: d.Name, Source: telemetry.FromMachine, MaxPoints: chartPoints})
	if err != nil {
		x.h.Log.Warn("the use of machines cannot be read", "execution", x.ID, "error", err)
		u.Problem = "The metric store is not answering. Nothing is lost: values are kept on disk and show up when it is back."
		return u
	}
	o := metricOptions{time: true, zone: x.clock.Zone}
	for _, kind := range usageKinds() {
		if curves := kind.curves(series); len(curves) > 0 {
			c := metricChart(kind.title, curves, o)
			c.Name = kind.title
			if more := len(curves) - maxCurves; more > 0 {
				c.Name = fmt.Sprintf("%s (%d more)", kind.title, more)
			}
			u.Charts = append(u.Charts, c)
		}
	}
	return u
}

func usageExplains(d execution.NodeDetail) string {
	if d.State.Ended() {
		return "It ended before its use was measured, which happens every 10 s."
	}
	return "What it uses of its machine is measured every 10 s while it runs."
}

// usageKind is a chart of curves whose names belong together.
type usageKind struct {
	title          string
	prefix, suffix string // of the metric; between them stands the GPU
	scale          float64
}

func usageKinds() []usageKind {
	return []usageKind{
		{"CPU, cores", "system.cpu", "", 1},
		{"Memory, GiB", "system.memory_mib", "", 1. / 1024},
		{"GPU use, %", "system.gpu", "_utilisation", 1},
		{"GPU memory, GiB", "system.gpu", "_memory_mib", 1. / 1024},
	}
}

// curves are the series of the kind in its unit, each named by its GPU.
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
		scaled := s
		scaled.Points = slices.Clone(s.Points)
		for i := range scaled.Points {
			scaled.Points[i].Value *= telemetry.Number(k.scale)
		}
		if number != "" {
			scaled.Tags = map[string]string{"GPU": number}
			if rank, ok := s.Tags["rank"]; ok {
				scaled.Tags["rank"] = rank
			}
		}
		out = append(out, scaled)
	}
	// The latest attempt and the lowest rank first: those are drawn when there are many.
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

// gpuHours are hours of GPUs for people: "1.5 h", "3 min".
func gpuHours(hours float64) string {
	if hours <= 0 {
		return ""
	}
	if hours < 1 {
		return ui.Plural(max(int(hours*60+0.5), 1), "GPU-minute", "GPU-minutes")
	}
	return ui.Float(float64(int(hours*10+0.5))/10) + " GPU-hours"
}
