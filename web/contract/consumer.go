package contract

import (
	"time"

	"github.com/google/uuid"
)

// EventConsumerInput is a consumer of the feed of events to create.
type EventConsumerInput struct {
	Name        string   `json:"name" minLength:"1" maxLength:"100" pattern:"^[A-Za-z0-9][A-Za-z0-9_.-]*$" doc:"Name, unique in the project or among the consumers of all projects"`
	Topics      []string `json:"topics,omitempty" maxItems:"5" enum:"workflow,task,quota,artifact,audit" doc:"Topics; defaults to all except audit, which requires the permission to read the audit log"`
	Types       []string `json:"types,omitempty" maxItems:"50" doc:"Event types, or patterns such as execution.*; defaults to all"`
	Start       string   `json:"start,omitempty" pattern:"^(oldest|newest|[0-9]{1,18})$" default:"newest" doc:"Where the consumer starts. oldest is the oldest event that is kept, newest is only new events, and a cursor is the events after it"`
	MaxTries    int      `json:"max_tries,omitempty" minimum:"1" maximum:"100" default:"10" doc:"Number of failures after which an event becomes a dead letter"`
	AllProjects bool     `json:"all_projects,omitempty" doc:"True for events of all projects and events that do not belong to a project; only for administrators of the installation"`
}

// EventConsumer is a consumer and how far it is behind.
type EventConsumer struct {
	Name           string     `json:"name"`
	AllProjects    bool       `json:"all_projects"`
	Sink           bool       `json:"sink" doc:"True if the server itself reads the consumer and sends its events to a broker"`
	Topics         []string   `json:"topics" doc:"Topics; empty means all except audit"`
	Types          []string   `json:"types" doc:"Empty: all"`
	MaxTries       int        `json:"max_tries"`
	Cursor         string     `json:"cursor" doc:"Position in the feed: all events up to it are acknowledged or dead letters"`
	Lag            int64      `json:"lag" doc:"Number of events that are not acknowledged"`
	LagMore        bool       `json:"lag_more" doc:"True if there are more than lag, because only the next million events of the feed were searched"`
	OldestAt       *time.Time `json:"oldest_at,omitempty" doc:"Time of the oldest event that is not acknowledged"`
	Taken          int64      `json:"taken" doc:"Number of these events that are leased, wait for a retry, or wait behind such an event"`
	Failing        int64      `json:"failing" doc:"Number of these events that wait for a retry after a failure"`
	DeadLetters    int64      `json:"dead_letters"`
	Stopped        bool       `json:"stopped" doc:"True if the consumer has 10,000 dead letters; it receives no events until they are redelivered or discarded"`
	Missed         int64      `json:"missed" doc:"Number of events, of all types and projects, that retention removed from the feed before the consumer read them"`
	Acknowledged   int64      `json:"acknowledged" doc:"Number of events acknowledged since the consumer was created"`
	AcknowledgedAt *time.Time `json:"acknowledged_at,omitempty"`
	ReadAt         *time.Time `json:"read_at,omitempty"`
	Problem        string     `json:"problem,omitempty" doc:"Reason why the broker does not accept events, for a consumer that the server reads"`
	ProblemAt      *time.Time `json:"problem_at,omitempty"`
	CreatedBy      string     `json:"created_by"`
	CreatedAt      time.Time  `json:"created_at"`
}

// EventConsumerList are the consumers that the caller may use.
type EventConsumerList struct {
	Consumers []EventConsumer `json:"consumers"`
}

// ReadEvents requests events for a consumer.
type ReadEvents struct {
	Limit        int `json:"limit,omitempty" minimum:"1" maximum:"1000" default:"100" doc:"Maximum number of events"`
	LeaseSeconds int `json:"lease_seconds,omitempty" minimum:"1" maximum:"43200" default:"60" doc:"Duration of the lease in seconds; events that are not acknowledged by then are delivered again"`
	WaitSeconds  int `json:"wait_seconds,omitempty" minimum:"0" maximum:"30" doc:"Maximum time to wait for the first event"`
}

// LeasedEvent is an event that a consumer processes, with extensions of CloudEvents.
type LeasedEvent struct {
	CloudEvent
	Tries     int    `json:"tries" doc:"Number of failed deliveries"`
	LastError string `json:"lasterror,omitempty" doc:"Reason of the last failure"`
}

// EventLease are events that a consumer processes.
type EventLease struct {
	Lease     *uuid.UUID    `json:"lease,omitempty" doc:"Lease ID for acknowledge, fail and release; absent if there are no events"`
	ExpiresAt *time.Time    `json:"expires_at,omitempty"`
	Events    []LeasedEvent `json:"events" doc:"Leased events; process the events of an execution in this order"`
}

// AcknowledgeEvents tells that events were processed.
type AcknowledgeEvents struct {
	Lease  uuid.UUID `json:"lease"`
	Events []string  `json:"events,omitempty" maxItems:"1000" doc:"Event IDs; defaults to all events of the lease"`
}

// FailEvents tells that events could not be processed.
type FailEvents struct {
	Lease  uuid.UUID `json:"lease"`
	Events []string  `json:"events" minItems:"1" maxItems:"1000" doc:"IDs"`
	Reason string    `json:"reason,omitempty" maxLength:"10000" doc:"Reason of the failure; the first 2,000 characters are stored"`
	Final  bool      `json:"final,omitempty" doc:"True if the events can never be processed; they become dead letters immediately"`
}

// ReleaseEvents ends a lease.
type ReleaseEvents struct {
	Lease uuid.UUID `json:"lease"`
}

// EventAnswer is the result of an acknowledgement or a failure.
type EventAnswer struct {
	Events      []string `json:"events" doc:"IDs of the affected events"`
	Absent      []string `json:"absent" doc:"IDs that the lease does not contain, because the events were handled before, or because the lease has expired and they are delivered again"`
	DeadLetters []string `json:"dead_letters" doc:"IDs of these events that became dead letters"`
}

// ReleasedEvents tells how many events a lease had.
type ReleasedEvents struct {
	Released int64 `json:"released"`
}

// DeadEvent is an event that a consumer could not process, with extensions of CloudEvents.
type DeadEvent struct {
	LeasedEvent
	FailedAt *time.Time `json:"failedat,omitempty"`
	DeadAt   *time.Time `json:"deadat,omitempty"`
}

// DeadEventList is a page of dead letters, oldest event first.
type DeadEventList struct {
	Events []DeadEvent `json:"events"`
	Next   string      `json:"next,omitempty" doc:"Cursor for the next page; pass it as after"`
}

// SettleEvents selects dead letters.
type SettleEvents struct {
	Events []string `json:"events,omitempty" maxItems:"1000" doc:"Event IDs; defaults to all dead letters"`
}
