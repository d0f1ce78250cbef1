// Package notify sends messages about executions, approvals, schedules and models to the channels that
// the rules of a project name. A channel is a connection that receives messages. Delivery is at least
// once: every message has an ID, by which receivers recognize repetitions.
package notify

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/db"
)

// Channels finds channels and records that they work.
type Channels interface {
	// Channel returns a connection as a channel, for the engine. It returns apperr.NotFound and
	// apperr.Conflict for what is no channel.
	Channel(ctx context.Context, project uuid.UUID, name string) (message.Channel, error)
	// Works records that a channel accepted a message.
	Works(ctx context.Context, q *db.Queries, tenant, project uuid.UUID, name string) error
}

// Config configures a Service. Pool, Channels, Dialer and PublicURL are required.
type Config struct {
	Pool      *pgxpool.Pool
	Channels  Channels
	Dialer    message.Dialer
	PublicURL string // of the site, without a slash at the end; messages link to it

	// Every is how often the loop looks for due messages, at most. Zero means a second.
	Every time.Duration
	// Watch reports new messages. Nil: the loop polls at the interval Every.
	Watch *db.Watch
	// Crash, when set, is called with the name of each point where a crash must be harmless.
	Crash func(point string)

	Logger *slog.Logger
	Now    func() time.Time
}

// Service keeps rules and messages, and sends messages in the process that calls Run. It is safe
// for concurrent use.
type Service struct {
	config  Config
	queries *db.Queries
	wake    chan struct{}
}

// New returns a Service that sends nothing yet.
func New(c Config) *Service {
	if c.Every == 0 {
		c.Every = time.Second
	}
	if c.Crash == nil {
		c.Crash = func(string) {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{config: c, queries: db.New(c.Pool), wake: make(chan struct{}, 1)}
}

// now is the current time in UTC, with the precision of Postgres.
func (s *Service) now() time.Time { return s.config.Now().UTC().Truncate(time.Microsecond) }

// Wake makes the loop of this process check for due messages now.
func (s *Service) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Event is a kind of event that rules can name.
type Event string

// The events. An execution that ends causes one message for each rule and channel, about the most
// specific event that the rule names: a first failure before a failure, for example.
const (
	FirstFailure    Event = "execution.first_failure" // after a success, or of a workflow without executions
	Recovered       Event = "execution.recovered"     // the first success after a failure
	Failed          Event = "execution.failed"
	Slow            Event = "execution.slow" // took longer than usual
	Succeeded       Event = "execution.succeeded"
	Cancelled       Event = "execution.cancelled"
	Waiting         Event = "execution.waiting" // no node has started for some time
	Overdue         Event = "execution.overdue" // has not finished by its deadline
	Approval        Event = "approval.waiting"
	SchedulePaused  Event = "schedule.paused"  // by the server
	ScheduleRefused Event = "schedule.refused" // a run launched nothing; once until one launches again
	TriggerPaused   Event = "trigger.paused"   // by the server
	TriggerFailed   Event = "trigger.failed"   // a delivery launched nothing; once until one launches again
	StageChanged    Event = "model.stage_changed"
)

// Description is an event for people.
type Description struct {
	Event Event
	Title string
	About string
}

// Events returns all events in display order.
func Events() []Description {
	return []Description{
		{Failed, "Execution failed", "Every failed execution."},
		{FirstFailure, "First failure", "A workflow fails after a success, or in its first execution."},
		{Recovered, "Recovery", "A workflow succeeds after a failure."},
		{Slow, "Slower than usual", "An execution takes longer than the median duration of the last 20 successful ones."},
		{Succeeded, "Execution succeeded", "Every successful execution."},
		{Cancelled, "Execution cancelled", "Every cancelled execution."},
		{Waiting, "Waiting to start", "No node of an execution has started for some time."},
		{Overdue, "Overdue", "An execution has not finished by its deadline."},
		{Approval, "Approval needed", "A node waits for an approval."},
		{SchedulePaused, "Schedule paused", "FlowForge paused a schedule after failures, because of its stop condition, or because its owner lost access."},
		{ScheduleRefused, "Scheduled run rejected", "A run of a schedule could not launch its workflow. Sent only once until a run launches the workflow again."},
		{TriggerPaused, "Trigger paused", "FlowForge turned off a trigger after failed polls."},
		{TriggerFailed, "Trigger failed", "A trigger could not launch its workflow for an event. Sent only once until an event launches the workflow again."},
		{StageChanged, "Model stage changed", "A version of a model moves to another stage."},
	}
}

// State is the state of a message.
type State string

// The states.
const (
	Pending   State = "PENDING" // waits for its first or next attempt
	Delivered State = "DELIVERED"
	GivenUp   State = "FAILED" // after the last attempt, or rejected permanently
	Muted     State = "MUTED"  // not sent, because the rule is muted
)

// States returns all states.
func States() []State { return []State{Pending, Delivered, GivenUp, Muted} }

// KeepMessages is how long messages are kept.
const KeepMessages = 30 * 24 * time.Hour

func absentRule(name string) error {
	return apperr.New(apperr.NotFound, "There is no notification rule called %q in this project.", name)
}

func absentMessage(id uuid.UUID) error {
	return apperr.New(apperr.NotFound, "There is no notification %s.", id)
}

// reader authorizes reading rules and messages of the current project.
func reader(ctx context.Context) (auth.Subject, error) {
	return auth.Authorize(ctx, auth.ExecutionRead)
}

// editor authorizes changing rules of the current project: a rule sends information about
// executions to channels, and only users who manage the secrets of channels may set that up.
func editor(ctx context.Context) (auth.Subject, error) { return auth.Authorize(ctx, auth.SecretWrite) }
