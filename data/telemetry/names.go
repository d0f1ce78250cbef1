package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
)

// MetricName is a metric that tasks of executions report.
type MetricName struct {
	Name       string
	Executions int // that report it
}

// MetricNames returns the metrics that the tasks of several executions report: those of the most
// executions first, then by name. partial: ClickHouse did not respond, so that only recent metrics
// are known.
func (s *Service) MetricNames(ctx context.Context, places []Place) (names []MetricName, partial bool, err error) {
	executions, projects, err := authorizeAll(ctx, places)
	if err != nil || len(places) == 0 {
		return nil, false, err
	}
	type reported struct {
		execution uuid.UUID
		name      string
	}
	found := map[reported]bool{}
	err = s.spooledAcross(executions, projects, s.spool.Committed(), func(id acrossID, _ *point) { found[reported{id.execution, id.name}] = true })
	if err != nil {
		return nil, false, fmt.Errorf("metrics of %d executions: %w", len(places), err)
	}
	partial, err = s.ifReachable(ctx, func() error {
		var c conditions
		c.add("execution_id IN (?)", executions)
		c.add("project_id IN (?)", projects)
		c.add("NOT startsWith(name, ?)", machinePrefix)
		rows, err := s.store.conn.Query(ctx, "SELECT DISTINCT execution_id, name FROM metrics_1m WHERE "+c.String(), c.args...)
		if err != nil {
			return err //nolint:wrapcheck // ifReachable decides whether it is a failure
		}
		defer func() { _ = rows.Close() }() // Err returns the error
		for rows.Next() {
			var r reported
			if err := rows.Scan(&r.execution, &r.name); err != nil {
				return err //nolint:wrapcheck // as above
			}
			found[r] = true
		}
		return rows.Err() //nolint:wrapcheck // as above
	})
	if err != nil {
		return nil, false, err
	}
	count := map[string]int{}
	for r := range found {
		count[r.name]++
	}
	for name, n := range count {
		names = append(names, MetricName{Name: name, Executions: n})
	}
	slices.SortFunc(names, func(a, b MetricName) int {
		return cmp.Or(cmp.Compare(b.Executions, a.Executions), cmp.Compare(a.Name, b.Name))
	})
	return names, partial, nil
}
