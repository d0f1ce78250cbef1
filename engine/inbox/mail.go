package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/db"
)

// States of the e-mail about an item.
const (
	mailNone    = "NONE"
	mailPending = "PENDING"
	mailSent    = "SENT"
	mailFailed  = "FAILED"  // after the last attempt, or rejected permanently
	mailSkipped = "SKIPPED" // the person read the item before, or may no longer see it
)

const (
	claimed    = 500               // items of one pass
	lease      = 2 * message.Limit // an attempt that has not settled by then is repeated
	maxInMail  = 50                // items that one e-mail lists
	digestName = "inbox.digest"    // the event of an e-mail about several items
)

// backoff returns the pauses between attempts. After the last one, FlowForge gives up on the
// e-mail.
func backoff() []time.Duration {
	return []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 8 * time.Hour}
}

// sendDue makes one attempt for each person with due items. Items that are due together are one
// e-mail.
func (s *Service) sendDue(ctx context.Context) error {
	if !s.config.Mail.Set() {
		return nil
	}
	for {
		now := s.now()
		until := now.Add(lease)
		rows, err := s.queries.ClaimInboxMail(ctx, until, now, claimed)
		if err != nil {
			return fmt.Errorf("claim e-mails: %w", err)
		}
		s.config.Crash("inbox.claimed")
		slices.SortFunc(rows, func(a, b db.InboxItem) int { return slices.Compare(a.ID[:], b.ID[:]) })
		var order []uuid.UUID
		mine := map[uuid.UUID][]db.InboxItem{}
		for _, row := range rows {
			if mine[row.UserID] == nil {
				order = append(order, row.UserID)
			}
			mine[row.UserID] = append(mine[row.UserID], row)
		}
		var failures []error
		for _, user := range order {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // the server stops; the claims expire, and other attempts follow
			}
			failures = append(failures, s.sendTo(ctx, user, mine[user], until))
		}
		if err := errors.Join(failures...); err != nil || len(rows) < claimed {
			return err
		}
	}
}

// sendTo sends one e-mail about the items of a user and stores the result.
func (s *Service) sendTo(ctx context.Context, user uuid.UUID, rows []db.InboxItem, until time.Time) error {
	people, err := receivers(ctx, s.queries, []uuid.UUID{user})
	if err != nil {
		return err
	}
	var hidden, ids []uuid.UUID
	var items []Item
	for _, row := range rows {
		if len(people) == 0 || people[0].email == "" || !s.config.MayRead(user, row.ProjectID) {
			hidden = append(hidden, row.ID)
			continue
		}
		item, err := itemOf(db.GetInboxItemRow{ID: row.ID, Event: row.Event, Subject: row.Subject, ProjectID: row.ProjectID, ExecutionID: row.ExecutionID, Message: row.Message, At: row.At})
		if err != nil {
			return err
		}
		items, ids = append(items, item), append(ids, row.ID)
	}
	settle := func(ids []uuid.UUID, state string, due *time.Time, reason string) error {
		if len(ids) == 0 {
			return nil
		}
		return s.queries.SettleInboxMail(ctx, db.SettleInboxMailParams{State: state, DueAt: due, Error: reason, Ids: ids, ClaimedUntil: until})
	}
	if err := settle(hidden, mailSkipped, nil, ""); err != nil || len(items) == 0 {
		return err
	}
	_, err = message.Send(ctx, s.config.Dialer, s.config.Mail.channel(people[0].email), s.letter(items))
	s.config.Crash("inbox.sent")
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the server stops; the claim expires, and another attempt follows
	}
	if err == nil {
		return settle(ids, mailSent, nil, "")
	}
	failed, ok := errors.AsType[*message.SendError](err)
	if !ok {
		failed = &message.SendError{Reason: "The e-mail could not be sent.", Err: err}
	}
	s.config.Logger.Warn("an e-mail to a person could not be sent", "user", user, "reason", failed.Reason)
	attempts := 0
	for _, row := range rows {
		attempts = max(attempts, int(row.MailAttempts))
	}
	if pauses := backoff(); !failed.Permanent && attempts <= len(pauses) {
		return settle(ids, mailPending, new(people[0].awake(s.now().Add(max(pauses[attempts-1], failed.After)))), failed.Reason)
	}
	return settle(ids, mailFailed, nil, failed.Reason)
}

// letter is the e-mail about items, oldest first.
func (s *Service) letter(items []Item) message.Message {
	settings := s.config.PublicURL + "/account/notifications"
	if len(items) == 1 {
		m := items[0].Message
		m.URL, m.Settings = s.config.PublicURL+items[0].Path, settings
		return m
	}
	last := items[len(items)-1]
	m := message.Message{
		ID: last.ID.String() + ".digest", Event: digestName, Title: fmt.Sprintf("%d notifications, the last: %s", len(items), last.Message.Title), Level: message.Info,
		URL: s.config.PublicURL + "/inbox", At: s.now(), Settings: settings,
	}
	order := []message.Level{message.Info, message.OK, message.Warning, message.Error}
	for _, item := range slices.Backward(items) {
		if slices.Index(order, item.Message.Level) > slices.Index(order, m.Level) {
			m.Level = item.Message.Level
		}
		if len(m.Entries) == maxInMail {
			continue
		}
		m.Entries = append(m.Entries, message.Entry{Title: item.Message.Title, URL: s.config.PublicURL + item.Path, Level: item.Message.Level, At: item.At})
	}
	if more := len(items) - len(m.Entries); more > 0 {
		m.Text = fmt.Sprintf("Your inbox lists %d more.", more)
	}
	return m
}
