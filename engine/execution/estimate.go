package execution

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// Estimate says how long an operator will probably run: it lasted no longer than
// P10, P50 and P90 in a tenth, half and nine tenths of Count earlier attempts
// that succeeded, the latest ones.
type Estimate struct {
	Count         int
	P10, P50, P90 time.Duration
}

// Fair is e as admission reckons with it.
func (e Estimate) Fair() fair.Estimate {
	return fair.Estimate{Low: e.P10, Typical: e.P50, High: e.P90, From: e.Count}
}

// Expected returns the estimates of the operators of a workflow by name. An
// operator that has not run yet has none. It returns NotFound for a workflow
// that the caller may not see.
func (s *Service) Expected(ctx context.Context, workflowID uuid.UUID) (map[string]Estimate, error) {
	if _, err := auth.Authorize(ctx, auth.WorkflowRead); err != nil {
		return nil, err
	}
	if _, err := s.workflows.Get(ctx, workflowID.String()); err != nil {
		return nil, err
	}
	return s.expected(ctx, workflowID)
}

// expected is Expected for the engine itself, at most estimateTTL old.
func (s *Service) expected(ctx context.Context, workflowID uuid.UUID) (map[string]Estimate, error) {
	now := s.now()
	if known, ok := s.estimates.get(workflowID, now); ok {
		return known, nil
	}
	rows, err := s.queries.OperatorDurations(ctx, workflowID)
	if err != nil {
		return nil, fmt.Errorf("read durations of workflow %s: %w", workflowID, err)
	}
	estimates := make(map[string]Estimate, len(rows))
	for _, r := range rows {
		estimates[r.Operator] = estimateOf(r.Durations)
	}
	s.estimates.put(workflowID, now, estimates)
	return estimates, nil
}

// estimateOf finds the percentiles of durations in milliseconds.
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

// learn adds how long the attempts of an ended execution took to the estimates.
// complete, when given, is part of the transaction: what learns by a job that may
// be repeated completes the job there, so that nothing is learnt twice.
func (s *Service) learn(ctx context.Context, id uuid.UUID, complete func(context.Context, pgx.Tx) error) error {
	e, err := s.queries.GetExecution(ctx, id)
	if db.IsNoRows(err) {
		return absent(id)
	}
	if err != nil {
		return fmt.Errorf("get execution %s: %w", id, err)
	}
	err = db.Tx(ctx, s.pool, func(tx pgx.Tx, q *db.Queries) error {
		if err := q.LearnDurations(ctx, s.now(), id); err != nil {
			return fmt.Errorf("learn durations of %s: %w", id, err)
		}
		if complete == nil {
			return nil
		}
		return complete(ctx, tx)
	})
	if err == nil {
		s.estimates.drop(e.WorkflowID)
	}
	return err
}

// Finished passes on that an execution has ended and learns from it. For the
// finished job, which complete ends in a transaction of this call; nil ends nothing.
func (s *Service) Finished(ctx context.Context, id uuid.UUID, complete func(context.Context, pgx.Tx) error) error {
	if err := s.config.OnFinished(ctx, id); err != nil {
		return err
	}
	err := s.learn(ctx, id, complete)
	if apperr.Is(err, apperr.NotFound) {
		return nil // dropped with its month
	}
	return err
}

const (
	estimateTTL = 30 * time.Second
	estimateCap = 1000 // workflows
)

// estimateCache keeps the estimates of the workflows in use.
type estimateCache struct {
	mu    sync.Mutex
	known map[uuid.UUID]agedEstimates
}

type agedEstimates struct {
	at        time.Time
	estimates map[string]Estimate
}

func (c *estimateCache) get(workflow uuid.UUID, now time.Time) (map[string]Estimate, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	aged, ok := c.known[workflow]
	return aged.estimates, ok && now.Sub(aged.at) < estimateTTL
}

func (c *estimateCache) put(workflow uuid.UUID, now time.Time, estimates map[string]Estimate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= estimateCap {
		c.known = map[uuid.UUID]agedEstimates{}
	}
	c.known[workflow] = agedEstimates{now, estimates}
}

func (c *estimateCache) drop(workflow uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, workflow)
}
