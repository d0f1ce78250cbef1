package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/db"
)

// occurrence is something that happened once.
type occurrence struct {
	key      string // identifies it within its project
	project  uuid.UUID
	tenant   uuid.UUID
	workflow string
	at       time.Time
	events   []Event // the most specific one first
	compose  func(Event) message.Message
}

// emit stores the messages of a rule about one occurrence. Repetitions change
// nothing.
func (s *Service) emit(ctx context.Context, o occurrence, rule activeRule) error {
	now := s.now()
	event, channels := rule.wants(o)
	for _, channel := range channels {
		if err := s.insertMessage(ctx, o, event, rule, channel, now); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) insertMessage(ctx context.Context, o occurrence, event Event, rule activeRule, channel string, now time.Time) error {
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("make notification id: %w", err)
	}
	m := o.compose(event)
	m.ID, m.Event, m.At = id.String(), string(event), o.at
	raw, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	p := db.InsertNotificationParams{
		ID: id, TenantID: o.tenant, ProjectID: o.project, RuleID: rule.ID, RuleName: rule.Name, Channel: channel, Event: string(event),
		Occurrence: o.key, Message: raw, State: string(Pending), CreatedAt: now, DueAt: &now,
	}
	if rule.MutedUntil != nil && rule.MutedUntil.After(now) {
		p.State, p.DueAt, p.SettledAt, p.Reason = string(Muted), nil, &now, "The rule was muted."
	} else if zone, err := time.LoadLocation(rule.Timezone); err == nil {
		if until, quiet := QuietUntil(now, rule.QuietFrom, rule.QuietTo, zone); quiet {
			p.DueAt, p.Reason = &until, "Quiet hours."
		}
	}
	if _, err := s.queries.InsertNotification(ctx, p); err != nil {
		return fmt.Errorf("store notification of rule %s: %w", rule.Name, err)
	}
	return nil
}

// ExecutionEnded stores the messages about an execution that has ended. It may be called more than
// once.
func (s *Service) ExecutionEnded(ctx context.Context, id uuid.UUID) error {
	if _, err := auth.Authorize(ctx, auth.Administer); err != nil {
		return err
	}
	end, err := s.End(ctx, s.queries, id)
	if err != nil || end == nil {
		return err
	}
	rows, err := s.queries.ListRulesOfEvents(ctx, []string{string(FirstFailure), string(Recovered), string(Failed), string(Slow), string(Succeeded), string(Cancelled)}, &end.ProjectID)
	if err != nil {
		return fmt.Errorf("find notification rules: %w", err)
	}
	rules, err := activeRules(rows)
	if err != nil {
		return err
	}
	// The factor of Slow differs between rules.
	for _, rule := range rules {
		o := occurrence{
			key: end.Key(), project: end.ProjectID, tenant: end.TenantID, workflow: end.WorkflowName, at: *end.FinishedAt, events: end.Events(rule.SlowFactor), compose: end.Message,
		}
		if err := s.emit(ctx, o, rule); err != nil {
			return err
		}
	}
	if len(rules) > 0 {
		s.Wake()
	}
	return nil
}
