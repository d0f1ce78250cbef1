package observability

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Series is one series of a metric that a workflow defines.
type Series struct {
	Tenant, Project string // they become labels
	Name            string
	Labels          map[string]string
	Kind            string // counter, gauge or histogram
	Help            string
	Value           float64 // of a histogram the sum
	Bounds          []float64
	Counts          []int64    // of a histogram: the count of each bucket, and of values above all of them
	LiveSince       *time.Time // the value is the time since then
}

// workflowSeries exports series, the oldest first. Definitions of workflows cannot make
// a scrape fail: a name has the type and the help text of its oldest series, and
// conflicting or duplicate series are reported as an error of the scrape.
func workflowSeries(series []Series, now time.Time, out chan<- prometheus.Metric) error {
	families := map[string]Series{}
	exported := map[string]struct{}{}
	var problems []error
	for _, s := range series {
		first, known := families[s.Name]
		switch {
		case !known && suffixTaken(s, families):
			problems = append(problems, fmt.Errorf("%s of %s/%s: the name conflicts with a part of a histogram (_bucket, _count or _sum)", s.Name, s.Tenant, s.Project))
			continue
		case !known:
			first, families[s.Name] = s, s
		case first.Kind != s.Kind:
			problems = append(problems, fmt.Errorf("%s of %s/%s is a %s, that of %s/%s a %s", s.Name, s.Tenant, s.Project, s.Kind, first.Tenant, first.Project, first.Kind))
			continue
		}
		m, key, err := constant(s, first.Help, now)
		if err == nil {
			if _, twice := exported[key]; twice {
				err = fmt.Errorf("%s of %s/%s exists twice", s.Name, s.Tenant, s.Project)
			}
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		exported[key] = struct{}{}
		out <- m
	}
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("%d series of workflows cannot be exported; the first: %w", len(problems), problems[0])
}

// suffixTaken reports whether a histogram uses the name of s for one of its parts, or s is a
// histogram whose parts have names of other series.
func suffixTaken(s Series, families map[string]Series) bool {
	for _, suffix := range []string{"_bucket", "_count", "_sum"} {
		if whole, ok := strings.CutSuffix(s.Name, suffix); ok && families[whole].Kind == "histogram" {
			return true
		}
		if _, taken := families[s.Name+suffix]; taken && s.Kind == "histogram" {
			return true
		}
	}
	return false
}

// constant returns the metric of a series, and its unique key.
func constant(s Series, help string, now time.Time) (prometheus.Metric, string, error) {
	labels := maps.Clone(s.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels["tenant"], labels["project"] = s.Tenant, s.Project
	parts := []string{s.Name}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, name, labels[name])
	}
	key := strings.Join(parts, "\x00")
	desc := prometheus.NewDesc(s.Name, help, nil, labels)
	if s.Kind == "histogram" {
		buckets := map[float64]uint64{}
		var count uint64
		for i, n := range s.Counts {
			count += uint64(max(n, 0))
			if i < len(s.Bounds) {
				buckets[s.Bounds[i]] = count
			}
		}
		m, err := prometheus.NewConstHistogram(desc, count, s.Value, buckets)
		return m, key, err //nolint:wrapcheck // it names the metric
	}
	kind, value := prometheus.GaugeValue, s.Value
	if s.Kind == "counter" {
		kind = prometheus.CounterValue
	}
	if s.LiveSince != nil {
		value = max(now.Sub(*s.LiveSince).Seconds(), 0)
	}
	m, err := prometheus.NewConstMetric(desc, kind, value)
	return m, key, err //nolint:wrapcheck // it names the metric
}
