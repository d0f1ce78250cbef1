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

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/telemetry/spool"
)

// Place is an execution and the project that it belongs to.
type Place struct{ ExecutionID, ProjectID uuid.UUID }

// Total describes all values of a series without its points.
type Total struct {
	ExecutionID uuid.UUID
	Name        string
	NodeIndex   int
	Attempt     int
	Tags        map[string]string
	Min, Max    Number
	Last        Number

	at time.Time // of the last value in the spool
}

// acrossID identifies a series among those of several executions.
type acrossID struct {
	execution uuid.UUID
	seriesID
}

func compareAcross(a, b acrossID) int {
	return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.node, b.node), cmp.Compare(a.tags, b.tags), cmp.Compare(a.attempt, b.attempt))
}

// authorizeAll checks that the caller may read the records of every place, and returns the
// executions and projects.
func authorizeAll(ctx context.Context, places []Place) (executions, projects []uuid.UUID, err error) {
	for _, p := range places {
		absent := apperr.New(apperr.NotFound, "There is no execution %s.", p.ExecutionID)
		if !slices.Contains(projects, p.ProjectID) {
			if _, err := auth.AuthorizeIn(ctx, auth.LogRead, p.ProjectID, absent); err != nil {
				return nil, nil, err
			}
			projects = append(projects, p.ProjectID)
		}
		executions = append(executions, p.ExecutionID)
	}
	return executions, projects, nil
}

// TotalsQuery selects the totals of several executions.
type TotalsQuery struct {
	Places []Place
	Name   string // of the metric; "" is all metrics of tasks
	Limit  int    // of the series of each execution, in the order of names
}

// Totals are the totals of the series of several executions.
type Totals struct {
	List    []Total
	Cut     []uuid.UUID // the executions that have more series than the limit
	Partial bool        // ClickHouse did not respond, so that only the latest values count
}

// Totals returns the totals of the metrics that the tasks of several executions report, in
// one query. The minutes of the rollup are sufficient: repeated values do not change a
// minimum, a maximum or the last value.
func (s *Service) Totals(ctx context.Context, q TotalsQuery) (Totals, error) {
	executions, projects, err := authorizeAll(ctx, q.Places)
	if err != nil || len(q.Places) == 0 {
		return Totals{}, err
	}
	committed := s.spool.Committed()
	found := map[acrossID]*Total{}
	err = s.spooledAcross(executions, projects, committed, func(id acrossID, p *point) {
		if q.Name != "" && p.Name != q.Name {
			return
		}
		t := found[id]
		if t == nil {
			t = &Total{ExecutionID: id.execution, Name: p.Name, NodeIndex: p.NodeIndex, Attempt: p.Attempt, Min: Number(math.NaN()), Max: Number(math.NaN())}
			found[id] = t
		}
		t.bounds(Number(p.Value), Number(p.Value))
		if !p.Time.Before(t.at) {
			t.Last, t.at = Number(p.Value), p.Time
		}
	})
	if err != nil {
		return Totals{}, fmt.Errorf("totals of %d executions: %w", len(q.Places), err)
	}
	var out Totals
	out.Partial, err = s.ifReachable(ctx, func() error { return s.storedTotals(ctx, executions, projects, q, found) })
	if err != nil {
		return Totals{}, err
	}
	byExecution := map[uuid.UUID][]Total{}
	for _, id := range slices.SortedFunc(maps.Keys(found), compareAcross) {
		t := found[id]
		t.Tags = decodeTags(id.tags)
		byExecution[id.execution] = append(byExecution[id.execution], *t)
	}
	for _, p := range q.Places {
		own := byExecution[p.ExecutionID]
		if len(own) > q.Limit {
			own, out.Cut = own[:q.Limit], append(out.Cut, p.ExecutionID)
		}
		out.List = append(out.List, own...)
	}
	return out, nil
}

// CountPoints returns the number of points that the tasks of executions reported. While ClickHouse
// does not respond, it is the number in the spool. A point that is moved from the spool can be counted
// twice for a moment.
func (s *Service) CountPoints(ctx context.Context, places []Place) (uint64, error) {
	executions, projects, err := authorizeAll(ctx, places)
	if err != nil || len(places) == 0 {
		return 0, err
	}
	count := uint64(0)
	err = s.spooledAcross(executions, projects, s.spool.Committed(), func(acrossID, *point) { count++ })
	if err != nil {
		return 0, fmt.Errorf("points of %d executions: %w", len(places), err)
	}
	_, err = s.ifReachable(ctx, func() error {
		var c conditions
		c.add("execution_id IN (?)", executions)
		c.add("project_id IN (?)", projects)
		c.add("NOT startsWith(name, ?)", machinePrefix)
		stored := uint64(0)
		if err := s.store.conn.QueryRow(ctx, "SELECT sum(sample_count) FROM metrics_1m WHERE "+c.String(), c.args...).Scan(&stored); err != nil {
			return err //nolint:wrapcheck // ifReachable decides whether it is a failure
		}
		count += stored
		return nil
	})
	return count, err
}

// ifReachable reads from ClickHouse, if the installation has it. unreachable: it did not respond, so that
// the reader gets only what is in the spool.
func (s *Service) ifReachable(ctx context.Context, read func() error) (unreachable bool, err error) {
	if s.store == nil {
		return false, nil
	}
	err = errNotReady
	if s.store.migrated.Load() {
		err = read()
	}
	if err != nil {
		return true, s.unlessUnavailable(ctx, err)
	}
	return false, nil
}

// Join extends the range of t by that of another attempt.
func (t *Total) Join(other Total) { t.bounds(other.Min, other.Max) }

// bounds extends the range of t by values between low and high. NaN extends nothing.
func (t *Total) bounds(low, high Number) {
	if math.IsNaN(float64(t.Min)) || low < t.Min {
		t.Min = low
	}
	if math.IsNaN(float64(t.Max)) || high > t.Max {
		t.Max = high
	}
}

// spooledAcross calls f for the points of tasks that are only in the spool.
func (s *Service) spooledAcross(executions, projects []uuid.UUID, committed uint64, f func(acrossID, *point)) error {
	for _, execution := range executions {
		err := s.spool.Read(s.spool.Since(execution, committed), func(frame spool.Frame) error {
			if frame.Kind != kindMetrics {
				return nil
			}
			points, err := decodePoints(frame)
			for i := range points {
				if p := &points[i]; slices.Contains(projects, p.ProjectID) && FromTask.includes(p.Name) {
					f(acrossID{execution, seriesID{p.NodeIndex, p.Attempt, p.Name, p.tags}}, p)
				}
			}
			return err
		})
		if err != nil {
			return err //nolint:wrapcheck // the caller names the executions
		}
	}
	return nil
}

// storedTotals merges the totals in ClickHouse into found. It reads one series more than
// the limit, so that the caller notices when there are more.
func (s *Service) storedTotals(ctx context.Context, executions, projects []uuid.UUID, q TotalsQuery, found map[acrossID]*Total) error {
	var c conditions
	c.add("execution_id IN (?)", executions)
	c.add("project_id IN (?)", projects)
	c.add("NOT startsWith(name, ?)", machinePrefix)
	if q.Name != "" {
		c.add("name = ?", q.Name)
	}
	rows, err := s.store.conn.Query(ctx, `SELECT execution_id, name, node_index, attempt, tags,
		minIf(min_value, NOT isNaN(min_value)), maxIf(max_value, NOT isNaN(max_value)), countIf(NOT isNaN(min_value)), argMaxMerge(last_value)
		FROM metrics_1m WHERE `+c.String()+`
		GROUP BY execution_id, name, node_index, attempt, tags
		ORDER BY execution_id, name, node_index, tags, attempt LIMIT ? BY execution_id`, append(c.args, q.Limit+1)...)
	if err != nil {
		return err //nolint:wrapcheck // the caller decides whether it is a failure
	}
	defer func() { _ = rows.Close() }() // Err returns the error
	for rows.Next() {
		var (
			id              acrossID
			node            uint32
			attempt         uint16
			low, high, last float64
			finite          uint64
		)
		if err := rows.Scan(&id.execution, &id.name, &node, &attempt, &id.tags, &low, &high, &finite, &last); err != nil {
			return err //nolint:wrapcheck // as above
		}
		if finite == 0 {
			low, high = math.NaN(), math.NaN()
		}
		id.node, id.attempt = int(node), int(attempt)
		if t := found[id]; t != nil { // the spool has later values
			t.bounds(Number(low), Number(high))
			continue
		}
		found[id] = &Total{ExecutionID: id.execution, Name: id.name, NodeIndex: id.node, Attempt: id.attempt, Min: Number(low), Max: Number(high), Last: Number(last)}
	}
	return rows.Err() //nolint:wrapcheck // as above
}
