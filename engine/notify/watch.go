package notify

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/db"
)

const (
	// lookBack is how far back the loop looks for waiting executions, schedules and triggers that are paused or
	// launch nothing, and stages.
	lookBack = 8 * 24 * time.Hour
	// watchPage is how many occurrences one query finds.
	watchPage = 500
)

// watch stores the messages about what waits for a person or for capacity, about executions that miss
// their deadline, about schedules and triggers that are paused or launch nothing, and about stages of models. It
// reports whether there are rules about them.
func (s *Service) watch(ctx context.Context) (rules bool, err error) {
	finders := map[Event]func(context.Context, activeRule) error{
		Waiting: s.watchWaiting, Overdue: s.watchOverdue, Approval: s.watchApprovals, SchedulePaused: s.watchSchedules, TriggerPaused: s.watchTriggers, StageChanged: s.watchStages,
		ScheduleRefused: func(ctx context.Context, rule activeRule) error {
			return s.watchStreaks(ctx, rule, ScheduleRefused, "schedule.refuse", s.refusedMessage)
		},
		TriggerFailed: func(ctx context.Context, rule activeRule) error {
			return s.watchStreaks(ctx, rule, TriggerFailed, "trigger.fail", s.failedMessage)
		},
	}
	var watched []string
	for event := range finders {
		watched = append(watched, string(event))
	}
	rows, err := s.queries.ListRulesOfEvents(ctx, watched, nil)
	if err != nil {
		return true, fmt.Errorf("find notification rules: %w", err)
	}
	active, err := activeRules(rows)
	if err != nil {
		return true, err
	}
	for _, rule := range active {
		for event, find := range finders {
			if !slices.Contains(rule.Events, string(event)) {
				continue
			}
			if err := find(ctx, rule); err != nil {
				return true, err
			}
		}
	}
	return len(rows) > 0, nil
}

// eachPage reads all rows in pages, and stores a message for each row that has none yet. The
// function read returns the rows after the given one, or the first rows for nil.
func eachPage[R any](ctx context.Context, s *Service, rule activeRule, read func(after *R) ([]R, error), occurrenceOf func(R) occurrence) error {
	var last *R
	for {
		rows, err := read(last)
		if err != nil {
			return err
		}
		found := make([]occurrence, len(rows))
		for i, row := range rows {
			found[i] = occurrenceOf(row)
		}
		if err := s.emitNew(ctx, rule, found); err != nil {
			return err
		}
		if len(rows) < watchPage {
			return nil
		}
		last = &rows[len(rows)-1]
	}
}

// emitNew stores the messages of those occurrences that do not have them yet.
func (s *Service) emitNew(ctx context.Context, rule activeRule, found []occurrence) error {
	found = slices.DeleteFunc(found, func(o occurrence) bool {
		_, channels := rule.wants(o)
		return len(channels) == 0
	})
	if len(found) == 0 {
		return nil
	}
	keys := make([]string, len(found))
	for i, o := range found {
		keys[i] = o.key
	}
	rows, err := s.queries.KnownOccurrences(ctx, rule.ID, keys)
	if err != nil {
		return fmt.Errorf("find messages of rule %s: %w", rule.Name, err)
	}
	known := make(map[db.KnownOccurrencesRow]bool, len(rows))
	for _, row := range rows {
		known[row] = true
	}
	for _, o := range found {
		_, channels := rule.wants(o)
		if !slices.ContainsFunc(channels, func(c string) bool { return !known[db.KnownOccurrencesRow{Occurrence: o.key, Channel: c}] }) {
			continue
		}
		if err := s.emit(ctx, o, rule); err != nil {
			return err
		}
	}
	return nil
}

// watchWaiting stores the messages about executions that have waited for too long. Those that already waited when
// the rule was created or turned on are among them: they still wait.
func (s *Service) watchWaiting(ctx context.Context, rule activeRule) error {
	now, limit := s.now(), time.Duration(rule.WaitingSeconds)*time.Second
	read := func(after *db.WaitingExecutionsRow) ([]db.WaitingExecutionsRow, error) {
		var id uuid.UUID
		if after != nil {
			id = after.ID
		}
		rows, err := s.queries.WaitingExecutions(ctx, db.WaitingExecutionsParams{ProjectID: rule.ProjectID, After: id, Before: now.Add(-limit), Since: now.Add(-lookBack), RowLimit: watchPage})
		if err != nil {
			return nil, fmt.Errorf("find waiting executions: %w", err)
		}
		return rows, nil
	}
	return eachPage(ctx, s, rule, read, func(row db.WaitingExecutionsRow) occurrence {
		return occurrence{
			key: fmt.Sprintf("waiting/%s/%d", row.ID, row.Since.UnixMicro()), project: row.ProjectID, tenant: row.TenantID, workflow: row.WorkflowName,
			at: later(row.Since.Add(limit), rule.since(Waiting)), events: []Event{Waiting},
			compose: func(Event) message.Message { return s.waitingMessage(row, now) },
		}
	})
}

// watchOverdue stores the messages about executions that have not finished within the deadline of the
// rule after their scheduled time or, without one, their launch.
func (s *Service) watchOverdue(ctx context.Context, rule activeRule) error {
	now, deadline := s.now(), time.Duration(rule.DeadlineSeconds)*time.Second
	since := later(rule.since(Overdue).Add(-deadline), now.Add(-lookBack))
	read := func(after *db.OverdueExecutionsRow) ([]db.OverdueExecutionsRow, error) {
		var id uuid.UUID
		if after != nil {
			id = after.ID
		}
		rows, err := s.queries.OverdueExecutions(ctx, db.OverdueExecutionsParams{ProjectID: rule.ProjectID, After: id, Before: now.Add(-deadline), Since: since, RowLimit: watchPage})
		if err != nil {
			return nil, fmt.Errorf("find overdue executions: %w", err)
		}
		return rows, nil
	}
	return eachPage(ctx, s, rule, read, func(row db.OverdueExecutionsRow) occurrence {
		at := row.StartAt.Add(deadline)
		return occurrence{
			key: "overdue/" + row.ID.String(), project: row.ProjectID, tenant: row.TenantID, workflow: row.WorkflowName, at: at, events: []Event{Overdue},
			compose: func(Event) message.Message { return s.overdueMessage(row, at, rule.Timezone) },
		}
	})
}

func (s *Service) watchApprovals(ctx context.Context, rule activeRule) error {
	since := later(rule.since(Approval), s.now().Add(-lookBack)) // messages about earlier ones may have been removed
	read := func(after *db.PendingApprovalsRow) ([]db.PendingApprovalsRow, error) {
		execution, node := uuid.UUID{}, int32(0)
		if after != nil {
			execution, node = after.ExecutionID, after.NodeIndex
		}
		rows, err := s.queries.PendingApprovals(ctx, db.PendingApprovalsParams{ProjectID: rule.ProjectID, AfterExecution: execution, AfterNode: node, Since: &since, RowLimit: watchPage})
		if err != nil {
			return nil, fmt.Errorf("find pending approvals: %w", err)
		}
		return rows, nil
	}
	return eachPage(ctx, s, rule, read, func(row db.PendingApprovalsRow) occurrence {
		// A running node has a start time.
		return occurrence{
			key: fmt.Sprintf("approval/%s/%d/%d", row.ExecutionID, row.NodeIndex, row.StartedAt.UnixMicro()), project: rule.ProjectID, tenant: rule.TenantID,
			workflow: row.WorkflowName, at: *row.StartedAt, events: []Event{Approval},
			compose: func(Event) message.Message { return s.approvalMessage(row) },
		}
	})
}

func (s *Service) watchSchedules(ctx context.Context, rule activeRule) error {
	since := later(rule.since(SchedulePaused), s.now().Add(-lookBack))
	read := func(after *db.PausedSchedulesRow) ([]db.PausedSchedulesRow, error) {
		var id uuid.UUID
		if after != nil {
			id = after.ID
		}
		rows, err := s.queries.PausedSchedules(ctx, rule.ProjectID, id, since, watchPage)
		if err != nil {
			return nil, fmt.Errorf("find paused schedules: %w", err)
		}
		return rows, nil
	}
	return eachPage(ctx, s, rule, read, func(row db.PausedSchedulesRow) occurrence {
		// A paused schedule can be edited. It is resumed before it is paused again.
		return occurrence{
			key: fmt.Sprintf("paused/%s/%d", row.ID, row.ResumedAt.UnixMicro()), project: rule.ProjectID, tenant: rule.TenantID, workflow: row.WorkflowName,
			at: row.UpdatedAt, events: []Event{SchedulePaused},
			compose: func(Event) message.Message { return s.pausedMessage(row) },
		}
	})
}

func (s *Service) watchTriggers(ctx context.Context, rule activeRule) error {
	since := later(rule.since(TriggerPaused), s.now().Add(-lookBack))
	read := func(after *db.PausedTriggersRow) ([]db.PausedTriggersRow, error) {
		var id uuid.UUID
		if after != nil {
			id = after.ID
		}
		rows, err := s.queries.PausedTriggers(ctx, rule.ProjectID, id, since, watchPage)
		if err != nil {
			return nil, fmt.Errorf("find paused triggers: %w", err)
		}
		return rows, nil
	}
	return eachPage(ctx, s, rule, read, func(row db.PausedTriggersRow) occurrence {
		return occurrence{
			key: fmt.Sprintf("paused/%s/%d", row.ID, row.UpdatedAt.UnixMicro()), project: rule.ProjectID, tenant: rule.TenantID, workflow: row.WorkflowName,
			at: row.UpdatedAt, events: []Event{TriggerPaused},
			compose: func(Event) message.Message { return s.triggerMessage(row) },
		}
	})
}

// watchStreaks stores the messages about streaks in which nothing was launched. The audit log has the first of
// each streak, as the given action.
func (s *Service) watchStreaks(ctx context.Context, rule activeRule, event Event, action string, compose func(db.FailureStreaksRow) message.Message) error {
	since := later(rule.since(event), s.now().Add(-lookBack))
	read := func(after *db.FailureStreaksRow) ([]db.FailureStreaksRow, error) {
		var id uuid.UUID
		if after != nil {
			id = after.ID
		}
		rows, err := s.queries.FailureStreaks(ctx, db.FailureStreaksParams{Action: action, ProjectID: &rule.ProjectID, After: id, Since: since, RowLimit: watchPage})
		if err != nil {
			return nil, fmt.Errorf("find %s in the audit log: %w", action, err)
		}
		return rows, nil
	}
	return eachPage(ctx, s, rule, read, func(row db.FailureStreaksRow) occurrence {
		return occurrence{
			key: "streak/" + row.ID.String(), project: rule.ProjectID, tenant: rule.TenantID, workflow: row.Workflow, at: row.At, events: []Event{event},
			compose: func(Event) message.Message { return compose(row) },
		}
	})
}

func (s *Service) watchStages(ctx context.Context, rule activeRule) error {
	since := later(rule.since(StageChanged), s.now().Add(-lookBack))
	read := func(after *db.ModelStageChangesRow) ([]db.ModelStageChangesRow, error) {
		var id uuid.UUID
		if after != nil {
			id = after.ID
		}
		rows, err := s.queries.ModelStageChanges(ctx, rule.ProjectID, id, since, watchPage)
		if err != nil {
			return nil, fmt.Errorf("find changes of stages: %w", err)
		}
		return rows, nil
	}
	return eachPage(ctx, s, rule, read, func(row db.ModelStageChangesRow) occurrence {
		return occurrence{
			key: "stage/" + row.ID.String(), project: rule.ProjectID, tenant: rule.TenantID, workflow: row.Name, at: row.At, events: []Event{StageChanged},
			compose: func(Event) message.Message { return s.stageMessage(rule.ProjectID, row) },
		}
	})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
