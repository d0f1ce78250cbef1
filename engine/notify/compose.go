package notify

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/platform/units"
)

// incident is the same for all messages about whether a workflow works.
func incident(project uuid.UUID, workflow string) string { return project.String() + "/" + workflow }

func (s *Service) executionURL(id uuid.UUID) string {
	return s.config.PublicURL + "/executions/" + id.String()
}

// shortID is the end of an ID, by which pages name executions.
func shortID(id uuid.UUID) string { return "#" + id.String()[30:] }

func (s *Service) endMessage(row db.ExecutionForNotificationRow, e Event) message.Message {
	took := ""
	if row.StartedAt != nil {
		took = units.Duration(row.FinishedAt.Sub(*row.StartedAt))
	}
	usual := units.Duration(time.Duration(row.UsualSeconds * float64(time.Second)))
	m := message.Message{
		URL: s.executionURL(row.ID), Incident: incident(row.ProjectID, row.WorkflowName),
		Data: map[string]any{
			"execution_id": row.ID, "workflow": row.WorkflowName, "version": row.Version, "status": row.Status, "submitted_by": row.SubmittedByName,
			"created_at": row.CreatedAt, "started_at": row.StartedAt, "finished_at": row.FinishedAt,
		},
	}
	switch e {
	case FirstFailure:
		m.Level, m.Title = message.Error, row.WorkflowName+" failed"
		if row.StatusBefore == "SUCCEEDED" {
			m.Title += " after a success"
		}
	case Failed:
		m.Level, m.Title = message.Error, row.WorkflowName+" failed"
	case Recovered:
		m.Level, m.Title = message.OK, row.WorkflowName+" recovered"
	case Slow:
		m.Level, m.Title = message.Warning, fmt.Sprintf("%s took %s, usually %s", row.WorkflowName, took, usual)
	case Succeeded:
		m.Level, m.Title = message.OK, row.WorkflowName+" succeeded"
	case Cancelled:
		m.Level, m.Title = message.Warning, row.WorkflowName+" was cancelled"
	case Waiting, Approval, SchedulePaused: // other messages
	}
	var failure struct {
		Message string `json:"message"`
	}
	if len(row.Error) > 0 && json.Unmarshal(row.Error, &failure) == nil {
		m.Text = failure.Message
		m.Data["error"] = failure.Message
	}
	m.Facts = []message.Fact{{Name: "Execution", Value: named(row.ID, row.Name)}, {Name: "Version", Value: row.Version}, {Name: "Launched by", Value: row.SubmittedByName}}
	if took != "" {
		m.Facts = append(m.Facts, message.Fact{Name: "Duration", Value: took})
	}
	return m
}

// named is an execution by its short ID and, when it has one, its name.
func named(id uuid.UUID, name string) string {
	if name == "" {
		return shortID(id)
	}
	return name + " " + shortID(id)
}

func (s *Service) waitingMessage(row db.WaitingExecutionsRow, now time.Time) message.Message {
	return message.Message{
		Level: message.Warning, Title: fmt.Sprintf("%s has waited for %s", row.WorkflowName, units.Duration(now.Sub(row.CreatedAt))), Text: "No node of the execution has started.",
		URL: s.executionURL(row.ID), Incident: "waiting/" + row.ID.String(),
		Facts: []message.Fact{{Name: "Execution", Value: named(row.ID, row.Name)}, {Name: "Version", Value: row.Version}, {Name: "Launched by", Value: row.SubmittedByName}},
		Data:  map[string]any{"execution_id": row.ID, "workflow": row.WorkflowName, "version": row.Version, "submitted_by": row.SubmittedByName, "created_at": row.CreatedAt},
	}
}

func (s *Service) approvalMessage(row db.PendingApprovalsRow) message.Message {
	return message.Message{
		Level: message.Info, Title: fmt.Sprintf("%s needs an approval: %s", row.WorkflowName, row.Name),
		URL: fmt.Sprintf("%s/nodes/%d", s.executionURL(row.ExecutionID), row.NodeIndex), Incident: fmt.Sprintf("approval/%s/%d", row.ExecutionID, row.NodeIndex),
		Facts: []message.Fact{{Name: "Execution", Value: named(row.ExecutionID, row.ExecutionName)}, {Name: "Launched by", Value: row.SubmittedByName}},
		Data:  map[string]any{"execution_id": row.ExecutionID, "workflow": row.WorkflowName, "node": row.Name, "node_index": row.NodeIndex},
	}
}

func (s *Service) pausedMessage(row db.PausedSchedulesRow) message.Message {
	return message.Message{
		Level: message.Error, Title: fmt.Sprintf("The schedule %s was paused", row.Name), Text: row.Message,
		URL: s.config.PublicURL + "/schedules/" + row.ID.String(), Incident: "schedule/" + row.ID.String(),
		Facts: []message.Fact{{Name: "Workflow", Value: row.WorkflowName}},
		Data:  map[string]any{"schedule_id": row.ID, "schedule": row.Name, "workflow": row.WorkflowName},
	}
}
