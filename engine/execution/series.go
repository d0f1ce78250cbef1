package execution

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/workflow"
)

// maxSeries limits the series of one project. A label with unlimited values would otherwise
// fill the memory of the metrics collector.
const maxSeries = 1000

// newSeries and changedSeries are rows of the record sets in InsertSeries and WriteSeries.
type newSeries struct {
	Key    string              `json:"key"`
	Name   string              `json:"name"`
	Labels any                 `json:"labels"`
	Kind   workflow.MetricKind `json:"kind"`
	Help   string              `json:"help"`
	Bounds []float64           `json:"bounds,omitempty"`
	Counts []int64             `json:"counts,omitempty"`
}

type changedSeries struct {
	Key           string     `json:"key"`
	Help          string     `json:"help"`
	Value         float64    `json:"value"`
	Counts        []int64    `json:"counts,omitempty"`
	LiveSince     *time.Time `json:"live_since,omitempty"`
	LiveExecution *uuid.UUID `json:"live_execution,omitempty"`
	LiveNode      *int32     `json:"live_node,omitempty"`
}

// write adds the emissions of the batch to the series of the project, in the transaction
// that ends the nodes: a crash neither loses nor repeats them.
//
// Deadlocks are impossible: a transaction that adds series takes the lock of the project
// before it locks any row, and all transactions lock rows in the order of their keys. For
// the same reason the limit is exact: series are only added under that lock, and never
// removed.
func (me *metrics) write(ctx context.Context, q *db.Queries) error {
	keys := keysOf(me.emissions)
	left, err := me.activeSeries(ctx, q)
	if err != nil || len(keys)+len(left) == 0 {
		return err
	}
	known, err := q.KnownSeries(ctx, me.loop.row.ProjectID, keys)
	if err != nil {
		return fmt.Errorf("find series: %w", err)
	}
	if len(known) < len(keys) {
		if err := me.addSeries(ctx, q, keys); err != nil {
			return err
		}
	}
	rows, err := q.LockSeries(ctx, me.loop.row.ProjectID, slices.Concat(keys, left))
	if err != nil {
		return fmt.Errorf("lock series: %w", err)
	}
	there := make(map[string]*db.LockSeriesRow, len(rows))
	for i := range rows {
		there[rows[i].Key] = &rows[i]
	}
	for _, e := range me.emissions {
		s, ok := there[e.key]
		if !ok {
			continue // it was refused
		}
		if why := me.apply(s, e); why != "" {
			me.failed(e.metric, e.node, e.at, why)
		}
	}
	changed := make([]changedSeries, len(rows))
	for i, s := range rows {
		if me.loop.batch.finished && s.LiveExecution != nil && *s.LiveExecution == me.loop.id {
			s.LiveSince, s.LiveExecution, s.LiveNode = nil, nil, nil
		}
		changed[i] = changedSeries{s.Key, s.Help, s.Value, s.Counts, s.LiveSince, s.LiveExecution, s.LiveNode}
	}
	if err := q.WriteSeries(ctx, me.loop.driver.now(), me.loop.row.ProjectID, mustJSON(changed)); err != nil {
		return fmt.Errorf("write series: %w", err)
	}
	return nil
}

// activeSeries returns the realtime series that no node of the execution, which ends with the
// batch, will update: a node that began and was left out later has no end to emit.
func (me *metrics) activeSeries(ctx context.Context, q *db.Queries) ([]string, error) {
	if !me.loop.batch.finished || !me.loop.version.Definition.HasLiveMetrics() {
		return nil, nil
	}
	keys, err := q.LiveSeries(ctx, me.loop.row.ProjectID, me.loop.id)
	if err != nil {
		return nil, fmt.Errorf("find realtime series: %w", err)
	}
	return keys, nil
}

func keysOf(emissions []emission) []string {
	keys := map[string]struct{}{}
	for _, e := range emissions {
		keys[e.key] = struct{}{}
	}
	return slices.Sorted(maps.Keys(keys))
}

// addSeries adds the series that the project does not have, up to the limit and if the
// metric matches its family. Each refused emission gets the reason.
func (me *metrics) addSeries(ctx context.Context, q *db.Queries, keys []string) error {
	if err := q.HoldSeries(ctx, me.loop.row.ProjectID.String()); err != nil {
		return fmt.Errorf("lock the series of %s: %w", me.loop.row.ProjectID, err)
	}
	known, err := q.KnownSeries(ctx, me.loop.row.ProjectID, keys) // another transaction may have added some
	if err != nil {
		return fmt.Errorf("find series: %w", err)
	}
	count, err := q.CountSeries(ctx, me.loop.row.ProjectID)
	if err != nil {
		return fmt.Errorf("count series: %w", err)
	}
	families, err := me.families(ctx, q)
	if err != nil {
		return err
	}
	settled := map[string]string{} // keys, and why they were refused
	for _, key := range known {
		settled[key] = ""
	}
	var fresh []newSeries
	for _, e := range me.emissions {
		why, seen := settled[e.key]
		if !seen {
			switch before, named := families[e.name]; {
			case named && before.differs(e.metric) != "":
				why = before.differs(e.metric)
			case int(count)+len(fresh) >= maxSeries:
				why = fmt.Sprintf("The project has reached the maximum of %d metric series. Use labels with fewer values.", maxSeries)
				me.refused++
			default:
				fresh = append(fresh, freshSeries(e))
				families[e.name] = family{e.metric.Kind, e.metric.Bounds}
			}
			settled[e.key] = why
		}
		if why != "" {
			me.failed(e.metric, e.node, e.at, why)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	if err := q.InsertSeries(ctx, me.loop.row.ProjectID, me.loop.driver.now(), mustJSON(fresh)); err != nil {
		return fmt.Errorf("add series: %w", err)
	}
	return nil
}

// family describes the common properties of all series of a name.
type family struct {
	kind   workflow.MetricKind
	bounds []float64
}

// differs explains why a metric cannot be a series of the family; "" when it can.
func (f family) differs(m *workflow.Metric) string {
	switch {
	case f.kind != m.Kind:
		return fmt.Sprintf("The project has a %s with this name, but this metric is a %s. Rename the metric.", f.kind, m.Kind)
	case !slices.Equal(f.bounds, m.Bounds):
		return "The project has a histogram with this name but different buckets. Rename the metric."
	}
	return ""
}

// families returns the families of the names in the batch.
func (me *metrics) families(ctx context.Context, q *db.Queries) (map[string]family, error) {
	var names []string
	for _, e := range me.emissions {
		names = append(names, e.name)
	}
	slices.Sort(names)
	rows, err := q.SeriesFamilies(ctx, me.loop.row.ProjectID, slices.Compact(names))
	if err != nil {
		return nil, fmt.Errorf("find metrics: %w", err)
	}
	families := map[string]family{}
	for _, r := range rows {
		families[r.Name] = family{workflow.MetricKind(r.Kind), r.Bounds}
	}
	return families, nil
}

func freshSeries(e emission) newSeries {
	s := newSeries{Key: e.key, Name: e.name, Labels: e.labels, Kind: e.metric.Kind, Help: e.help, Bounds: e.metric.Bounds}
	if s.Kind == workflow.MetricHistogram {
		s.Counts = make([]int64, len(s.Bounds)+1)
	}
	return s
}

// apply adds an emission to a locked series, or explains why it cannot. The help text of the
// latest emission is used.
func (me *metrics) apply(s *db.LockSeriesRow, e emission) string {
	if why := (family{workflow.MetricKind(s.Kind), s.Bounds}).differs(e.metric); why != "" {
		return why
	}
	s.Help = e.help
	node := int32(e.node) //nolint:gosec // fewer nodes than maxNodes
	ours := s.LiveExecution != nil && *s.LiveExecution == me.loop.id && *s.LiveNode == node
	if e.since != nil {
		// Of several running nodes, the series belongs to the one that began last.
		if s.LiveSince == nil || ours || !e.since.Before(*s.LiveSince) {
			s.LiveSince, s.LiveExecution, s.LiveNode = e.since, &me.loop.id, &node
		}
		return ""
	}
	if ours {
		s.LiveSince, s.LiveExecution, s.LiveNode = nil, nil, nil
	}
	value := e.value
	switch {
	case e.metric.Kind == workflow.MetricHistogram:
		bucket, _ := slices.BinarySearch(s.Bounds, e.value) // the first bound that is not less
		s.Counts[bucket]++
		value += s.Value
	case e.metric.Change == workflow.GaugeSub:
		value = s.Value - value
	case e.metric.Kind == workflow.MetricCounter, e.metric.Change == workflow.GaugeAdd:
		value += s.Value
	}
	if math.IsInf(value, 0) {
		return "The number is too large."
	}
	s.Value = value
	return ""
}
