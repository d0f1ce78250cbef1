package comparison

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/comparison/sheet"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/search"
)

// totals adds the last, the lowest and the highest value of each metric.
func (g *gatherer) totals(ctx context.Context) error {
	read, err := g.s.Telemetry.Totals(ctx, telemetry.TotalsQuery{Places: placesOf(g.list), Limit: maxMetrics})
	if err != nil {
		return err //nolint:wrapcheck // it names its context
	}
	totals := read.List
	if read.Partial {
		g.notes = append(g.notes, "The metric store is not responding. Only the latest values are compared; earlier values appear when it is back.")
	}
	for _, id := range read.Cut {
		g.notes = append(g.notes, fmt.Sprintf("#%s has more than %d series of metrics; the first ones are compared.", Short(id), maxMetrics))
	}
	paths, err := g.s.seriesPaths(ctx, totals)
	if err != nil {
		return err
	}
	g.metrics = map[string]bool{}
	for i, t := range joined(totals, paths) {
		g.metrics[t.Name] = true
		better := sheet.Higher
		if search.LowerIsBetter(t.Name) {
			better = sheet.Lower
		}
		for _, f := range []struct {
			statistic sheet.Statistic
			value     telemetry.Number
		}{{sheet.Last, t.Last}, {sheet.Min, t.Min}, {sheet.Max, t.Max}} {
			g.add(slices.Index(g.ids, t.ExecutionID), sheet.Fact{
				Section: sheet.Metrics, Path: paths[i], Statistic: f.statistic, Value: jsonNumber(f.value), Better: better,
			})
		}
	}
	return nil
}

// joined makes one total of the attempts of a series, by the index of the latest: the last value
// of the latest attempt, and the lowest and the highest of all, because a retry may continue from
// a checkpoint.
func joined(totals []telemetry.Total, paths []string) map[int]telemetry.Total {
	type series struct {
		execution uuid.UUID
		path      string
	}
	latest := map[series]int{}
	out := map[int]telemetry.Total{}
	for i, t := range slices.Backward(totals) {
		key := series{t.ExecutionID, paths[i]}
		at, known := latest[key]
		if !known {
			latest[key], out[i] = i, t
			continue
		}
		whole := out[at]
		whole.Join(t)
		out[at] = whole
	}
	return out
}

// jsonNumber is a value of a metric as JSON has it: NaN and the infinities are words.
func jsonNumber(v telemetry.Number) any {
	f := float64(v)
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "+Inf"
	case math.IsInf(f, -1):
		return "-Inf"
	}
	return f
}

func (g *gatherer) metricNames() []string { return slices.Sorted(maps.Keys(g.metrics)) }

// seriesPaths names series: the metric, after its node if several nodes of one execution report
// it, and before its tags.
func (s *Service) seriesPaths(ctx context.Context, totals []telemetry.Total) ([]string, error) {
	addresses := make([]query.NodeAddress, 0, len(totals))
	for _, t := range totals {
		addresses = append(addresses, query.NodeAddress{Execution: t.ExecutionID, Index: t.NodeIndex})
	}
	names, err := s.Executions.Nodes.Names(ctx, addresses)
	if err != nil {
		return nil, err
	}
	several := reportedBySeveral(totals, names)
	paths := make([]string, len(totals))
	for i, t := range totals {
		paths[i] = t.Name
		if several[t.Name] {
			paths[i] = names[addresses[i]] + "." + t.Name
		}
		if len(t.Tags) > 0 {
			paths[i] += " " + tagText(t.Tags)
		}
	}
	return paths, nil
}

// reportedBySeveral are the metrics that several nodes of one execution report. A node that has another
// name in another version of the workflow is no second one.
func reportedBySeveral(totals []telemetry.Total, names map[query.NodeAddress]string) map[string]bool {
	type metric struct {
		execution uuid.UUID
		name      string
	}
	first, several := map[metric]string{}, map[string]bool{}
	for _, t := range totals {
		key, node := metric{t.ExecutionID, t.Name}, names[query.NodeAddress{Execution: t.ExecutionID, Index: t.NodeIndex}]
		if known, ok := first[key]; !ok {
			first[key] = node
		} else if known != node {
			several[t.Name] = true
		}
	}
	return several
}

// tagText is the tags of a series: {fold=1, split=val}.
func tagText(tags map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		parts = append(parts, k+"="+tags[k])
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
