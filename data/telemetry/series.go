package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/data/telemetry/spool"
)

// MetricQuery selects metrics of one execution. Empty fields select everything.
type MetricQuery struct {
	ExecutionID uuid.UUID
	Node        string
	Attempt     *int
	Names       []string
	Source      Source
	MaxPoints   int // of one series; 0 is 500
	MaxSeries   int // of one name: the first ones by node, attempt and tags; 0 is all
}

// Source selects metrics by their reporter.
type Source string

// The sources of metrics: the runner reports the resource usage of an attempt under
// names that begin with "system."; the task reports all others.
const (
	FromAll     Source = ""
	FromTask    Source = "task"
	FromMachine Source = "machine"
)

const machinePrefix = "system."

func (s Source) includes(name string) bool {
	return s == FromAll || strings.HasPrefix(name, machinePrefix) == (s == FromMachine)
}

// Series is one curve: a metric of one attempt with one set of tags.
type Series struct {
	Name      string            `json:"name"`
	Node      string            `json:"node"`
	NodeIndex int               `json:"node_index"`
	Attempt   int               `json:"attempt"`
	Kind      string            `json:"type"`
	Tags      map[string]string `json:"tags,omitempty"`
	BySteps   bool              `json:"by_steps"` // every point has a step, and points are ordered by step; otherwise by time
	Points    []SeriesPoint     `json:"points"`
	Summary   Summary           `json:"summary"` // of all points, including those removed by downsampling
	Of        int               `json:"-"`       // how many series with this name match, at least
}

// SeriesPoint is one point of a curve.
type SeriesPoint struct {
	Step  *int64    `json:"step,omitempty"`
	Time  time.Time `json:"timestamp"`
	Value Number    `json:"value"`
}

// Summary describes all finite values of a series.
type Summary struct {
	Count int    `json:"count"`
	Min   Number `json:"min"`
	Max   Number `json:"max"`
	Mean  Number `json:"mean"`
	Last  Number `json:"last"`
}

const (
	defaultPoints = 500
	// rawFactor: a series of at most this many times the wanted points is read whole; a
	// longer one is first downsampled in ClickHouse, to the extremes of twice as many
	// buckets as requested points.
	rawFactor = 8
)

// seriesID identifies a series of one execution.
type seriesID struct {
	node    int
	attempt int
	name    string
	tags    string
}

// Series returns the curves that match, by name, node, attempt and tags. Long ones are
// downsampled to MaxPoints by MinMaxLTTB (see downsample), which keeps peaks. While
// ClickHouse is down, only spooled points are returned.
func (s *Service) Series(ctx context.Context, q MetricQuery) ([]Series, error) {
	project, err := scope(ctx)
	if err != nil {
		return nil, err
	}
	if q.MaxPoints <= 0 {
		q.MaxPoints = defaultPoints
	}
	r := seriesReader{s: s, q: q, project: project, committed: s.spool.Committed(), curves: map[seriesID]*curve{}, stored: map[string]int{}}
	if err := r.readSpool(); err != nil {
		return nil, fmt.Errorf("metrics of %s: %w", q.ExecutionID, err)
	}
	if s.store != nil && s.store.migrated.Load() {
		if err := r.readStore(ctx); err != nil {
			if err := s.unlessUnavailable(ctx, err); err != nil {
				return nil, err
			}
		}
	}
	return r.series(), nil
}

// curve is a series under construction.
type curve struct {
	series Series
	sum    float64
	last   float64
	lastAt int64 // Unix microseconds
}

// seriesReader reads the points up to the last commit from ClickHouse and the
// later ones from the spool.
type seriesReader struct {
	s         *Service
	q         MetricQuery
	project   *uuid.UUID
	committed uint64
	curves    map[seriesID]*curve
	stored    map[string]int // how many series of a name are in ClickHouse
}

func (r *seriesReader) curve(id seriesID, node, kind string) *curve {
	c := r.curves[id]
	if c == nil {
		c = &curve{series: Series{Name: id.name, Node: node, NodeIndex: id.node, Attempt: id.attempt, Kind: kind,
			Tags: decodeTags(id.tags), BySteps: true}}
		r.curves[id] = c
	}
	return c
}

// add counts and keeps one point.
func (c *curve) add(p SeriesPoint) {
	c.series.BySteps = c.series.BySteps && p.Step != nil
	c.series.Points = append(c.series.Points, p)
	c.count(p.Time.UnixMicro(), float64(p.Value))
}

func (c *curve) count(at int64, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	m := &c.series.Summary
	if m.Count == 0 {
		m.Min, m.Max = Number(v), Number(v)
	}
	m.Count++
	m.Min, m.Max = min(m.Min, Number(v)), max(m.Max, Number(v))
	c.sum += v
	if m.Count == 1 || at >= c.lastAt {
		c.last, c.lastAt = v, at
	}
}

func (r *seriesReader) readSpool() error {
	refs := r.s.spool.Since(r.q.ExecutionID, r.committed)
	return r.s.spool.Read(refs, func(frame spool.Frame) error {
		if frame.Kind != kindMetrics {
			return nil
		}
		points, err := decodePoints(frame)
		for i := range points {
			if p := &points[i]; r.includes(p) {
				id := seriesID{p.NodeIndex, p.Attempt, p.Name, p.tags}
				r.curve(id, p.Node, p.Kind).add(SeriesPoint{Step: p.Step, Time: p.Time, Value: Number(p.Value)})
			}
		}
		return err
	})
}

func (r *seriesReader) includes(p *point) bool {
	return (r.project == nil || p.ProjectID == *r.project) && (r.q.Node == "" || p.Node == r.q.Node) &&
		(r.q.Attempt == nil || p.Attempt == *r.q.Attempt) && (len(r.q.Names) == 0 || slices.Contains(r.q.Names, p.Name)) &&
		r.q.Source.includes(p.Name)
}

// series returns the finished curves.
func (r *seriesReader) series() []Series {
	ids := slices.SortedFunc(maps.Keys(r.curves), func(a, b seriesID) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.node, b.node), cmp.Compare(a.attempt, b.attempt), cmp.Compare(a.tags, b.tags))
	})
	found := map[string]int{}
	for _, id := range ids {
		found[id.name]++
	}
	out, taken := make([]Series, 0, len(ids)), map[string]int{}
	for _, id := range ids {
		if taken[id.name]++; r.q.MaxSeries > 0 && taken[id.name] > r.q.MaxSeries {
			continue
		}
		c := r.curves[id]
		if n := c.series.Summary.Count; n > 0 {
			c.series.Summary.Mean, c.series.Summary.Last = Number(c.sum/float64(n)), Number(c.last)
		}
		c.series.Points = downsample(c.series.Points, c.series.BySteps, r.q.MaxPoints)
		c.series.Of = max(r.stored[id.name], found[id.name])
		out = append(out, c.series)
	}
	return out
}

// downsample sorts points along their axis and reduces them to at most n.
func downsample(points []SeriesPoint, bySteps bool, n int) []SeriesPoint {
	x := func(p *SeriesPoint) int64 {
		if bySteps {
			return *p.Step
		}
		return p.Time.UnixMicro()
	}
	slices.SortStableFunc(points, func(a, b SeriesPoint) int {
		return cmp.Or(cmp.Compare(x(&a), x(&b)), a.Time.Compare(b.Time))
	})
	if len(points) <= n {
		return points
	}
	finite := points[:0]
	for _, p := range points {
		if v := float64(p.Value); !math.IsNaN(v) && !math.IsInf(v, 0) {
			finite = append(finite, p)
		}
	}
	return lttb(finite, func(p *SeriesPoint) (float64, float64) { return float64(x(p)), float64(p.Value) }, n)
}
