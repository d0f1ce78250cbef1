package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/db"
)

// Notification is one message to one channel.
type Notification struct {
	ID        uuid.UUID
	Rule      string
	Channel   string
	Event     Event
	Message   message.Message
	State     State
	Reason    string // why it waits or was not sent, or what the receiver answered
	Attempts  int
	Log       []Attempt // the last attempts, oldest first
	CreatedAt time.Time
	DueAt     *time.Time // of the next attempt, when the channel accepts messages again; nil after the last
	SettledAt *time.Time
}

// Waits reports whether the next attempt of the message is not imminent, so that Redeliver makes a difference.
func (n Notification) Waits(now time.Time) bool {
	return n.State == Pending && n.DueAt != nil && n.DueAt.After(now.Add(lease))
}

// Page is a page of messages, newest first. Next is nil on the last page.
type Page struct {
	Notifications []Notification
	Next          *uuid.UUID
	Counts        map[State]int // of the project, without DELIVERED
}

// MaxPage is the maximum number of messages of a page.
const MaxPage = 200

// List returns messages of the current project: those of a state, or all for "". before is the Next
// of the page before.
func (s *Service) List(ctx context.Context, state State, before *uuid.UUID, limit int) (Page, error) {
	subject, err := reader(ctx)
	if err != nil {
		return Page{}, err
	}
	limit = min(max(limit, 1), MaxPage)
	rows, err := s.queries.ListNotifications(ctx, subject.ProjectID, string(state), before, int32(limit+1))
	if err != nil {
		return Page{}, fmt.Errorf("list notifications: %w", err)
	}
	page := Page{Notifications: []Notification{}, Counts: map[State]int{}}
	if len(rows) > limit {
		rows = rows[:limit]
		page.Next = &rows[limit-1].Notification.ID
	}
	for _, row := range rows {
		n, err := fromRow(row.Notification, row.OpenUntil)
		if err != nil {
			return Page{}, err
		}
		page.Notifications = append(page.Notifications, n)
	}
	counts, err := s.queries.CountNotifications(ctx, subject.ProjectID)
	if err != nil {
		return Page{}, fmt.Errorf("count notifications: %w", err)
	}
	for _, c := range counts {
		page.Counts[State(c.State)] = int(c.N)
	}
	return page, nil
}

// Get returns a message, or apperr.NotFound.
func (s *Service) Get(ctx context.Context, id uuid.UUID) (Notification, error) {
	if _, err := auth.SignedIn(ctx); err != nil {
		return Notification{}, err
	}
	row, err := s.queries.GetNotification(ctx, id)
	if db.IsNoRows(err) {
		return Notification{}, absentMessage(id)
	}
	if err != nil {
		return Notification{}, fmt.Errorf("get notification %s: %w", id, err)
	}
	if _, err := auth.AuthorizeIn(ctx, auth.ExecutionRead, row.Notification.ProjectID, absentMessage(id)); err != nil {
		return Notification{}, err
	}
	return fromRow(row.Notification, row.OpenUntil)
}

// Redeliver sends a settled message again, and one that waits for its next attempt now. If the channel receives no
// messages after failures, it receives this one. Redeliver returns Conflict for a message whose next attempt is imminent.
func (s *Service) Redeliver(ctx context.Context, id uuid.UUID) (Notification, error) {
	if _, err := auth.SignedIn(ctx); err != nil {
		return Notification{}, err
	}
	err := db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.LockNotification(ctx, id)
		if db.IsNoRows(err) {
			return absentMessage(id)
		}
		if err != nil {
			return err
		}
		subject, err := auth.AuthorizeIn(ctx, auth.SecretWrite, row.ProjectID, absentMessage(id))
		if err != nil {
			return err
		}
		open, err := q.CloseCircuit(ctx, row.ProjectID, row.Channel, s.now())
		if err != nil {
			return err
		}
		if State(row.State) == Pending && open == 0 && !row.DueAt.After(s.now().Add(lease)) {
			return apperr.New(apperr.Conflict, "The notification is still being sent. Its next attempt is at %s.", row.DueAt.Format(time.RFC3339))
		}
		if err := q.RedeliverNotification(ctx, subject.Name, new(s.now()), id); err != nil {
			return err
		}
		return audit.Record(ctx, q, audit.Entry{
			Action: "notification.redeliver", Kind: "notification", ID: id.String(), Name: row.Channel, TenantID: row.TenantID, ProjectID: row.ProjectID,
			Old: map[string]any{"state": row.State}, New: map[string]any{"state": Pending},
		})
	})
	if err != nil {
		return Notification{}, fmt.Errorf("redeliver notification %s: %w", id, err)
	}
	s.Wake()
	return s.Get(ctx, id)
}

func fromRow(row db.Notification, open *time.Time) (Notification, error) {
	n := Notification{
		ID: row.ID, Rule: row.RuleName, Channel: row.Channel, Event: Event(row.Event), State: State(row.State), Reason: row.Reason, Attempts: int(row.Attempts),
		CreatedAt: row.CreatedAt, DueAt: row.DueAt, SettledAt: row.SettledAt,
	}
	if n.DueAt != nil && open != nil && open.After(*n.DueAt) {
		n.DueAt = open
	}
	if err := json.Unmarshal(row.Message, &n.Message); err != nil {
		return n, fmt.Errorf("message of notification %s: %w", row.ID, err)
	}
	if err := json.Unmarshal(row.Log, &n.Log); err != nil {
		return n, fmt.Errorf("log of notification %s: %w", row.ID, err)
	}
	return n, nil
}
