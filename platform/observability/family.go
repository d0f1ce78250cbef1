package observability

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// family is a metric that is computed at each scrape. Values with the same labels are
// summed, such as those of all tenants beyond the limit.
type family struct {
	desc   *prometheus.Desc
	kind   prometheus.ValueType
	values map[string]*sample
}

type sample struct {
	value  float64
	labels []string
}

func gauges(name, help string, labels ...string) family {
	return family{
		desc: prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil),
		kind: prometheus.GaugeValue, values: map[string]*sample{},
	}
}

func (f family) add(value float64, labels ...string) {
	key := strings.Join(labels, "\x00")
	s, ok := f.values[key]
	if !ok {
		s = &sample{labels: labels}
		f.values[key] = s
	}
	s.value += value
}

func (f family) emit(out chan<- prometheus.Metric) {
	for _, s := range f.values {
		out <- prometheus.MustNewConstMetric(f.desc, f.kind, s.value, s.labels...)
	}
}
