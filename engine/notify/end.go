package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/platform/units"
)

// End is an execution that has ended, compared with the executions of its workflow before it.
type End struct {
	db.ExecutionForNotificationRow
	service *Service
}

// End returns the end of an execution. It returns nil for one that has not ended or no longer exists,
// and for runs of sweeps and executions that list options, which cause no notifications. q belongs to the transaction of the caller, if
// there is one.
func (s *Service) End(ctx context.Context, q *db.Queries, id uuid.UUID) (*End, error) {
	row, err := q.ExecutionForNotification(ctx, id)
	if db.IsNoRows(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("execution %s: %w", id, err)
	}
	if row.FinishedAt == nil {
		return nil, nil
	}
	return &End{row, s}, nil
}

// Key identifies the end. A user can retry nodes of an ended execution, which then ends again.
func (e *End) Key() string { return fmt.Sprintf("end/%s/%d", e.ID, e.FinishedAt.UnixMicro()) }

// minHistory is the number of earlier successful executions that are needed to call an execution
// slow.
const minHistory = 5

// Events returns the events that describe the end, the most specific one first. An execution is
// slow if it took more than slow times the usual duration.
func (e *End) Events(slow float64) []Event {
	var events []Event
	switch e.Status {
	case "FAILED":
		if e.StatusBefore != "FAILED" {
			events = append(events, FirstFailure)
		}
		events = append(events, Failed)
	case "SUCCEEDED":
		if e.StatusBefore == "FAILED" {
			events = append(events, Recovered)
		}
		if e.StartedAt != nil && e.History >= minHistory && e.FinishedAt.Sub(*e.StartedAt).Seconds() > slow*e.UsualSeconds {
			events = append(events, Slow)
		}
		events = append(events, Succeeded)
	case "CANCELLED":
		events = append(events, Cancelled)
	}
	return events
}

// nameLetters is the length from which the name of an execution is shortened in a title.
const nameLetters = 60

// ExecutionTitle is the workflow of an execution, with the execution's own name if it has one.
func ExecutionTitle(workflow, name string) string {
	if name == "" {
		return workflow
	}
	return workflow + " “" + units.Shorten(name, nameLetters) + "”"
}

// Message is the message about one of the events.
func (e *End) Message(event Event) message.Message {
	row := e.ExecutionForNotificationRow
	took := ""
	if row.StartedAt != nil {
		took = units.Duration(row.FinishedAt.Sub(*row.StartedAt))
	}
	usual := units.Duration(time.Duration(row.UsualSeconds * float64(time.Second)))
	m := message.Message{
		URL: e.service.executionURL(row.ID), Incident: incident(row.ProjectID, row.WorkflowName),
		Data: map[string]any{
			"execution_id": row.ID, "workflow": row.WorkflowName, "version": row.Version, "status": row.Status, "submitted_by": row.SubmittedByName,
			"created_at": row.CreatedAt, "started_at": row.StartedAt, "finished_at": row.FinishedAt,
			"node": row.Node, "project": row.Project, "name": row.Name, "schedule": row.Schedule, "trigger": row.Trigger,
		},
	}
	title := ExecutionTitle(row.WorkflowName, row.Name)
	switch event {
	case FirstFailure:
		m.Level, m.Title = message.Error, title+" failed"
		if row.StatusBefore == "SUCCEEDED" {
			m.Title += " after a success"
		}
	case Failed:
		m.Level, m.Title = message.Error, title+" failed"
	case Recovered:
		m.Level, m.Title = message.OK, title+" recovered"
	case Slow:
		m.Level, m.Title = message.Warning, fmt.Sprintf("%s took %s, usually %s", title, took, usual)
	case Succeeded:
		m.Level, m.Title = message.OK, title+" succeeded"
	case Cancelled:
		m.Level, m.Title = message.Warning, title+" was cancelled"
	case Waiting, Overdue, Approval, SchedulePaused, ScheduleRefused, TriggerPaused, TriggerFailed, StageChanged, AnyEvent: // other messages
	}
	var failure struct {
		Message string `json:"message"`
	}
	if len(row.Error) > 0 && json.Unmarshal(row.Error, &failure) == nil {
		m.Text = failure.Message
		m.Data["error"] = failure.Message
	}
	m.Facts = []message.Fact{{Name: "Execution", Value: ExecutionName(row.ID, row.Name)}, {Name: "Version", Value: row.Version}, {Name: "Launched by", Value: row.SubmittedByName}}
	for _, fact := range []message.Fact{{Name: "Failed node", Value: row.Node}, {Name: "Project", Value: row.Project}, {Name: "Schedule", Value: row.Schedule}, {Name: "Trigger", Value: row.Trigger}, {Name: "Duration", Value: took}} {
		if fact.Value != "" {
			m.Facts = append(m.Facts, fact)
		}
	}
	return m
}
