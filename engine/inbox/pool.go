package inbox

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/notify"
)

// poolKey begins the keys of all items about a pool that has no workers for the tasks of a project.
func poolKey(row db.InboxEventsRow, name string) string {
	return "pool/" + row.ProjectID.String() + "/" + name + "/"
}

// poolStalled notifies those who launched the executions whose tasks wait for a pool without workers.
func (s *Service) poolStalled(ctx context.Context, q *db.Queries, row db.InboxEventsRow, data payload) error {
	var shortage struct {
		Since time.Time `json:"since"`
	}
	if err := json.Unmarshal(data.New, &shortage); err != nil {
		s.unreadable(data, err)
		return nil
	}
	people, err := q.InboxPoolWaits(ctx, data.ObjectName, *row.ProjectID)
	if err != nil {
		return fmt.Errorf("find whose tasks wait for the pool %s: %w", data.ObjectName, err)
	}
	m := message.Message{
		Level: message.Error, Title: fmt.Sprintf("The pool %q has no workers, and your tasks wait", data.ObjectName),
		Text: fmt.Sprintf("Tasks have waited since %s, and no worker of this pool is connected. Start a worker of this pool, or ask an administrator to start one.", shortage.Since.UTC().Format("2006-01-02 15:04 MST")),
		URL:  s.config.PublicURL + "/executions?state=live", Incident: "pool/" + data.ObjectName,
	}
	return s.emit(ctx, q, occurrence{
		key: poolKey(row, data.ObjectName) + row.ID, project: *row.ProjectID, tenant: *row.TenantID, subject: data.ObjectName, at: row.At,
		events: []notify.Event{PoolStalled}, compose: func(notify.Event) message.Message { return m },
	}, people...)
}

// poolWorks marks the items about a pool as read.
func (s *Service) poolWorks(ctx context.Context, q *db.Queries, row db.InboxEventsRow, data payload) error {
	return q.SettleInboxQuestion(ctx, db.SettleInboxQuestionParams{
		Now: s.now(), Resolution: "A worker is connected again, or no task waits.", At: row.At, Prefix: poolKey(row, data.ObjectName),
	})
}
