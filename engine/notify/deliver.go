package notify

import (
	"context"
	"encoding/json"
	"errors"
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

const (
	together = 8                 // messages that a channel sends at the same time
	claimed  = 50                // messages of one pass
	lease    = 2 * message.Limit // an attempt that has not settled by then is repeated
	watches  = 5 * time.Second   // between two searches for waiting work
	cleans   = time.Hour
	maxLog   = 20 // attempts that a message remembers
)

// backoff returns the pauses between attempts, about a day in total. After the last one,
// FlowForge gives up on the message.
func backoff() []time.Duration {
	return []time.Duration{
		10 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 8 * time.Hour,
	}
}

// Run sends messages until ctx ends. The leader calls it; a second loop would do no harm, since an
// attempt claims its message first.
func (s *Service) Run(ctx context.Context) {
	ctx = auth.AsSystem(ctx)
	var watched, cleaned time.Time
	var sends sending
	defer sends.all.Wait()
	for ctx.Err() == nil {
		turn := s.config.Watch.Turn()
		rules := true // whether something may need to be watched
		if now := time.Now(); now.Sub(watched) >= watches {
			watched = now
			var err error
			rules, err = s.watch(ctx)
			s.logged(ctx, "notifications about waiting work could not be stored; the next attempt retries them", err)
		}
		err := s.sendDue(ctx, &sends)
		s.logged(ctx, "notifications could not be sent; the next attempt retries them", err)
		if now := time.Now(); now.Sub(cleaned) >= cleans {
			cleaned = now
			s.logged(ctx, "old notifications could not be removed", s.queries.DeleteOldNotifications(ctx, new(s.now().Add(-KeepMessages))))
		}
		most := s.config.Every
		if err == nil {
			most = s.untilNext(ctx)
		}
		if rules {
			most = min(most, max(watches-time.Since(watched), 0))
		}
		turn.Rest(ctx, s.wake, s.config.Every, most)
	}
}

// untilNext is how long the loop waits at most: until the next message is due.
func (s *Service) untilNext(ctx context.Context) time.Duration {
	due, err := s.queries.NextNotification(ctx)
	if db.IsNoRows(err) {
		return db.Safety
	}
	if err != nil {
		return s.config.Every
	}
	return db.RestUntil(&due, s.now(), s.config.Every)
}

func (s *Service) logged(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		s.config.Logger.Warn(what, "error", err)
	}
}

// sendDue begins an attempt for each due message of the channels that send none now. It does not wait for
// the attempts.
func (s *Service) sendDue(ctx context.Context, sends *sending) error {
	for ctx.Err() == nil {
		now := s.now()
		rows, err := s.queries.ClaimNotifications(ctx, new(now.Add(lease)), &now, sends.channels(), claimed)
		if err != nil {
			return fmt.Errorf("claim notifications: %w", err)
		}
		s.config.Crash("notify.claimed")
		channels := map[string][]db.Notification{}
		for _, row := range rows {
			channels[channelKey(row)] = append(channels[channelKey(row)], row)
		}
		for channel, rows := range channels {
			sends.start(ctx, channel, rows, func(ctx context.Context, row db.Notification) {
				s.logged(ctx, "a notification could not be sent; the next attempt retries it", s.attempt(ctx, row))
			}, s.Wake)
		}
		if len(rows) < claimed {
			break
		}
	}
	return nil
}

// Attempt is one try to send a message.
type Attempt struct {
	At     time.Time `json:"at"`
	OK     bool      `json:"ok"`
	Detail string    `json:"detail"` // what the receiver answered, or what failed
}

// attempt sends a claimed message and stores the result. It does nothing if other messages have opened the circuit of
// the channel in the meantime.
func (s *Service) attempt(ctx context.Context, row db.Notification) error {
	postponed, err := s.queries.PostponeNotification(ctx, row.ID, row.Attempts, s.now())
	if err != nil {
		return fmt.Errorf("postpone notification %s: %w", row.ID, err)
	}
	if postponed > 0 {
		return nil
	}
	var log []Attempt
	if err := json.Unmarshal(row.Log, &log); err != nil {
		return fmt.Errorf("log of notification %s: %w", row.ID, err)
	}
	answer, failed := s.send(ctx, row)
	s.config.Crash("notify.sent")
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the server stops; the claim expires, and another attempt follows
	}
	now := s.now()
	p := db.SettleNotificationParams{ID: row.ID, Attempts: row.Attempts, State: string(Delivered), Reason: answer, SettledAt: &now}
	if failed != nil {
		p.Reason = failed.Reason
		p.State, p.DueAt, p.SettledAt = next(int(row.Attempts), failed, now)
		if p.DueAt != nil {
			if *p.DueAt, err = outsideQuiet(ctx, s.queries, row.RuleID, *p.DueAt); err != nil {
				return err
			}
		}
	}
	log = append(log, Attempt{At: now, OK: failed == nil, Detail: p.Reason})
	raw, err := json.Marshal(log[max(0, len(log)-maxLog):])
	if err != nil {
		return fmt.Errorf("encode log: %w", err)
	}
	p.Log = raw
	if _, err := s.queries.SettleNotification(ctx, p); err != nil {
		return fmt.Errorf("settle notification %s: %w", row.ID, err)
	}
	return noteChannel(ctx, s.config, row, failed, now)
}

// next returns the state of a message after a failed attempt.
func next(attempts int, failed *message.SendError, now time.Time) (state string, due, settled *time.Time) {
	pauses := backoff()
	if failed.Permanent || attempts > len(pauses) {
		return string(GivenUp), nil, &now
	}
	return string(Pending), new(now.Add(max(pauses[attempts-1], failed.After))), nil
}

// outsideQuiet returns the end of the quiet hours of a rule for a time within them, and other times as they are.
func outsideQuiet(ctx context.Context, q *db.Queries, rule uuid.UUID, due time.Time) (time.Time, error) {
	hours, err := q.QuietHours(ctx, rule)
	if db.IsNoRows(err) {
		return due, nil
	}
	if err != nil {
		return due, fmt.Errorf("quiet hours of rule %s: %w", rule, err)
	}
	if zone, err := time.LoadLocation(hours.Timezone); err == nil {
		if until, quiet := QuietUntil(due, hours.QuietFrom, hours.QuietTo, zone); quiet {
			return until, nil
		}
	}
	return due, nil
}

// noteChannel records whether the channel works. Every failure counts, including a final one: a
// revoked address responds with 404.
func noteChannel(ctx context.Context, c Config, row db.Notification, failed *message.SendError, now time.Time) error {
	return db.Tx(ctx, c.Pool, func(_ pgx.Tx, q *db.Queries) error {
		if failed == nil {
			return c.Channels.Works(ctx, q, row.TenantID, row.ProjectID, row.Channel)
		}
		err := q.NoteChannelFails(ctx, db.NoteChannelFailsParams{
			ProjectID: row.ProjectID, Name: row.Channel, Now: &now, Error: failed.Reason, OpensAfter: opensAfter, OpenUntil: now.Add(opensFor),
		})
		if err != nil {
			return fmt.Errorf("note channel %s: %w", row.Channel, err)
		}
		first, err := q.ReportChannel(ctx, row.ProjectID, row.Channel, failed.Permanent, opensAfter)
		if err != nil || first == 0 {
			return err
		}
		return audit.Record(ctx, q, audit.Entry{
			Action: "channel.fail", Kind: "connection", ID: row.Channel, Name: row.Channel, TenantID: row.TenantID, ProjectID: row.ProjectID,
			New: map[string]any{"error": failed.Reason},
		})
	})
}

func (s *Service) send(ctx context.Context, row db.Notification) (string, *message.SendError) {
	var m message.Message
	if err := json.Unmarshal(row.Message, &m); err != nil {
		return "", &message.SendError{Reason: "The stored message cannot be read.", Permanent: true, Err: err}
	}
	channel, err := s.config.Channels.Channel(ctx, row.ProjectID, row.Channel)
	if code := apperr.CodeOf(err); code == apperr.NotFound || code == apperr.Conflict {
		return "", &message.SendError{Reason: apperr.MessageOf(err), Permanent: true, Err: err}
	}
	if err != nil {
		return "", &message.SendError{Reason: apperr.MessageOf(err), Err: err}
	}
	note, err := s.fill(ctx, row.ProjectID, channel.Kind, &m)
	if err != nil {
		return "", &message.SendError{Reason: "The template of the message could not be read.", Err: err}
	}
	answer, err := message.Send(ctx, s.config.Dialer, channel, m)
	if err == nil {
		return answer + note, nil
	}
	if failed, ok := errors.AsType[*message.SendError](err); ok {
		return "", failed
	}
	return "", &message.SendError{Reason: "The message could not be sent.", Err: err}
}
