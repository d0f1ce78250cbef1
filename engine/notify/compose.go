package notify

import (
	"fmt"
	"net/url"
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

// ExecutionName is an execution by its short ID and, when it has one, its name.
func ExecutionName(id uuid.UUID, name string) string {
	if name == "" {
		return shortID(id)
	}
	return name + " " + shortID(id)
}

func (s *Service) waitingMessage(row db.WaitingExecutionsRow, now time.Time) message.Message {
	return message.Message{
		Level: message.Warning, Title: fmt.Sprintf("%s has waited for %s", ExecutionTitle(row.WorkflowName, row.Name), units.Duration(now.Sub(row.Since))), Text: "No node of the execution has started.",
		URL: s.executionURL(row.ID), Incident: "waiting/" + row.ID.String(),
		Facts: []message.Fact{{Name: "Execution", Value: ExecutionName(row.ID, row.Name)}, {Name: "Version", Value: row.Version}, {Name: "Launched by", Value: row.SubmittedByName}},
		Data:  map[string]any{"execution_id": row.ID, "workflow": row.WorkflowName, "version": row.Version, "submitted_by": row.SubmittedByName, "created_at": row.CreatedAt},
	}
}

// overdueMessage has the incident of the workflow, which a later success resolves.
func (s *Service) overdueMessage(row db.OverdueExecutionsRow, deadline time.Time, timezone string) message.Message {
	zone, err := time.LoadLocation(timezone)
	if err != nil { // a newer time zone database lacks it
		zone = time.UTC
	}
	return message.Message{
		Level: message.Warning, Title: fmt.Sprintf("%s is overdue", ExecutionTitle(row.WorkflowName, row.Name)),
		Text: fmt.Sprintf("The deadline was %s. %d of %s ended.", deadline.In(zone).Format("2006-01-02 15:04 MST"), row.Ended, units.Plural(int(row.Total), "node has", "nodes have")),
		URL:  s.executionURL(row.ID), Incident: incident(row.ProjectID, row.WorkflowName),
		Facts: []message.Fact{
			{Name: "Execution", Value: ExecutionName(row.ID, row.Name)}, {Name: "Version", Value: row.Version}, {Name: "State", Value: row.Status}, {Name: "Launched by", Value: row.SubmittedByName},
		},
		Data: map[string]any{
			"execution_id": row.ID, "workflow": row.WorkflowName, "version": row.Version, "submitted_by": row.SubmittedByName, "created_at": row.CreatedAt,
			"name": row.Name, "status": row.Status, "deadline": deadline,
		},
	}
}

func (s *Service) approvalMessage(row db.PendingApprovalsRow) message.Message {
	return message.Message{
		Level: message.Info, Title: fmt.Sprintf("%s needs an approval: %s", ExecutionTitle(row.WorkflowName, row.ExecutionName), row.Name), Text: row.Question,
		URL: fmt.Sprintf("%s/nodes/%d", s.executionURL(row.ExecutionID), row.NodeIndex), Incident: fmt.Sprintf("approval/%s/%d", row.ExecutionID, row.NodeIndex),
		Facts: []message.Fact{{Name: "Execution", Value: ExecutionName(row.ExecutionID, row.ExecutionName)}, {Name: "Launched by", Value: row.SubmittedByName}},
		Data:  map[string]any{"execution_id": row.ExecutionID, "workflow": row.WorkflowName, "node": row.Name, "node_index": row.NodeIndex},
	}
}

func (s *Service) pausedMessage(row db.PausedSchedulesRow) message.Message {
	return message.Message{
		Level: message.Error, Title: fmt.Sprintf("The schedule %q was paused", row.Name), Text: row.Message,
		URL: s.config.PublicURL + "/schedules/" + row.ID.String(), Incident: "schedule/" + row.ID.String(),
		Facts: []message.Fact{{Name: "Workflow", Value: row.WorkflowName}},
		Data:  map[string]any{"schedule_id": row.ID, "schedule": row.Name, "workflow": row.WorkflowName},
	}
}

func (s *Service) triggerMessage(row db.PausedTriggersRow) message.Message {
	return message.Message{
		Level: message.Error, Title: fmt.Sprintf("The trigger %q was paused", row.Name), Text: row.Paused,
		URL: s.config.PublicURL + "/triggers/" + url.PathEscape(row.Name), Incident: "trigger/" + row.ID.String(),
		Facts: []message.Fact{{Name: "Workflow", Value: row.WorkflowName}},
		Data:  map[string]any{"trigger_id": row.ID, "trigger": row.Name, "workflow": row.WorkflowName},
	}
}

// refusedMessage has the incident of pausedMessage: both are about a schedule that launches nothing.
func (s *Service) refusedMessage(row db.FailureStreaksRow) message.Message {
	return message.Message{
		Level: message.Error, Title: fmt.Sprintf("The schedule %q could not launch %s", row.ObjectName, row.Workflow), Text: row.Message,
		URL: s.config.PublicURL + "/schedules/" + row.ObjectID, Incident: "schedule/" + row.ObjectID,
		Facts: []message.Fact{{Name: "Workflow", Value: row.Workflow}, {Name: "Run", Value: row.Run}},
		Data:  map[string]any{"schedule_id": row.ObjectID, "schedule": row.ObjectName, "workflow": row.Workflow, "run": row.Run},
	}
}

// failedMessage has the incident of triggerMessage: both are about a trigger that launches nothing.
func (s *Service) failedMessage(row db.FailureStreaksRow) message.Message {
	return message.Message{
		Level: message.Error, Title: fmt.Sprintf("The trigger %q could not launch %s", row.ObjectName, row.Workflow), Text: row.Message,
		URL: s.config.PublicURL + "/triggers/" + url.PathEscape(row.ObjectName), Incident: "trigger/" + row.ObjectID,
		Facts: []message.Fact{{Name: "Workflow", Value: row.Workflow}, {Name: "Event", Value: row.Run}},
		Data:  map[string]any{"trigger_id": row.ObjectID, "trigger": row.ObjectName, "workflow": row.Workflow, "subject": row.Run},
	}
}

func (s *Service) stageMessage(project uuid.UUID, row db.ModelStageChangesRow) message.Message {
	m := StageChange{Model: row.Name, Version: row.Version, Stage: row.Stage, By: row.ByName, Reason: row.Reason}.Message(s.config.PublicURL)
	m.Incident = "model/" + incident(project, row.Name)
	m.Facts = append(m.Facts, message.Fact{Name: "Change", Value: row.Detail})
	m.Data["detail"] = row.Detail
	return m
}

// StageChange is a change of the stage of a version of a model.
type StageChange struct {
	Model, Version string
	Stage          string // "none" without one
	By             string // who changed it
	Reason         string
}

// Message is the message about the change. site is the public address of the site.
func (c StageChange) Message(site string) message.Message {
	m := message.Message{
		Level: message.Info, Title: fmt.Sprintf("%s@%s is now in %s", c.Model, c.Version, c.Stage), Text: c.Reason,
		URL:   site + "/models/" + url.PathEscape(c.Model) + "?" + url.Values{"version": {c.Version}}.Encode(),
		Facts: []message.Fact{{Name: "Changed by", Value: c.By}},
		Data:  map[string]any{"model": c.Model, "version": c.Version, "stage": c.Stage, "changed_by": c.By, "reason": c.Reason},
	}
	if c.Stage == "none" {
		m.Title = fmt.Sprintf("%s@%s no longer has a stage", c.Model, c.Version)
	}
	return m
}
