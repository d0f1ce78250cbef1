package query

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// Estimate is the expected duration of an operator: it took at most P10, P50 and P90 in a
// tenth, half and nine tenths of its latest Count successful attempts.
type Estimate struct {
	Count         int
	P10, P50, P90 time.Duration
}

// Fair converts e for the admission queue.
func (e Estimate) Fair() fair.Estimate {
	return fair.Estimate{Low: e.P10, Typical: e.P50, High: e.P90, From: e.Count}
}

// Expected returns the estimates of the operators of a workflow by name. An operator that
// has not run yet has none. It returns NotFound for a workflow that the caller may not see.
func (q *Reader) Expected(ctx context.Context, workflowID uuid.UUID) (map[string]Estimate, error) {
	if _, err := auth.Authorize(ctx, auth.WorkflowRead); err != nil {
		return nil, err
	}
	if _, err := q.workflows.Get(ctx, workflowID.String()); err != nil {
		return nil, err
	}
	return q.estimates.Of(ctx, workflowID)
}

// estimateOf computes the percentiles of durations in milliseconds.
func estimateOf(durations []int64) Estimate {
	if len(durations) == 0 {
		return Estimate{}
	}
	sorted := slices.Sorted(slices.Values(durations))
	at := func(percent int) time.Duration {
		rank := (percent*len(sorted) + 99) / 100 // nearest rank, from 1
		return time.Duration(max(sorted[max(rank, 1)-1], 1)) * time.Millisecond
	}
	return Estimate{Count: len(sorted), P10: at(10), P50: at(50), P90: at(90)}
}

const (
	estimateTTL = 30 * time.Second
	estimateCap = 1000 // workflows
)

// Estimates caches the estimates of the workflows in use.
type Estimates struct {
	queries *db.Queries
	now     func() time.Time
	mu      sync.Mutex
	known   map[uuid.UUID]agedEstimates
}

type agedEstimates struct {
	at        time.Time
	estimates map[string]Estimate
}

// NewEstimates returns Estimates.
func NewEstimates(queries *db.Queries, now func() time.Time) *Estimates {
	return &Estimates{queries: queries, now: now, known: map[uuid.UUID]agedEstimates{}}
}

// Of returns the estimates of the operators of a workflow by name, at most estimateTTL old.
// It requires no permission.
func (c *Estimates) Of(ctx context.Context, workflowID uuid.UUID) (map[string]Estimate, error) {
	now := c.now()
	if known, ok := c.get(workflowID, now); ok {
		return known, nil
	}
	rows, err := c.queries.OperatorDurations(ctx, workflowID)
	if err != nil {
		return nil, fmt.Errorf("read durations of workflow %s: %w", workflowID, err)
	}
	estimates := make(map[string]Estimate, len(rows))
	for _, r := range rows {
		estimates[r.Operator] = estimateOf(r.Durations)
	}
	c.put(workflowID, now, estimates)
	return estimates, nil
}

// Completion is the expected end of e; nil without a history.
func (c *Estimates) Completion(ctx context.Context, e Execution, now time.Time) *time.Time {
	if e.Status.Ended() || e.ResumeOf != nil { // a resumed execution ends sooner, by an unknown time
		return nil
	}
	seconds, err := c.queries.MedianDuration(ctx, e.WorkflowID, e.VersionID)
	if err != nil || seconds <= 0 || math.IsNaN(seconds) {
		return nil
	}
	at := e.CreatedAt.Add(time.Duration(seconds * float64(time.Second)))
	if !at.After(now) {
		return nil
	}
	return &at
}

// Drop removes the estimates of a workflow from the cache, because newer ones exist.
func (c *Estimates) Drop(workflow uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, workflow)
}

func (c *Estimates) get(workflow uuid.UUID, now time.Time) (map[string]Estimate, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	aged, ok := c.known[workflow]
	return aged.estimates, ok && now.Sub(aged.at) < estimateTTL
}

func (c *Estimates) put(workflow uuid.UUID, now time.Time, estimates map[string]Estimate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= estimateCap {
		clear(c.known)
	}
	c.known[workflow] = agedEstimates{now, estimates}
}
