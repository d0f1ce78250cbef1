package trigger

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Partial is a join that waits for more events.
type Partial struct {
	Key        string
	ExpiresAt  time.Time // when its oldest event leaves the window
	Conditions []Arrival // in the order of the trigger
}

// Arrival is a condition of a partial join. Subject is "" if its event is missing.
type Arrival struct {
	Condition string
	Subject   string
	SourceID  *uuid.UUID
	At        time.Time
}

// MaxPartials is how many partial joins Partials returns.
const MaxPartials = 100

// Partials returns the joins of a trigger that wait for more events, the one that expires first first, and
// how many there are. The caller must be able to read the trigger.
func (s *Service) Partials(ctx context.Context, t Trigger) ([]Partial, int, error) {
	if _, err := auth.Authorize(ctx, auth.ExecutionRead); err != nil {
		return nil, 0, err
	}
	if t.Join == nil {
		return nil, 0, nil
	}
	rows, err := s.queries.OpenJoins(ctx, t.ID, MaxPartials)
	if err != nil {
		return nil, 0, fmt.Errorf("list joins of trigger %s: %w", t.ID, err)
	}
	count, err := s.queries.CountOpenJoins(ctx, t.ID)
	if err != nil {
		return nil, 0, fmt.Errorf("count joins of trigger %s: %w", t.ID, err)
	}
	ids := make([]uuid.UUID, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	events, err := s.queries.EventsOfJoins(ctx, ids)
	if err != nil {
		return nil, 0, fmt.Errorf("events of the joins of trigger %s: %w", t.ID, err)
	}
	list := make([]Partial, 0, len(rows))
	for _, row := range rows {
		p := Partial{Key: row.Key, ExpiresAt: row.ExpiresAt}
		for _, c := range t.Join.All {
			a := Arrival{Condition: c.Name}
			for _, e := range events {
				if e.JoinID == row.ID && e.Condition == c.Name {
					a.Subject, a.SourceID, a.At = strings.TrimPrefix(e.Subject, c.Name+": "), e.SourceID, e.At
				}
			}
			p.Conditions = append(p.Conditions, a)
		}
		list = append(list, p)
	}
	return list, int(count), nil
}

// rejoin passes an event to the condition that received it before.
func (s joining) rejoin(ctx context.Context, row db.Trigger, ev event) (Delivery, error) {
	t, err := triggerOf(row)
	if err != nil {
		return Delivery{}, err
	}
	c, ok := t.condition(ev.condition)
	if t.Join == nil || !ok {
		return Delivery{}, apperr.New(apperr.Conflict, "The trigger %s no longer has the condition %s.", row.Name, ev.condition)
	}
	a, err := s.join(ctx, row, t.Join, c, ev, s.now())
	if err != nil {
		return Delivery{}, err
	}
	return s.result(ctx, row, ev, a)
}

// ConditionState is what a condition of a join received last.
type ConditionState struct {
	Condition Condition
	Joined    *Arrival  // the newest event that became part of a join; nil: none
	Ignored   *Delivery // the newest event that did not, with the reason; nil: none
	Polls     *Polls    // nil for kinds that do not poll
}

// ConditionStates returns the states of the conditions of a join, in their order. It returns none for other
// triggers. The caller must be able to read the trigger.
func (s *Service) ConditionStates(ctx context.Context, t Trigger) ([]ConditionState, error) {
	if _, err := auth.Authorize(ctx, auth.ExecutionRead); err != nil {
		return nil, err
	}
	if t.Join == nil {
		return nil, nil
	}
	list, names := make([]ConditionState, len(t.Join.All)), make([]string, len(t.Join.All))
	for i, c := range t.Join.All {
		list[i].Condition, names[i] = c, c.Name
	}
	events, err := s.queries.LastJoinEvents(ctx, names, t.ID)
	if err != nil {
		return nil, fmt.Errorf("last events of trigger %s: %w", t.ID, err)
	}
	for _, e := range events {
		list[slices.Index(names, e.Condition)].Joined = &Arrival{Condition: e.Condition, Subject: strings.TrimPrefix(e.Subject, e.Condition+": "), SourceID: e.SourceID, At: e.At}
	}
	ignored, err := s.queries.LastIgnored(ctx, names, t.ID)
	if err != nil {
		return nil, fmt.Errorf("last ignored events of trigger %s: %w", t.ID, err)
	}
	for _, row := range ignored {
		list[slices.Index(names, row.Condition)].Ignored = new(deliveryOf(row))
	}
	polls, err := s.PollsOf(ctx, t)
	if err != nil {
		return nil, err
	}
	for _, p := range polls {
		if i := slices.Index(names, p.Condition); i >= 0 {
			list[i].Polls = &p
		}
	}
	return list, nil
}
