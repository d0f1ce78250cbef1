package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Axis is the horizontal axis of curves.
type Axis string

// The axes. Points without a step are at step 0.
const (
	AxisStep     Axis = "step"
	AxisTime     Axis = "time"     // microseconds since 1970
	AxisRelative Axis = "relative" // microseconds since the origin of the execution
)

// CurveQuery selects the curves of one metric of several executions. All curves share their
// buckets, so that the extremes of each are on one grid.
type CurveQuery struct {
	Places  []Place
	Origins []time.Time // of the executions, for AxisRelative
	Name    string
	Axis    Axis
	Buckets int // at most; each has its lowest and its highest point
	Series  []SeriesRef
	Tags    []map[string]string // of Series; nil selects the series of the attempts with any tags
}

// SeriesRef names the series of an attempt.
type SeriesRef struct {
	ExecutionID uuid.UUID
	NodeIndex   int
	Attempt     int
}

// Extreme is a point of a curve: the lowest or the highest of its bucket.
type Extreme struct{ X, Y float64 }

// Curve is the extremes of one series in the order of X.
type Curve struct {
	SeriesRef

	Tags   map[string]string
	Points []Extreme
}

// Curves returns the extremes of the selected series in three queries for any number of executions:
// for the series, for the range of the axis, and for the points. partial: ClickHouse did not
// answer, so that only the latest points are there.
func (s *Service) Curves(ctx context.Context, q CurveQuery) (curves []Curve, partial bool, err error) {
	executions, projects, err := authorizeAll(ctx, q.Places)
	if err != nil || len(q.Series) == 0 {
		return nil, false, err
	}
	r := curveReader{s: s, q: q, executions: executions, projects: projects, committed: s.spool.Committed(), series: map[SeriesRef]map[string]bool{}, found: map[acrossID]map[int64]*extremes{}}
	if err := r.choose(); err != nil {
		return nil, false, err
	}
	var late []latePoint
	err = s.spooledAcross(executions, projects, r.committed, func(id acrossID, p *point) {
		if p.Name == q.Name && !math.IsNaN(p.Value) && !math.IsInf(p.Value, 0) {
			late = append(late, latePoint{id, r.x(id.execution, p), p.Value})
		}
	})
	if err != nil {
		return nil, false, fmt.Errorf("curves of %s: %w", q.Name, err)
	}
	r.span(late) // unless ClickHouse has points
	partial, err = s.ifReachable(ctx, func() error { return r.stored(ctx, late) })
	if err != nil {
		return nil, false, err
	}
	for _, p := range late {
		if r.chosen(p.id) {
			r.add(p.id, Extreme{p.x, p.y}, Extreme{p.x, p.y})
		}
	}
	return r.curves(), partial, nil
}

// latePoint is a point that is only in the spool.
type latePoint struct {
	id   acrossID
	x, y float64
}

// extremes are the lowest and the highest point of a bucket.
type extremes struct{ low, high Extreme }

type curveReader struct {
	s                    *Service
	q                    CurveQuery
	executions, projects []uuid.UUID
	committed            uint64
	least, width         float64
	series               map[SeriesRef]map[string]bool // by the text of tags; nil is any
	found                map[acrossID]map[int64]*extremes
}

// choose fills the selection of series.
func (r *curveReader) choose() error {
	for i, ref := range r.q.Series {
		if r.q.Tags == nil {
			r.series[ref] = nil
			continue
		}
		if r.series[ref] == nil {
			r.series[ref] = map[string]bool{}
		}
		tags, err := encodeTags(r.q.Tags[i])
		if err != nil {
			return fmt.Errorf("tags of %s: %w", r.q.Name, err)
		}
		r.series[ref][tags] = true
	}
	return nil
}

// chosen is whether the query selects a series.
func (r *curveReader) chosen(id acrossID) bool {
	tags, ok := r.series[SeriesRef{id.execution, id.node, id.attempt}]
	return ok && (tags == nil || tags[id.tags])
}

// x is the position of a point of the spool on the axis.
func (r *curveReader) x(execution uuid.UUID, p *point) float64 {
	switch {
	case r.q.Axis == AxisTime:
		return float64(p.Time.UnixMicro())
	case r.q.Axis == AxisRelative:
		return float64(p.Time.UnixMicro() - r.origin(execution))
	case p.Step != nil:
		return float64(*p.Step)
	}
	return 0
}

func (r *curveReader) origin(execution uuid.UUID) int64 {
	if i := slices.Index(r.executions, execution); i >= 0 && i < len(r.q.Origins) {
		return r.q.Origins[i].UnixMicro()
	}
	return 0
}

// span sets the buckets to the range of the points of the spool.
func (r *curveReader) span(late []latePoint) {
	least, most := math.Inf(1), math.Inf(-1)
	for _, p := range late {
		least, most = min(least, p.x), max(most, p.x)
	}
	r.grid(least, most)
}

// grid sets the buckets for positions from least to most, which are whole numbers.
func (r *curveReader) grid(least, most float64) {
	r.least, r.width = least, max(1, math.Floor((most-least)/float64(r.q.Buckets))+1)
}

func (r *curveReader) add(id acrossID, low, high Extreme) {
	buckets := r.found[id]
	if buckets == nil {
		buckets = map[int64]*extremes{}
		r.found[id] = buckets
	}
	at := int64((low.X - r.least) / r.width)
	e := buckets[at]
	if e == nil {
		buckets[at] = &extremes{low, high}
		return
	}
	if low.Y < e.low.Y {
		e.low = low
	}
	if high.Y > e.high.Y {
		e.high = high
	}
}

func (r *curveReader) curves() []Curve {
	var out []Curve
	ids := slices.SortedFunc(maps.Keys(r.found), compareAcross)
	done := map[SeriesRef]bool{}
	for _, ref := range r.q.Series {
		if done[ref] {
			continue
		}
		done[ref] = true
		for _, id := range ids {
			buckets := r.found[id]
			if id.execution != ref.ExecutionID || id.node != ref.NodeIndex || id.attempt != ref.Attempt {
				continue
			}
			c := Curve{SeriesRef: ref, Tags: decodeTags(id.tags), Points: make([]Extreme, 0, 2*len(buckets))}
			for _, e := range buckets {
				c.Points = append(c.Points, e.low)
				if e.high != e.low {
					c.Points = append(c.Points, e.high)
				}
			}
			slices.SortFunc(c.Points, func(a, b Extreme) int { return cmp.Or(cmp.Compare(a.X, b.X), cmp.Compare(a.Y, b.Y)) })
			out = append(out, c)
		}
	}
	return out
}
