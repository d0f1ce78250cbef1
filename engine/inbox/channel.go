package inbox

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/notify"
)

// channelKey begins the keys of all items about a channel.
func channelKey(row db.InboxEventsRow, name string) string {
	return "channel/" + row.ProjectID.String() + "/" + name + "/"
}

// channelFailing notifies those who can repair a channel, and the user who last changed it.
func (s *Service) channelFailing(ctx context.Context, q *db.Queries, row db.InboxEventsRow, data payload) error {
	var failure struct {
		Error string `json:"error"`
	}
	if err := json.Unmarshal(data.New, &failure); err != nil {
		s.unreadable(data, err)
		return nil
	}
	people, err := q.InboxMembers(ctx, *row.ProjectID, rolesWith(auth.SecretWrite))
	if err != nil {
		return fmt.Errorf("find users who can repair the channel %s: %w", data.ObjectName, err)
	}
	editor, err := q.InboxChannelEditor(ctx, data.ObjectName, *row.ProjectID)
	if err != nil && !db.IsNoRows(err) {
		return fmt.Errorf("find who changed the channel %s: %w", data.ObjectName, err)
	}
	m := message.Message{
		Level: message.Error, Title: fmt.Sprintf("The channel %q does not receive messages", data.ObjectName), Text: strings.TrimSpace(failure.Error + " Correct the channel and test it. FlowForge then sends the messages that wait."),
		URL: s.config.PublicURL + "/notifications", Incident: "channel/" + data.ObjectName,
	}
	return s.emit(ctx, q, occurrence{
		key: channelKey(row, data.ObjectName) + row.ID, project: *row.ProjectID, tenant: *row.TenantID, subject: data.ObjectName, at: row.At,
		events: []notify.Event{ChannelFailing}, compose: func(notify.Event) message.Message { return m },
	}, append(people, editor)...)
}

// channelWorks marks the items about a channel as read.
func (s *Service) channelWorks(ctx context.Context, q *db.Queries, row db.InboxEventsRow, data payload) error {
	return q.SettleInboxQuestion(ctx, db.SettleInboxQuestionParams{Now: s.now(), Resolution: "The channel works again.", At: row.At, Prefix: channelKey(row, data.ObjectName)})
}
