package telemetry

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// stored reads the extremes of the series in ClickHouse. The rollup names the series, so that the two
// queries of their points read only the columns that the curves need: those queries take nearly all of
// the time.
func (r *curveReader) stored(ctx context.Context, late []latePoint) error {
	series, err := r.storedSeries(ctx)
	if err != nil || len(series.ids) == 0 {
		return err
	}
	low, high, err := r.storedRange(ctx, series)
	if err != nil || low > high {
		return err
	}
	for _, p := range late {
		low, high = min(low, p.x), max(high, p.x)
	}
	r.grid(low, high)
	return r.storedExtremes(ctx, series)
}

// byExecution is the key of a series if no execution has several series of the metric.
const byExecution = "cityHash64(execution_id)"

// storedSeries are the selected series in ClickHouse.
type storedSeries struct {
	ids    []acrossID
	key    string   // an expression over points that tells the series of an execution apart
	hashes []uint64 // of the keys of ids
}

// storedSeries reads the series from the rollup, in which a series has few rows. A series that begins in
// the meantime appears in the next answer.
func (r *curveReader) storedSeries(ctx context.Context) (storedSeries, error) {
	keys := []string{byExecution, "cityHash64(execution_id, node_index, attempt)", "cityHash64(execution_id, node_index, attempt, tags)"}
	var c conditions
	c.add("execution_id IN (?)", r.executions)
	c.add("project_id IN (?)", r.projects)
	c.add("name = ?", r.q.Name)
	rows, err := r.s.store.conn.Query(ctx, "SELECT execution_id, node_index, attempt, tags, ["+strings.Join(keys, ", ")+"] FROM metrics_1m WHERE "+c.String()+
		" GROUP BY execution_id, node_index, attempt, tags", c.args...)
	if err != nil {
		return storedSeries{}, err //nolint:wrapcheck // the caller decides whether it is a failure
	}
	defer func() { _ = rows.Close() }() // Err returns the error
	var (
		out      storedSeries
		all      [][]uint64
		distinct = make([]map[uint64]int, len(keys))
	)
	for i := range distinct {
		distinct[i] = map[uint64]int{}
	}
	for rows.Next() {
		var (
			id      = acrossID{seriesID: seriesID{name: r.q.Name}}
			node    uint32
			attempt uint16
			hashes  []uint64
		)
		if err := rows.Scan(&id.execution, &node, &attempt, &id.tags, &hashes); err != nil {
			return storedSeries{}, err //nolint:wrapcheck // as above
		}
		for i, h := range hashes {
			distinct[i][h]++
		}
		id.node, id.attempt = int(node), int(attempt)
		if r.chosen(id) {
			out.ids, all = append(out.ids, id), append(all, hashes)
		}
	}
	if err := rows.Err(); err != nil {
		return storedSeries{}, err //nolint:wrapcheck // as above
	}
	// The shortest key that tells all series apart, also those that are not selected.
	total := len(distinct[len(keys)-1])
	at := slices.IndexFunc(distinct, func(d map[uint64]int) bool { return len(d) == total })
	out.key = keys[at]
	for _, hashes := range all {
		out.hashes = append(out.hashes, hashes[at])
	}
	return out, nil
}

// column is the position of a stored point before its origin is subtracted.
func (r *curveReader) column() string {
	if r.q.Axis == AxisTime || r.q.Axis == AxisRelative {
		return "toUnixTimestamp64Micro(timestamp)"
	}
	return "ifNull(step, 0)"
}

// base is what is subtracted from the column of an execution.
func (r *curveReader) base(execution uuid.UUID) int64 {
	if r.q.Axis == AxisRelative {
		return r.origin(execution)
	}
	return 0
}

// points are the conditions of the points of series.
func (r *curveReader) points(series storedSeries) *conditions {
	executions := make([]uuid.UUID, len(series.ids))
	for i, id := range series.ids {
		executions[i] = id.execution
	}
	slices.SortFunc(executions, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	var c conditions
	c.add("execution_id IN (?)", slices.Compact(executions))
	c.add("name = ?", r.q.Name)
	return &c
}

// storedRange returns the range of series on the axis; low is greater than high if they have no points.
// It includes points that are not finite, because reading the values would take longer than all else.
func (r *curveReader) storedRange(ctx context.Context, series storedSeries) (low, high float64, err error) {
	var group []string
	if r.q.Axis == AxisRelative || series.key != byExecution {
		group = append(group, "execution_id")
	}
	if series.key != byExecution {
		group = append(group, "node_index", "attempt")
	}
	selected := []string{"ifNull(min(step), 0)", "ifNull(max(step), 0)", "toUInt8(count() > count(step))", "count()"}
	if r.q.Axis == AxisTime || r.q.Axis == AxisRelative {
		selected = []string{"toUnixTimestamp64Micro(min(timestamp))", "toUnixTimestamp64Micro(max(timestamp))", "toUInt8(0)", "count()"}
	}
	where := r.points(series)
	query := "SELECT " + strings.Join(append(selected, group...), ", ") + " FROM metrics WHERE " + where.String()
	if len(group) > 0 {
		query += " GROUP BY " + strings.Join(group, ", ")
	}
	rows, err := r.s.store.conn.Query(ctx, query, where.args...)
	if err != nil {
		return 0, 0, err //nolint:wrapcheck // the caller decides whether it is a failure
	}
	defer func() { _ = rows.Close() }() // Err returns the error
	low, high = math.Inf(1), math.Inf(-1)
	for rows.Next() {
		var (
			least, most int64
			stepless    uint8 // 1 if some points have no step, which is 0 on the axis
			count       uint64
			execution   uuid.UUID
			node        uint32
			attempt     uint16
		)
		into := []any{&least, &most, &stepless, &count, &execution, &node, &attempt}
		if err := rows.Scan(into[:len(selected)+len(group)]...); err != nil {
			return 0, 0, err //nolint:wrapcheck // as above
		}
		if _, ok := r.series[SeriesRef{execution, int(node), int(attempt)}]; count == 0 || series.key != byExecution && !ok {
			continue
		}
		if stepless == 1 {
			least, most = min(least, 0), max(most, 0)
		}
		base := r.base(execution)
		low, high = min(low, float64(least-base)), max(high, float64(most-base))
	}
	return low, high, rows.Err() //nolint:wrapcheck // as above
}

// storedExtremes reads the lowest and the highest point of each bucket of each series. It needs
// no FINAL, because a repeated point does not change an extreme. The place of a series and of a bucket is
// one number: grouping by several columns takes nearly twice as long.
func (r *curveReader) storedExtremes(ctx context.Context, series storedSeries) error {
	places, bases := make([]int64, len(series.ids)), make([]int64, len(series.ids))
	for i, id := range series.ids {
		places[i], bases[i] = int64(i), r.base(id.execution)+int64(r.least)
	}
	where := r.points(series)
	where.add("isFinite(value)")
	base, args := "toInt64(?)", []any{int64(r.least)}
	if r.q.Axis == AxisRelative {
		base, args = "transform("+series.key+", CAST(? AS Array(UInt64)), CAST(? AS Array(Int64)), toInt64(0))", []any{series.hashes, bases}
	}
	n := int64(len(series.ids))
	args = slices.Concat([]any{series.hashes, places}, args, where.args, []any{int64(r.width), n})
	rows, err := r.s.store.conn.Query(ctx, `SELECT place, toFloat64(argMin(x, value)), min(value), toFloat64(argMax(x, value)), max(value)
		FROM (SELECT `+r.column()+` AS x, value, transform(`+series.key+`, CAST(? AS Array(UInt64)), CAST(? AS Array(Int64)), toInt64(-1)) AS series, `+base+` AS base
			FROM metrics WHERE `+where.String()+`)
		WHERE series >= 0 GROUP BY intDiv(x - base, ?) * ? + series AS place`, args...)
	if err != nil {
		return err //nolint:wrapcheck // the caller decides whether it is a failure
	}
	defer func() { _ = rows.Close() }() // Err returns the error
	for rows.Next() {
		var (
			place     int64
			low, high Extreme
		)
		if err := rows.Scan(&place, &low.X, &low.Y, &high.X, &high.Y); err != nil {
			return err //nolint:wrapcheck // as above
		}
		id := series.ids[((place%n)+n)%n]
		origin := float64(r.base(id.execution))
		low.X, high.X = low.X-origin, high.X-origin
		r.add(id, low, high)
	}
	return rows.Err() //nolint:wrapcheck // as above
}
