package inbox

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/notify"
)

const (
	feedChunk = 500              // positions of the feed that one step reads
	late      = 10 * time.Minute // of StartedLate
	slow      = 2                // of notify.Slow: times the usual duration
)

// received are the types of events in the feed that become items or settle them, besides nodes that wait
// or start. Changes of models and schedules come from the audit log, which names the person.
func received() []string {
	return []string{
		"execution.succeeded", "execution.failed", "execution.cancelled", "node.approved", "node.rejected", "node.preempted",
		"audit.schedule.pause", "audit.schedule.refuse", "audit.trigger.pause", "audit.trigger.fail", "audit.sweep.end", "audit.model.moved", "audit.model.requested", "audit.model.approved", "audit.model.rejected", "audit.model.withdrawn",
		"audit.channel.fail", "audit.channel.recover", "audit.pool.stall", "audit.pool.recover",
	}
}

// occurrence is something that happened once.
type occurrence struct {
	key       string
	project   uuid.UUID
	tenant    uuid.UUID
	subject   string // the workflow or the model
	execution *uuid.UUID
	node      string // that waits for an answer
	at        time.Time
	events    []notify.Event // the most specific one first
	compose   func(notify.Event) message.Message
}

// Receive turns the next events of the feed into items, and reports whether there are more. The items and
// the progress are one transaction, so a stop in between repeats the events and no item.
func (s *Service) Receive(ctx context.Context) (more bool, err error) {
	if _, err := auth.Authorize(ctx, auth.Administer); err != nil {
		return false, err
	}
	// A lock is a change, and must not wake idle loops.
	news, err := s.queries.InboxHasNews(ctx)
	if err != nil {
		return false, fmt.Errorf("position in the feed: %w", err)
	}
	if !news {
		return false, nil
	}
	err = db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		at, err := q.LockInboxFeed(ctx)
		if err != nil {
			return fmt.Errorf("position in the feed: %w", err)
		}
		if at.Position >= at.Newest {
			return nil
		}
		until := min(at.Newest, at.Position+feedChunk)
		rows, err := q.InboxEvents(ctx, at.Position, until, late, received())
		if err != nil {
			return fmt.Errorf("read the feed: %w", err)
		}
		for _, row := range rows {
			if err := s.receive(ctx, q, row); err != nil {
				return fmt.Errorf("event %s: %w", row.ID, err)
			}
		}
		err = q.SettleInboxApprovals(ctx, s.now(), "No longer waits for an approval.", at.Position, until)
		if err != nil {
			return fmt.Errorf("settle approvals: %w", err)
		}
		s.config.Crash("inbox.received")
		more = until < at.Newest
		return q.MoveInboxFeed(ctx, until)
	})
	return more, err
}

// payload is the data of events in the feed.
type payload struct {
	Node    string `json:"node"`
	Message string `json:"message"`

	// Of entries of the audit log.
	ObjectID   string          `json:"object_id"`
	ObjectName string          `json:"object_name"`
	Actor      string          `json:"actor"`
	ActorID    *uuid.UUID      `json:"actor_id"`
	ActorKind  string          `json:"actor_kind"`
	New        json.RawMessage `json:"new"`
}

func (s *Service) receive(ctx context.Context, q *db.Queries, row db.InboxEventsRow) error {
	var data payload
	if err := json.Unmarshal(row.Data, &data); err != nil {
		s.config.Logger.Warn("an event cannot be read, so it becomes no item of inboxes", "event", row.ID, "error", err)
		return nil
	}
	switch row.Type {
	case "execution.succeeded", "execution.failed", "execution.cancelled":
		return s.ended(ctx, q, row)
	case "node.waiting":
		return s.awaiting(ctx, q, row, data)
	case "node.approved", "node.rejected":
		return q.SettleInboxQuestion(ctx, db.SettleInboxQuestionParams{Now: s.now(), Resolution: data.Message, At: row.At, ExecutionID: row.ExecutionID, Node: data.Node})
	case "node.started", "node.preempted":
		return s.capacity(ctx, q, row, data)
	case "audit.schedule.pause":
		return s.schedulePaused(ctx, q, row, data)
	case "audit.trigger.pause":
		return s.triggerPaused(ctx, q, row, data)
	case "audit.schedule.refuse":
		return s.scheduleRefused(ctx, q, row, data)
	case "audit.trigger.fail":
		return s.triggerFailed(ctx, q, row, data)
	case "audit.channel.fail":
		return s.channelFailing(ctx, q, row, data)
	case "audit.channel.recover":
		return s.channelWorks(ctx, q, row, data)
	case "audit.pool.stall":
		return s.poolStalled(ctx, q, row, data)
	case "audit.pool.recover":
		return s.poolWorks(ctx, q, row, data)
	case "audit.sweep.end":
		return s.sweepEnded(ctx, q, row, data)
	case "audit.model.moved":
		return s.moved(ctx, q, row, data)
	case "audit.model.requested":
		return s.requested(ctx, q, row, data)
	case "audit.model.approved", "audit.model.rejected", "audit.model.withdrawn":
		verb := map[string]string{"audit.model.approved": "Approved", "audit.model.rejected": "Rejected", "audit.model.withdrawn": "Withdrawn"}[row.Type]
		return q.SettleInboxQuestion(ctx, db.SettleInboxQuestionParams{Now: s.now(), Resolution: verb + " by " + data.Actor + ".", At: row.At, Prefix: requestKey(data)})
	}
	return nil
}

// longExecution is the time from the launch to the end from which a success is worth a notification.
const longExecution = 5 * time.Minute

// ended notifies the person that launched an execution, or whose schedule did.
func (s *Service) ended(ctx context.Context, q *db.Queries, row db.InboxEventsRow) error {
	end, err := s.config.Notifications.End(ctx, q, *row.ExecutionID)
	if err != nil || end == nil {
		return err
	}
	of, err := q.InboxExecution(ctx, *row.ExecutionID)
	if db.IsNoRows(err) || err == nil && of.OfOptions {
		return nil
	}
	if err != nil {
		return err
	}
	o := occurrence{
		key: end.Key(), project: end.ProjectID, tenant: end.TenantID, subject: end.WorkflowName, execution: row.ExecutionID, at: *end.FinishedAt, events: end.Events(slow),
		compose: end.Message,
	}
	owner := of.SubmittedBy
	switch {
	case of.ScheduleID != nil:
		if of.OwnerID != nil {
			owner = *of.OwnerID
		}
		o.events = scheduled(o.events)
		o.compose = func(e notify.Event) message.Message {
			m := end.Message(e)
			if e == ScheduleFailed {
				m = end.Message(notify.Failed)
				m.Title = end.WorkflowName + " failed, launched by the schedule " + strconv.Quote(of.Schedule)
			}
			return m
		}
	case of.Automatic: // no user waits for the end
		o.events = without(o.events, notify.Succeeded, notify.Cancelled)
	case end.FinishedAt.Sub(of.CreatedAt) < longExecution: // who launched it still watches
		o.events = without(o.events, notify.Succeeded)
	}
	return s.emit(ctx, q, o, owner)
}

// scheduled returns the events of an execution that a schedule launched. Its owner does not wait for the
// end of each execution.
func scheduled(events []notify.Event) []notify.Event {
	if slices.Contains(events, notify.Failed) {
		return append([]notify.Event{ScheduleFailed}, without(events, notify.Failed)...)
	}
	return without(events, notify.Succeeded, notify.Cancelled)
}

func without(events []notify.Event, out ...notify.Event) []notify.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e notify.Event) bool { return slices.Contains(out, e) })
}

// awaiting notifies those who can answer a node that waits.
func (s *Service) awaiting(ctx context.Context, q *db.Queries, row db.InboxEventsRow, data payload) error {
	of, err := q.InboxExecution(ctx, *row.ExecutionID)
	if db.IsNoRows(err) {
		return nil
	}
	if err != nil {
		return err
	}
	people, err := q.InboxMembers(ctx, *row.ProjectID, rolesWith(auth.ExecutionLaunch))
	if err != nil {
		return fmt.Errorf("find users who can answer: %w", err)
	}
	o := occurrence{
		key: fmt.Sprintf("approval/%s", row.ID), project: *row.ProjectID, tenant: *row.TenantID, subject: of.WorkflowName, execution: row.ExecutionID, node: data.Node, at: row.At,
		events: []notify.Event{notify.Approval}, compose: func(notify.Event) message.Message { return s.question(row, of, data) },
	}
	return s.emit(ctx, q, o, append(people, of.SubmittedBy)...)
}

// capacity notifies the person that launched an execution that started late, or that lost borrowed capacity.
func (s *Service) capacity(ctx context.Context, q *db.Queries, row db.InboxEventsRow, data payload) error {
	of, err := q.InboxExecution(ctx, *row.ExecutionID)
	if db.IsNoRows(err) || err == nil && (row.OfSweep || of.OfOptions) {
		return nil
	}
	if err != nil {
		return err
	}
	event, kind := StartedLate, "late/"
	if row.Type == "node.preempted" {
		event, kind = Reclaimed, "reclaimed/"
	}
	o := occurrence{ // one for each execution, however often it happens
		key: kind + row.ExecutionID.String(), project: *row.ProjectID, tenant: *row.TenantID, subject: of.WorkflowName, execution: row.ExecutionID, at: row.At,
		events: []notify.Event{event}, compose: func(notify.Event) message.Message { return s.capacityMessage(row, of, data) },
	}
	return s.emit(ctx, q, o, of.SubmittedBy)
}

// schedulePaused notifies the owner of a schedule that FlowForge paused.
func (s *Service) schedulePaused(ctx context.Context, q *db.Queries, row db.InboxEventsRow, data payload) error {
	id, err := uuid.Parse(data.ObjectID)
	if err != nil || data.ActorKind != string(auth.RoleSystem) {
		return nil //nolint:nilerr // a person did it
	}
	schedule, err := q.InboxSchedule(ctx, id)
	if db.IsNoRows(err) {
		return nil
	}
	if err != nil {
		return err
	}
	o := occurrence{
		key: "paused/" + row.ID, project: *row.ProjectID, tenant: *row.TenantID, subject: schedule.WorkflowName, at: row.At,
		events: []notify.Event{notify.SchedulePaused}, compose: func(notify.Event) message.Message { return s.scheduleMessage(schedule) },
	}
	return s.emit(ctx, q, o, schedule.OwnerID)
}

// triggerPaused notifies the owner of a trigger that FlowForge paused.
func (s *Service) triggerPaused(ctx context.Context, q *db.Queries, row db.InboxEventsRow, data payload) error {
	id, err := uuid.Parse(data.ObjectID)
	if err != nil || data.ActorKind != string(auth.RoleSystem) {
		return nil //nolint:nilerr // a person did it
	}
	trigger, err := q.InboxTrigger(ctx, id)
	if db.IsNoRows(err) {
		return nil
	}
	if err != nil {
		return err
	}
	o := occurrence{
		key: "paused/" + row.ID, project: *row.ProjectID, tenant: *row.TenantID, subject: trigger.WorkflowName, at: row.At,
		events: []notify.Event{notify.TriggerPaused}, compose: func(notify.Event) message.Message { return s.triggerMessage(trigger) },
	}
	return s.emit(ctx, q, o, trigger.OwnerID)
}

// emit stores the item of one occurrence for each person that wants it.
func (s *Service) emit(ctx context.Context, q *db.Queries, o occurrence, ids ...uuid.UUID) error {
	if len(ids) == 0 || len(o.events) == 0 {
		return nil
	}
	people, err := receivers(ctx, q, ids)
	if err != nil {
		return err
	}
	for _, p := range people {
		if err := s.deliver(ctx, q, o, p); err != nil {
			return err
		}
	}
	return nil
}

// deliver stores the item of one person. Repetitions change nothing.
func (s *Service) deliver(ctx context.Context, q *db.Queries, o occurrence, p receiver) error {
	event, mode := p.modeOf(o.events)
	if mode.off() || p.mutes(o.subject) || !s.config.MayRead(p.id, o.project) {
		return nil
	}
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("make item id: %w", err)
	}
	m := o.compose(event)
	m.ID, m.Event, m.At = id.String(), string(event), o.at
	raw, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	now := s.now()
	item := db.InsertInboxItemParams{
		ID: id, UserID: p.id, TenantID: o.tenant, ProjectID: o.project, Event: string(event), Occurrence: o.key, Subject: o.subject, ExecutionID: o.execution, Node: o.node,
		Message: raw, At: o.at, CreatedAt: now, Shown: mode.Inbox, MailState: mailNone,
	}
	switch {
	case mode.Email && s.config.Mail.Set() && p.email != "":
		item.MailState, item.MailDueAt = mailPending, new(p.due(now))
	case mode.Email:
		item.Shown = true // no e-mail can be sent
	}
	if err := q.InsertInboxItem(ctx, item); err != nil {
		return fmt.Errorf("store item of user %s: %w", p.id, err)
	}
	return nil
}

// rolesWith returns the built-in roles that allow an action.
func rolesWith(action auth.Action) []string {
	var roles []string
	for _, g := range auth.Grants() {
		if slices.Contains(g.Actions, action) {
			roles = append(roles, g.Role)
		}
	}
	return roles
}
