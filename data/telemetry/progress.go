package telemetry

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
)

// ProgressQuery selects how far a metric of several executions has come.
type ProgressQuery struct {
	Places []Place
	Name   string
	Lower  bool    // lower values are better
	Steps  []int64 // ascending
}

// Progress is how far a metric of an execution has come, over all of its nodes and attempts. Values
// that are not finite do not count.
type Progress struct {
	Best, Last float64
	BestStep   *int64 // of Best; nil: its point has no step
	LastStep   *int64 // the highest
	// At has the best value until each of the steps that the metric has reached.
	At []float64

	lastAt  time.Time
	buckets []float64 // best value of the points after the step before, NaN without one
}

// Progress returns the progress of the executions that have a finite value. partial: ClickHouse did
// not answer, so that earlier points are missing.
func (s *Service) Progress(ctx context.Context, q ProgressQuery) (found map[uuid.UUID]*Progress, partial bool, err error) {
	executions, projects, err := authorizeAll(ctx, q.Places)
	if err != nil || len(q.Places) == 0 {
		return nil, false, err
	}
	r := progressReader{q: q, found: map[uuid.UUID]*Progress{}}
	committed := s.spool.Committed()
	err = s.spooledAcross(executions, projects, committed, func(id acrossID, p *point) {
		if p.Name == q.Name && !math.IsNaN(p.Value) && !math.IsInf(p.Value, 0) {
			r.add(id.execution, p.Value, p.Step, p.Value, p.Time, p.Step)
		}
	})
	if err != nil {
		return nil, false, fmt.Errorf("progress of %s: %w", q.Name, err)
	}
	partial, err = s.ifReachable(ctx, func() error { return r.stored(ctx, s, executions, projects) })
	if err != nil {
		return nil, false, err
	}
	for _, p := range r.found {
		p.finish(q)
	}
	return r.found, partial, nil
}

type progressReader struct {
	q     ProgressQuery
	found map[uuid.UUID]*Progress
}

func (q ProgressQuery) better(a, b float64) bool {
	if q.Lower {
		return a < b
	}
	return a > b
}

// add adds points that are between two steps: the best of them, and the last.
func (r *progressReader) add(id uuid.UUID, best float64, bestStep *int64, last float64, lastAt time.Time, highest *int64) {
	p := r.found[id]
	if p == nil {
		p = &Progress{Best: math.NaN(), buckets: slices.Repeat([]float64{math.NaN()}, len(r.q.Steps)+1)}
		r.found[id] = p
	}
	if math.IsNaN(p.Best) || r.q.better(best, p.Best) {
		p.Best, p.BestStep = best, bestStep
	}
	if !lastAt.Before(p.lastAt) {
		p.Last, p.lastAt = last, lastAt
	}
	if highest == nil {
		return
	}
	if p.LastStep == nil || *highest > *p.LastStep {
		p.LastStep = highest
	}
	i, _ := slices.BinarySearch(r.q.Steps, *highest)
	if math.IsNaN(p.buckets[i]) || r.q.better(best, p.buckets[i]) {
		p.buckets[i] = best
	}
}

func (p *Progress) finish(q ProgressQuery) {
	best := math.NaN()
	for i, step := range q.Steps {
		if p.LastStep == nil || *p.LastStep < step {
			return
		}
		if b := p.buckets[i]; !math.IsNaN(b) && (math.IsNaN(best) || q.better(b, best)) {
			best = b
		}
		p.At = append(p.At, best)
	}
}

// stored adds the points in ClickHouse, grouped by the steps between which they are. Points without
// a step are a separate group. It needs no FINAL, because a repeated point changes nothing.
func (r *progressReader) stored(ctx context.Context, s *Service, executions, projects []uuid.UUID) error {
	var c conditions
	c.add("execution_id IN (?)", executions)
	c.add("project_id IN (?)", projects)
	c.add("name = ?", r.q.Name)
	c.add("isFinite(value)")
	best := "max"
	if r.q.Lower {
		best = "min"
	}
	rows, err := s.store.conn.Query(ctx, `SELECT execution_id, `+best+`(value), arg`+capital(best)+`(tuple(step), value).1, argMax(value, (timestamp, sequence)), max(timestamp), max(step)
		FROM metrics WHERE `+c.String()+`
		GROUP BY execution_id, if(isNull(step), -1, toInt64(arrayCount(s -> s < step, CAST(? AS Array(Int64)))))`, append(c.args, slices.Concat([]int64{}, r.q.Steps))...)
	if err != nil {
		return err //nolint:wrapcheck // the caller decides whether it is a failure
	}
	defer func() { _ = rows.Close() }() // Err returns the error
	for rows.Next() {
		var (
			id                uuid.UUID
			value, last       float64
			bestStep, highest *int64
			at                time.Time
		)
		if err := rows.Scan(&id, &value, &bestStep, &last, &at, &highest); err != nil {
			return err //nolint:wrapcheck // as above
		}
		r.add(id, value, bestStep, last, at, highest)
	}
	return rows.Err() //nolint:wrapcheck // as above
}

func capital(word string) string { return string(word[0]-'a'+'A') + word[1:] }
