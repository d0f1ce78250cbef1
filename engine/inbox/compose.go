package inbox

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/notify"
	"github.com/flowforge/flowforge/platform/units"
)

func (s *Service) executionURL(id uuid.UUID) string {
	return s.config.PublicURL + "/executions/" + id.String()
}

func executionFacts(id uuid.UUID, of db.InboxExecutionRow) []message.Fact {
	return []message.Fact{{Name: "Execution", Value: notify.ExecutionName(id, of.Name)}, {Name: "Version", Value: of.Version}, {Name: "Launched by", Value: of.SubmittedByName}}
}

// question is the message about a node that waits for an answer. It leads to the form.
func (s *Service) question(row db.InboxEventsRow, of db.InboxExecutionRow, data payload) message.Message {
	return message.Message{
		Level: message.Info, Title: notify.ExecutionTitle(of.WorkflowName, of.Name) + " needs an approval: " + data.Node, Text: data.Message,
		URL:      s.executionURL(*row.ExecutionID) + "/nodes/" + url.PathEscape(data.Node) + "/answer",
		Incident: "approval/" + row.ExecutionID.String() + "/" + data.Node, Facts: executionFacts(*row.ExecutionID, of),
	}
}

// capacityMessage is the message about an execution that started late, or whose task was
// preempted.
func (s *Service) capacityMessage(row db.InboxEventsRow, of db.InboxExecutionRow, data payload) message.Message {
	m := message.Message{
		Level: message.Info, Title: fmt.Sprintf("%s started after waiting for %s", notify.ExecutionTitle(of.WorkflowName, of.Name), units.Duration(row.At.Sub(row.WaitsSince))),
		URL: s.executionURL(*row.ExecutionID), Incident: "execution/" + row.ExecutionID.String(), Facts: executionFacts(*row.ExecutionID, of),
	}
	if row.Type == "node.preempted" {
		m.Level, m.Title, m.Text = message.Warning, notify.ExecutionTitle(of.WorkflowName, of.Name)+" lost borrowed capacity: "+data.Node+" waits again", data.Message
	}
	return m
}

func (s *Service) scheduleMessage(row db.InboxScheduleRow) message.Message {
	return message.Message{
		Level: message.Error, Title: fmt.Sprintf("Your schedule %q was paused", row.Name), Text: row.Message,
		URL: s.config.PublicURL + "/schedules/" + row.ID.String(), Incident: "schedule/" + row.ID.String(), Facts: []message.Fact{{Name: "Workflow", Value: row.WorkflowName}},
	}
}

func (s *Service) triggerMessage(row db.InboxTriggerRow) message.Message {
	return message.Message{
		Level: message.Error, Title: fmt.Sprintf("Your trigger %q was turned off", row.Name), Text: row.Paused,
		URL: s.config.PublicURL + "/triggers/" + url.PathEscape(row.Name), Incident: "trigger/" + row.ID.String(), Facts: []message.Fact{{Name: "Workflow", Value: row.WorkflowName}},
	}
}

// stageChange is the content of audit log entries about models.
type stageChange struct {
	Stage  string `json:"stage"`
	Reason string `json:"reason"`
}

// modelOf reads the model, the version and the change of an entry of the audit log about a model.
func modelOf(data payload) (name, version string, change stageChange, err error) {
	name, version, _ = strings.Cut(data.ObjectName, "@")
	if len(data.New) > 0 {
		err = json.Unmarshal(data.New, &change)
	}
	return name, version, change, err
}

// moved notifies the members of a project and the person who registered a model of its new stage, except
// the person who moved it.
func (s *Service) moved(ctx context.Context, q *db.Queries, row db.InboxEventsRow, data payload) error {
	name, version, change, err := modelOf(data)
	if err != nil {
		s.unreadable(data, err)
		return nil
	}
	people, err := s.modelPeople(ctx, q, row, data, auth.CatalogueRead)
	if err != nil {
		return err
	}
	if id, err := uuid.Parse(data.ObjectID); err == nil {
		registrant, err := q.InboxRegistrant(ctx, id)
		if err != nil && !db.IsNoRows(err) {
			return fmt.Errorf("find who registered %s: %w", data.ObjectName, err)
		}
		if data.ActorID == nil || registrant != *data.ActorID {
			people = append(people, registrant)
		}
	}
	stage := notify.StageChange{Model: name, Version: version, Stage: change.Stage, By: data.Actor, Reason: change.Reason}
	return s.emit(ctx, q, occurrence{
		key: "stage/" + row.ID, project: *row.ProjectID, tenant: *row.TenantID, subject: name, at: row.At, events: []notify.Event{notify.StageChanged},
		compose: func(notify.Event) message.Message { return stage.Message(s.config.PublicURL) },
	}, people...)
}

// requestKey begins the keys of all requests about a version of a model.
func requestKey(data payload) string { return "request/" + data.ObjectID + "/" }

// requested notifies those who can decide about a request, except the person who made it.
func (s *Service) requested(ctx context.Context, q *db.Queries, row db.InboxEventsRow, data payload) error {
	name, version, change, err := modelOf(data)
	if err != nil {
		s.unreadable(data, err)
		return nil
	}
	people, err := s.modelPeople(ctx, q, row, data, auth.CatalogueWrite)
	if err != nil {
		return err
	}
	m := notify.StageChange{Model: name, Version: version, Stage: change.Stage, By: data.Actor, Reason: change.Reason}.Message(s.config.PublicURL)
	m.Title = fmt.Sprintf("%s requests to move %s to %s", data.Actor, data.ObjectName, change.Stage)
	m.Facts = []message.Fact{{Name: "Requested by", Value: data.Actor}}
	return s.emit(ctx, q, occurrence{
		key: requestKey(data) + row.ID, project: *row.ProjectID, tenant: *row.TenantID, subject: name, at: row.At, events: []notify.Event{ModelRequest},
		compose: func(notify.Event) message.Message { return m },
	}, people...)
}

// modelPeople are the members of the project who may do action, without the actor of the event.
func (s *Service) modelPeople(ctx context.Context, q *db.Queries, row db.InboxEventsRow, data payload, action auth.Action) ([]uuid.UUID, error) {
	people, err := q.InboxMembers(ctx, *row.ProjectID, rolesWith(action))
	if err != nil {
		return nil, fmt.Errorf("find members: %w", err)
	}
	return slices.DeleteFunc(people, func(id uuid.UUID) bool { return data.ActorID != nil && id == *data.ActorID }), nil
}
