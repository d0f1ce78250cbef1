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

// Curves returns the extremes of the selected series in two queries for any number of
// executions: one for the range of the axis, one for the points. partial: ClickHouse did not
// answer, so that only the latest points are there.
func (s *Service) Curves(ctx context.Context, q CurveQuery) (curves []Curve, partial bool, err error) {
	executions, projects, err := authorizeAll(ctx, q.Places)
	if err != nil || len(q.Series) == 0 {
		return nil, false, err
	}
	r := curveReader{s: s, q: q, executions: executions, projects: projects, committed: s.spool.Committed(), series: map[SeriesRef]bool{}, found: map[acrossID]map[int64]*extremes{}}
	for _, ref := range q.Series {
		r.series[ref] = true
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
		if r.series[SeriesRef{p.id.execution, p.id.node, p.id.attempt}] {
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
	series               map[SeriesRef]bool
	found                map[acrossID]map[int64]*extremes
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

// axis is the position of a stored point in SQL.
func (r *curveReader) axis() (string, []any) {
	switch r.q.Axis {
	case AxisTime:
		return "toUnixTimestamp64Micro(timestamp)", nil
	case AxisRelative:
		ids, origins := make([]string, len(r.executions)), make([]int64, len(r.executions))
		for i, id := range r.executions {
			ids[i], origins[i] = id.String(), r.origin(id)
		}
		return "(toUnixTimestamp64Micro(timestamp) - transform(execution_id, CAST(? AS Array(UUID)), CAST(? AS Array(Int64)), toInt64(0)))", []any{ids, origins}
	}
	return "ifNull(step, 0)", nil
}

func (r *curveReader) where() *conditions {
	var c conditions
	c.add("execution_id IN (?)", r.executions)
	c.add("project_id IN (?)", r.projects)
	c.add("name = ?", r.q.Name)
	var nodes []int
	var attempts []int
	for _, ref := range r.q.Series {
		nodes, attempts = append(nodes, ref.NodeIndex), append(attempts, ref.Attempt)
	}
	slices.Sort(nodes)
	slices.Sort(attempts)
	c.add("node_index IN (?)", slices.Compact(nodes))
	c.add("attempt IN (?)", slices.Compact(attempts))
	c.add("isFinite(value)")
	return &c
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

func (r *curveReader) stored(ctx context.Context, late []latePoint) error {
	x, xargs := r.axis()
	where := r.where()
	least, most, n := int64(0), int64(0), uint64(0)
	var tags []string
	row := r.s.store.conn.QueryRow(ctx, "SELECT toInt64(min("+x+")), toInt64(max("+x+")), count(), groupUniqArray(2)(tags) FROM metrics WHERE "+where.String(),
		slices.Concat(xargs, xargs, where.args)...)
	if err := row.Scan(&least, &most, &n, &tags); err != nil {
		return err //nolint:wrapcheck // the caller decides whether it is a failure
	}
	if n == 0 {
		return nil
	}
	low, high := float64(least), float64(most)
	for _, p := range late {
		low, high = min(low, p.x), max(high, p.x)
	}
	r.grid(low, high)
	return r.storedExtremes(ctx, x, xargs, where, tags)
}

// storedExtremes reads the lowest and the highest point of each bucket of each series. It needs
// no FINAL, because a repeated point does not change an extreme. Grouping by a text costs a third of
// the query, so it groups by tags only if there are several.
func (r *curveReader) storedExtremes(ctx context.Context, x string, xargs []any, where *conditions, tags []string) error {
	text, key, selected := "tags", ", tags", []any{}
	if len(tags) == 1 {
		where.add("tags = ?", tags[0]) // a series that begins in the meantime appears in the next answer
		text, key, selected = "?", "", []any{tags[0]}
	}
	args := slices.Concat(selected, xargs, where.args, []any{int64(r.least), int64(r.width)})
	rows, err := r.s.store.conn.Query(ctx, `SELECT execution_id, node_index, attempt, `+text+`, toFloat64(argMin(x, value)), min(value), toFloat64(argMax(x, value)), max(value)
		FROM (SELECT execution_id, node_index, attempt, tags, value, `+x+` AS x FROM metrics WHERE `+where.String()+`)
		GROUP BY execution_id, node_index, attempt`+key+`, intDiv(x - ?, ?)`, args...)
	if err != nil {
		return err //nolint:wrapcheck // the caller decides whether it is a failure
	}
	defer func() { _ = rows.Close() }() // Err returns the error
	for rows.Next() {
		var (
			id        acrossID
			node      uint32
			attempt   uint16
			low, high Extreme
		)
		if err := rows.Scan(&id.execution, &node, &attempt, &id.tags, &low.X, &low.Y, &high.X, &high.Y); err != nil {
			return err //nolint:wrapcheck // as above
		}
		id.node, id.attempt, id.name = int(node), int(attempt), r.q.Name
		if r.series[SeriesRef{id.execution, id.node, id.attempt}] {
			r.add(id, low, high)
		}
	}
	return rows.Err() //nolint:wrapcheck // as above
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
	for _, ref := range r.q.Series {
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
