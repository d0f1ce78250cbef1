package comparison

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/comparison/curve"
	"github.com/flowforge/flowforge/engine/comparison/sheet"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/platform/units"
)

// maxCurves limits the curves of one metric.
const maxCurves = 200

// CurvesRequest selects the curves of one metric.
type CurvesRequest struct {
	Executions []string
	Metric     string
	Axis       telemetry.Axis // "" is the step
	Points     int            // of one curve, at most
}

// Curve is a metric of one attempt of one execution.
type Curve struct {
	Execution uuid.UUID
	Index     int // of the execution in the request
	Node      string
	Attempt   int
	Tags      map[string]string
	Points    []telemetry.Extreme // time is in seconds
	Last      float64             // the last of all values, which Points can lack
}

// Curves are the curves of a metric of several executions.
type Curves struct {
	Executions []query.Execution
	Curves     []Curve
	Together   []uuid.UUID // the executions whose styles differ; nil: Executions
	Of         int         // how many curves there are
	Live       bool        // an execution has not ended
	Partial    bool        // ClickHouse did not respond, so that earlier points are missing
}

// Curves reads the curves of a metric. The attempts of a node are one curve: a retry that continues
// from a checkpoint continues it, and one that begins again replaces what it repeats.
func (s *Service) Curves(ctx context.Context, r CurvesRequest) (Curves, error) {
	ids, err := s.Resolve(ctx, r.Executions)
	if err != nil {
		return Curves{}, err
	}
	if len(ids) == 0 {
		return Curves{}, invalid("executions", "Name at least one execution.")
	}
	list, err := s.Executions.Several(ctx, ids)
	if err != nil {
		return Curves{}, err
	}
	totals, err := s.Telemetry.Totals(ctx, telemetry.TotalsQuery{Places: placesOf(list), Name: r.Metric, Limit: maxSeries})
	if err != nil {
		return Curves{}, err //nolint:wrapcheck // it names its context
	}
	drawn, of := drawnOf(totals.List)
	out := Curves{Executions: list, Of: of}
	out.Live = slices.ContainsFunc(list, func(e query.Execution) bool { return !e.Status.Ended() })
	q := telemetry.CurveQuery{Places: placesOf(list), Origins: origins(list), Name: r.Metric, Axis: r.Axis, Buckets: max(r.Points/2, 1)}
	for _, t := range drawn {
		q.Series, q.Tags = append(q.Series, telemetry.SeriesRef{ExecutionID: t.ExecutionID, NodeIndex: t.NodeIndex, Attempt: t.Attempt}), append(q.Tags, t.Tags)
	}
	read, partial, err := s.Telemetry.Curves(ctx, q)
	if err != nil {
		return Curves{}, err //nolint:wrapcheck // as above
	}
	out.Partial = partial || totals.Partial
	out.Curves, err = s.named(ctx, ids, read, drawn, r.Axis)
	return out, err
}

// maxSeries limits the series of an execution that report one metric.
const maxSeries = 10_000

// drawnOf are the series of the first curves of a metric. of is the number of all its curves: those of
// the attempts of a node are one.
func drawnOf(totals []telemetry.Total) (drawn []telemetry.Total, of int) {
	type line struct {
		execution uuid.UUID
		node      int
		tags      string
	}
	known := make(map[line]bool, len(totals))
	for _, t := range totals {
		one := line{t.ExecutionID, t.NodeIndex, fmt.Sprintf("%q", t.Tags)}
		if _, ok := known[one]; !ok {
			known[one] = of < maxCurves
			of++
		}
		if known[one] {
			drawn = append(drawn, t)
		}
	}
	return drawn, of
}

// origins are when executions began, for the axis of relative time.
func origins(list []query.Execution) []time.Time {
	begins := make([]time.Time, len(list))
	for i, e := range list {
		begins[i] = e.CreatedAt
		if e.StartedAt != nil {
			begins[i] = *e.StartedAt
		}
	}
	return begins
}

// named adds the names of nodes and the last values to curves, and converts times to seconds.
func (s *Service) named(ctx context.Context, ids []uuid.UUID, read []telemetry.Curve, drawn []telemetry.Total, axis telemetry.Axis) ([]Curve, error) {
	addresses := make([]query.NodeAddress, len(read))
	for i, c := range read {
		addresses[i] = query.NodeAddress{Execution: c.ExecutionID, Index: c.NodeIndex}
	}
	names, err := s.Executions.Nodes.Names(ctx, addresses)
	if err != nil {
		return nil, err
	}
	var out []Curve
	for i, c := range read {
		if axis == telemetry.AxisTime || axis == telemetry.AxisRelative {
			for p := range c.Points {
				c.Points[p].X /= 1e6
			}
		}
		next := Curve{Execution: c.ExecutionID, Index: slices.Index(ids, c.ExecutionID), Node: names[addresses[i]], Attempt: c.Attempt, Tags: c.Tags, Points: c.Points, Last: lastOf(drawn, c)}
		same := func(o Curve) bool {
			return o.Execution == next.Execution && o.Node == next.Node && maps.Equal(o.Tags, next.Tags)
		}
		if at := slices.IndexFunc(out, same); at >= 0 {
			out[at] = out[at].continued(next)
			continue
		}
		out = append(out, next)
	}
	return out, nil
}

func lastOf(totals []telemetry.Total, c telemetry.Curve) float64 {
	for _, t := range totals {
		if t.ExecutionID == c.ExecutionID && t.NodeIndex == c.NodeIndex && t.Attempt == c.Attempt && maps.Equal(t.Tags, c.Tags) {
			return float64(t.Last)
		}
	}
	return math.NaN()
}

// continued joins a curve with that of another attempt: the points of the earlier attempt count
// before the first one of the later.
func (c Curve) continued(other Curve) Curve {
	if other.Attempt < c.Attempt {
		c, other = other, c
	}
	if len(other.Points) == 0 {
		return c
	}
	before := slices.IndexFunc(c.Points, func(p telemetry.Extreme) bool { return p.X >= other.Points[0].X })
	if before < 0 {
		before = len(c.Points)
	}
	other.Points = append(slices.Clone(c.Points[:before]), other.Points...)
	return other
}

// Frame lays the curves on one axis. keys are the groups of the executions; nil draws each
// curve alone.
func (c Curves) Frame(slots int, keys []string) curve.Frame {
	points := make([][]curve.Point, 0, len(c.Curves))
	for _, one := range c.Curves {
		line := make([]curve.Point, len(one.Points))
		for i, p := range one.Points {
			line[i] = curve.Point(p)
		}
		points = append(points, line)
	}
	f := curve.NewFrame(points, slots)
	styles := c.styles()
	names, parts, of := c.names()
	for i := range f.Lines {
		at := c.Curves[i].Index
		f.Lines[i].Name, f.Lines[i].Index, f.Lines[i].Style = names[i], at, styles[at].Part(parts[i], of)
		f.Lines[i].Last = c.Curves[i].Last
	}
	if keys == nil {
		return f
	}
	groups := make([]string, len(c.Curves))
	for i, one := range c.Curves {
		groups[i] = keys[one.Index]
	}
	return f.Group(groups)
}

// styles are the styles of the executions. Those of a page that draws more executions differ in the
// same way there.
func (c Curves) styles() []curve.Style {
	if c.Together == nil {
		return Styles(c.Executions)
	}
	all := curve.Styles(c.Together)
	styles := make([]curve.Style, len(c.Executions))
	for i, e := range c.Executions {
		if at := slices.Index(c.Together, e.ID); at >= 0 {
			styles[i] = all[at]
		}
	}
	return styles
}

// Styles are the styles of executions that a page draws together, for its charts and its legend.
func Styles(list []query.Execution) []curve.Style {
	ids := make([]uuid.UUID, len(list))
	for i, e := range list {
		ids[i] = e.ID
	}
	return curve.Styles(ids)
}

// namedLetters is the length from which the name of an execution is shortened in the name of a curve.
const namedLetters = 28

// names are the names of the curves: the execution, and what several of its curves differ in. parts
// numbers these differences, of which there are of: curves that differ in the same way have the same
// number.
func (c Curves) names() (names []string, parts []int, of int) {
	titles := map[uuid.UUID]string{}
	for _, e := range c.Executions {
		if e.Name != "" {
			titles[e.ID] = units.Shorten(e.Name, namedLetters) + " "
		}
	}
	own, nodes := map[uuid.UUID]int{}, map[string]bool{}
	for _, one := range c.Curves {
		own[one.Execution]++
		nodes[one.Node] = true
	}
	texts := make([]string, len(c.Curves))
	for i, one := range c.Curves {
		if own[one.Execution] > 1 && len(nodes) > 1 {
			texts[i] += " " + one.Node
		}
		if own[one.Execution] > 1 && len(one.Tags) > 0 {
			texts[i] += " " + tagText(one.Tags)
		}
	}
	kinds := slices.Compact(slices.Sorted(slices.Values(texts)))
	names, parts = make([]string, len(c.Curves)), make([]int, len(c.Curves))
	for i, one := range c.Curves {
		names[i], parts[i] = titles[one.Execution]+"#"+Short(one.Execution)+texts[i], slices.Index(kinds, texts[i])
	}
	return names, parts, len(kinds)
}

// Groups returns the key of each execution for a path, such as inputs:lr, and the paths that
// executions can be grouped by: those of rows that differ and are not results.
func Groups(rows []sheet.Row, path string) (keys, paths []string) {
	for _, r := range rows {
		if !r.Differs || r.Section == sheet.Metrics || r.Section == sheet.Artifacts || r.Section == sheet.Outputs || r.Unit == sheet.Seconds || r.Unit == sheet.Hours {
			continue
		}
		name := string(r.Section) + ":" + r.Path
		paths = append(paths, name)
		if name != path {
			continue
		}
		for _, cell := range r.Cells {
			key := fmt.Sprintf("%s = %s", r.Path, sheet.Text(cell.Value))
			if !cell.Present {
				key = "without " + r.Path
			}
			keys = append(keys, key)
		}
	}
	return keys, paths
}
