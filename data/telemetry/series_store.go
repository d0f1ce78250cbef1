package telemetry

import (
	"context"
	"fmt"
	"time"
)

// group is the summary of one series in ClickHouse, read before its points.
type group struct {
	id          seriesID
	node, kind  string
	count       uint64
	withoutStep uint64
	minX, maxX  int64 // on the axis of the series
	min, max    float64
	sum         float64
	finite      uint64
	last        float64
	lastAt      time.Time
}

// where selects the stored points that match the query.
func (r *seriesReader) where() *conditions {
	var c conditions
	c.add("execution_id = ?", r.q.ExecutionID)
	if r.project != nil {
		c.add("project_id = ?", *r.project)
	}
	if r.q.Node != "" {
		c.add("node = ?", r.q.Node)
	}
	if r.q.Attempt != nil {
		c.add("attempt = ?", *r.q.Attempt)
	}
	c.in("name", r.q.Names)
	if r.q.Source != FromAll {
		c.add("startsWith(name, ?) = ?", machinePrefix, r.q.Source == FromMachine)
	}
	c.add("NOT (writer = ? AND position > ?)", r.s.spool.Writer(), r.committed)
	return &c
}

// readStore reads short series whole, in one query, and the extremes of each long
// one.
func (r *seriesReader) readStore(ctx context.Context) error {
	groups, err := r.groups(ctx)
	if err != nil {
		return err
	}
	limit := uint64(r.q.MaxPoints * rawFactor) //nolint:gosec // positive
	short := false
	for i := range groups {
		g := &groups[i]
		if g.count <= limit {
			short = true
			continue
		}
		if err := r.readExtremes(ctx, g); err != nil {
			return err
		}
	}
	if !short {
		return nil
	}
	return r.readWhole(ctx, limit)
}

// few limits a query of series, in the order of Series, to MaxSeries per name.
func (r *seriesReader) few() string {
	const order = " ORDER BY name, node_index, attempt, tags"
	if r.q.MaxSeries == 0 {
		return order
	}
	return fmt.Sprintf("%s LIMIT %d BY name", order, r.q.MaxSeries)
}

func (r *seriesReader) groups(ctx context.Context) ([]group, error) {
	where := r.where()
	rows, err := r.s.store.conn.Query(ctx, `SELECT node_index, attempt, name, tags, any(node), any(type), count() AS n, countIf(isNull(step)) AS unstepped,
		if(unstepped = 0, ifNull(min(step), 0), toUnixTimestamp64Micro(min(timestamp))),
		if(unstepped = 0, ifNull(max(step), 0), toUnixTimestamp64Micro(max(timestamp))),
		minIf(value, isFinite(value)), maxIf(value, isFinite(value)), sumIf(value, isFinite(value)), countIf(isFinite(value)),
		argMaxIf(value, (timestamp, sequence), isFinite(value)), maxIf(timestamp, isFinite(value)),
		count() OVER (PARTITION BY name)
		FROM metrics FINAL WHERE `+where.String()+" GROUP BY node_index, attempt, name, tags"+r.few(), where.args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // Err returns the error
	var out []group
	for rows.Next() {
		var (
			g       group
			node    uint32
			attempt uint16
			all     uint64
		)
		if err := rows.Scan(&node, &attempt, &g.id.name, &g.id.tags, &g.node, &g.kind, &g.count, &g.withoutStep,
			&g.minX, &g.maxX, &g.min, &g.max, &g.sum, &g.finite, &g.last, &g.lastAt, &all); err != nil {
			return nil, err
		}
		r.stored[g.id.name] = int(all)
		g.id.node, g.id.attempt = int(node), int(attempt)
		out = append(out, g)
	}
	return out, rows.Err()
}

// readWhole reads the points of the matching series of at most limit points.
func (r *seriesReader) readWhole(ctx context.Context, limit uint64) error {
	where := r.where()
	args := append(append([]any(nil), where.args...), where.args...)
	rows, err := r.s.store.conn.Query(ctx, "SELECT node_index, attempt, name, tags, node, type, step, timestamp, value FROM metrics FINAL WHERE "+where.String()+
		" AND (node_index, attempt, name, tags) IN (SELECT node_index, attempt, name, tags FROM (SELECT node_index, attempt, name, tags, count() AS n"+
		" FROM metrics FINAL WHERE "+where.String()+" GROUP BY node_index, attempt, name, tags"+r.few()+") WHERE n <= ?)", append(args, limit)...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // Err returns the error
	for rows.Next() {
		var (
			id         seriesID
			node       uint32
			attempt    uint16
			name, kind string
			step       *int64
			at         time.Time
			value      float64
		)
		if err := rows.Scan(&node, &attempt, &id.name, &id.tags, &name, &kind, &step, &at, &value); err != nil {
			return err
		}
		id.node, id.attempt = int(node), int(attempt)
		r.curve(id, name, kind).add(SeriesPoint{Step: step, Time: at.UTC(), Value: Number(value)})
	}
	return rows.Err()
}

// readExtremes reads the lowest and the highest point of each of many buckets of
// one series: the first half of MinMaxLTTB.
func (r *seriesReader) readExtremes(ctx context.Context, g *group) error {
	bySteps := g.withoutStep == 0
	x := "toUnixTimestamp64Micro(timestamp)"
	if bySteps {
		x = "assumeNotNull(step)"
	}
	c := r.curve(g.id, g.node, g.kind)
	c.series.BySteps = c.series.BySteps && bySteps
	c.merge(g)
	where := r.where()
	where.add("node_index = ?", g.id.node)
	where.add("attempt = ?", g.id.attempt)
	where.add("name = ?", g.id.name)
	where.add("tags = ?", g.id.tags)
	where.add("isFinite(value)")
	width := max(1, (g.maxX-g.minX)/int64(2*r.q.MaxPoints)+1)
	args := append(append([]any(nil), where.args...), g.minX, width)
	rows, err := r.s.store.conn.Query(ctx, "SELECT argMin((step, timestamp, value), value).1 AS s1, argMin(timestamp, value) AS t1, min(value) AS v1, "+
		"argMax((step, timestamp, value), value).1 AS s2, argMax(timestamp, value) AS t2, max(value) AS v2 FROM metrics FINAL WHERE "+
		where.String()+" GROUP BY intDiv("+x+" - ?, ?)", args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // Err returns the error
	for rows.Next() {
		var (
			s1, s2 *int64
			t1, t2 time.Time
			v1, v2 float64
		)
		if err := rows.Scan(&s1, &t1, &v1, &s2, &t2, &v2); err != nil {
			return err
		}
		c.series.Points = append(c.series.Points, SeriesPoint{Step: s1, Time: t1.UTC(), Value: Number(v1)})
		if !t1.Equal(t2) || v1 != v2 {
			c.series.Points = append(c.series.Points, SeriesPoint{Step: s2, Time: t2.UTC(), Value: Number(v2)})
		}
	}
	return rows.Err()
}

// merge adds the counts of ClickHouse to the summary.
func (c *curve) merge(g *group) {
	if g.finite == 0 {
		return
	}
	m := &c.series.Summary
	if m.Count == 0 {
		m.Min, m.Max = Number(g.min), Number(g.max)
	}
	if at := g.lastAt.UnixMicro(); m.Count == 0 || at > c.lastAt {
		c.last, c.lastAt = g.last, at
	}
	m.Count += int(g.finite) //nolint:gosec // a number of points
	m.Min, m.Max = min(m.Min, Number(g.min)), max(m.Max, Number(g.max))
	c.sum += g.sum
}
