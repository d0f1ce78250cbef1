package quota

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// Round is what one flush of a drive loop releases and requests. Want are requests of
// Execution; Release lists the nodes whose ended attempts release their reservations.
type Round struct {
	Execution uuid.UUID
	Project   uuid.UUID
	// Gate is the request of the execution itself: while it is refused, Want is not
	// considered.
	Gate    *fair.Request
	Release map[int]fair.Amount
	Want    []fair.Request
}

// Admit decides about r and charges the net change to the counters in the transaction
// of q. A net change of zero (an attempt ends and the next of its size begins) locks no
// counter. The caller writes and deletes the rows of the reservations, and calls Undo
// when the transaction does not commit. It returns Unavailable when the rows have less
// free capacity than the image in memory, because of another process or a limit that
// was just lowered: the caller starts over.
func (s *Service) Admit(ctx context.Context, q *db.Queries, r Round) (granted []fair.Grant, refused []fair.Refusal, err error) {
	released := slices.Collect(maps.Keys(r.Release))
	s.Levels.ensure(ctx, q, r.Project)
	if full := s.Storage.full(r.Project); full != nil {
		refused = s.refuseFull(r, *full)
		r.Want, r.Gate = nil, nil
	}
	s.order.Lock()
	granted, others := s.decide(r, released)
	refused = append(refused, others...)
	delta := r.net(granted)
	if len(delta) == 0 {
		s.order.Unlock()
		return granted, refused, nil
	}
	l, err := s.Levels.lock(ctx, q, r.Project)
	s.order.Unlock()
	if err != nil {
		return granted, nil, err
	}
	reason, err := l.charge(ctx, delta)
	if err != nil {
		return granted, nil, err
	}
	if reason != nil {
		s.stale.Store(true)
		return granted, nil, apperr.New(apperr.Unavailable, "The capacity is no longer available: %s", reason.Message)
	}
	return granted, refused, nil
}

// refuseFull refuses all requests of an execution, including earlier ones that may have
// an offer, because a level above it is full.
func (s *Service) refuseFull(r Round, full fair.Reason) []fair.Refusal {
	refused := r.refuseAll(full)
	known := make(map[fair.Key]bool, len(refused))
	for _, f := range refused {
		known[f.Key] = true
	}
	for _, key := range s.fair.WithdrawAll(r.Execution) {
		if !known[key] {
			refused = append(refused, fair.Refusal{Key: key, Reason: full})
		}
	}
	if len(refused) > 0 {
		s.Storage.await(r)
	}
	return refused
}

// decide calls the scheduler, first for the execution itself.
func (s *Service) decide(r Round, released []int) (granted []fair.Grant, refused []fair.Refusal) {
	if r.Gate == nil {
		return s.fair.Admit(r.Execution, released, r.Want)
	}
	granted, refused = s.fair.Admit(r.Execution, released, []fair.Request{*r.Gate})
	if len(refused) > 0 || len(r.Want) == 0 {
		return granted, refused
	}
	more, refused := s.fair.Admit(r.Execution, nil, r.Want)
	return append(granted, more...), refused
}

// refuseAll refuses all requests of r with one reason.
func (r Round) refuseAll(reason fair.Reason) []fair.Refusal {
	if r.Gate != nil {
		return []fair.Refusal{{Key: r.Gate.Key, Reason: reason}}
	}
	refused := make([]fair.Refusal, len(r.Want))
	for i, w := range r.Want {
		refused[i] = fair.Refusal{Key: w.Key, Reason: reason}
	}
	return refused
}

// net is the change in use by r once granted begins.
func (r Round) net(granted []fair.Grant) fair.Vector {
	delta := fair.Vector{}
	for _, g := range granted {
		delta = delta.Plus(g.Amount.Vector())
	}
	for _, amount := range r.Release {
		delta = delta.Minus(amount.Vector())
	}
	return delta
}

// Undo reverts an Admit whose transaction did not commit.
func (s *Service) Undo(r Round, granted []fair.Grant) {
	s.fair.Undo(r.Execution, slices.Collect(maps.Keys(r.Release)), granted)
}

// Withdraw removes the waiting requests of an execution: of all its nodes when
// nodes is nil.
func (s *Service) Withdraw(execution uuid.UUID, nodes []int) { s.fair.Withdraw(execution, nodes) }

// Position returns the current position of a waiting node, 1 is next, or 0.
func (s *Service) Position(key fair.Key) int { return s.fair.Position(key) }

// NeverFits returns why a request can never start, even if nothing else runs, or nil.
func (s *Service) NeverFits(r fair.Request) *fair.Reason {
	s.Levels.ensure(context.Background(), s.queries, r.Project)
	return s.fair.NeverFits(r)
}

// Why returns the current reason of a waiting request; false when it does not wait.
func (s *Service) Why(key fair.Key) (fair.Reason, bool) { return s.fair.Why(key) }

// Queue returns the waiting requests in the order of admission.
func (s *Service) Queue(f fair.Filter) []fair.Waiting { return s.fair.Queue(f) }

// Forecast predicts the result of requests made now.
func (s *Service) Forecast(requests []fair.Request) fair.Forecast {
	if len(requests) > 0 {
		s.Levels.ensure(context.Background(), s.queries, requests[0].Project)
	}
	return s.fair.Forecast(requests)
}

// Sweep withdraws unclaimed offers.
func (s *Service) Sweep() { s.fair.Sweep() }

// Victims returns the attempts to preempt now: for requests within their guarantee, and
// because a limit was lowered.
func (s *Service) Victims() []fair.Victim {
	return append(s.fair.Excess(), s.fair.Victims()...)
}

// CancelPreemption cancels the preemption of attempts.
func (s *Service) CancelPreemption(keys []fair.Key) { s.fair.CancelPreemption(keys) }

// MarkPreempted records that the attempt of v is being preempted. It returns false when
// the attempt no longer holds a reservation.
func (s *Service) MarkPreempted(ctx context.Context, q *db.Queries, v fair.Victim) (bool, error) {
	reason, err := json.Marshal(v.Reason)
	if err != nil {
		return false, fmt.Errorf("encode a reason: %w", err)
	}
	n, err := q.MarkPreempted(ctx, db.MarkPreemptedParams{
		At: s.now(), Reason: reason, ExecutionID: v.Execution, NodeIndex: int32(v.Node), Attempt: int32(v.Attempt), //nolint:gosec // small numbers
	})
	if err != nil {
		return false, fmt.Errorf("mark an attempt as preempted: %w", err)
	}
	return n > 0, nil
}
