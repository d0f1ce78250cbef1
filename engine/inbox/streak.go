package inbox

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/notify"
)

// streak is the entry of the audit log about the first of several runs or events that launched nothing.
type streak struct {
	Workflow string `json:"workflow"`
	Run      string `json:"run"` // or the event
	Message  string `json:"message"`
}

// scheduleRefused notifies the owner of a schedule whose run launched nothing.
func (s *Service) scheduleRefused(ctx context.Context, q *db.Queries, row db.InboxEventsRow, data payload) error {
	id, first, ok := s.streakOf(data)
	if !ok {
		return nil
	}
	schedule, err := q.InboxSchedule(ctx, id)
	if db.IsNoRows(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.emit(ctx, q, streakIn(row, first, notify.ScheduleRefused, message.Message{
		Level: message.Error, Title: fmt.Sprintf("Your schedule %q could not launch %s", schedule.Name, first.Workflow), Text: first.Message,
		URL: s.config.PublicURL + "/schedules/" + id.String(), Incident: "schedule/" + id.String(), Facts: []message.Fact{{Name: "Workflow", Value: first.Workflow}, {Name: "Run", Value: first.Run}},
	}), schedule.OwnerID)
}

// triggerFailed notifies the owner of a trigger whose event launched nothing.
func (s *Service) triggerFailed(ctx context.Context, q *db.Queries, row db.InboxEventsRow, data payload) error {
	id, first, ok := s.streakOf(data)
	if !ok {
		return nil
	}
	trigger, err := q.InboxTrigger(ctx, id)
	if db.IsNoRows(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.emit(ctx, q, streakIn(row, first, notify.TriggerFailed, message.Message{
		Level: message.Error, Title: fmt.Sprintf("Your trigger %q could not launch %s", trigger.Name, first.Workflow), Text: first.Message,
		URL: s.config.PublicURL + "/triggers/" + url.PathEscape(trigger.Name), Incident: "trigger/" + id.String(), Facts: []message.Fact{{Name: "Workflow", Value: first.Workflow}, {Name: "Event", Value: first.Run}},
	}), trigger.OwnerID)
}

// unreadable logs an entry of the audit log that cannot be read. It becomes no item, so that it does not
// stop the inbox.
func (s *Service) unreadable(data payload, err error) {
	s.config.Logger.Warn("an entry of the audit log cannot be read, so it becomes no item of inboxes", "object", data.ObjectID, "error", err)
}

// streakOf reads an entry, if it can be read.
func (s *Service) streakOf(data payload) (id uuid.UUID, first streak, ok bool) {
	id, err := uuid.Parse(data.ObjectID)
	if err == nil {
		err = json.Unmarshal(data.New, &first)
	}
	if err != nil {
		s.unreadable(data, err)
	}
	return id, first, err == nil
}

func streakIn(row db.InboxEventsRow, first streak, event notify.Event, m message.Message) occurrence {
	return occurrence{
		key: "streak/" + row.ID, project: *row.ProjectID, tenant: *row.TenantID, subject: first.Workflow, at: row.At, events: []notify.Event{event},
		compose: func(notify.Event) message.Message { return m },
	}
}
