package contract

import (
	"time"

	"github.com/google/uuid"
)

// EventConsumerInput is a consumer of the feed of events to create.
type EventConsumerInput struct {
	Name        string   `json:"name" minLength:"1" maxLength:"100" pattern:"^[A-Za-z0-9][A-Za-z0-9_.-]*$" doc:"Unique in the project, or among the consumers of all projects"`
	Topics      []string `json:"topics,omitempty" maxItems:"5" enum:"workflow,task,quota,artifact,audit" doc:"Default: all but audit, which needs the permission to read the audit log"`
	Types       []string `json:"types,omitempty" maxItems:"50" doc:"Types of events, or patterns such as execution.*. Default: all"`
	Start       string   `json:"start,omitempty" pattern:"^(oldest|newest|[0-9]{1,18})$" default:"newest" doc:"oldest: the oldest event that is kept. newest: only new events. A cursor: the events after it"`
	MaxTries    int      `json:"max_tries,omitempty" minimum:"1" maximum:"100" default:"10" doc:"Failures after which an event becomes a dead letter"`
	AllProjects bool     `json:"all_projects,omitempty" doc:"Events of all projects, and above them. Only administrators of the installation can use such a consumer"`
}

// EventConsumer is a consumer and how far it is behind.
type EventConsumer struct {
	Name           string     `json:"name"`
	AllProjects    bool       `json:"all_projects"`
	Sink           bool       `json:"sink" doc:"The server itself reads, and sends events to a broker"`
	Topics         []string   `json:"topics" doc:"Empty: all but audit"`
	Types          []string   `json:"types" doc:"Empty: all"`
	MaxTries       int        `json:"max_tries"`
	Cursor         string     `json:"cursor" doc:"All events up to it are acknowledged or dead letters"`
	Lag            int64      `json:"lag" doc:"Events that are not acknowledged"`
	LagMore        bool       `json:"lag_more" doc:"There are more than lag: only the next million events of the feed were searched"`
	OldestAt       *time.Time `json:"oldest_at,omitempty" doc:"When the oldest event of the lag was recorded"`
	Taken          int64      `json:"taken" doc:"Of lag: leased, waiting after a failure, or waiting behind such an event"`
	Failing        int64      `json:"failing" doc:"Of taken: waiting for the next try after a failure"`
	DeadLetters    int64      `json:"dead_letters"`
	Stopped        bool       `json:"stopped" doc:"The consumer has 10,000 dead letters and receives nothing until they are redelivered or discarded"`
	Missed         int64      `json:"missed" doc:"Events of the feed, of all types and projects, that retention removed before the consumer read them"`
	Acknowledged   int64      `json:"acknowledged" doc:"Events acknowledged since the consumer was created"`
	AcknowledgedAt *time.Time `json:"acknowledged_at,omitempty"`
	ReadAt         *time.Time `json:"read_at,omitempty"`
	Problem        string     `json:"problem,omitempty" doc:"Of a sink: why the broker does not accept events"`
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
	LeaseSeconds int `json:"lease_seconds,omitempty" minimum:"1" maximum:"43200" default:"60" doc:"Time to process them. Events that are not acknowledged by then are delivered again"`
	WaitSeconds  int `json:"wait_seconds,omitempty" minimum:"0" maximum:"30" doc:"How long to wait for the first event"`
}

// LeasedEvent is an event that a consumer processes, with extensions of CloudEvents.
type LeasedEvent struct {
	CloudEvent
	Tries     int    `json:"tries" doc:"How often it failed"`
	LastError string `json:"lasterror,omitempty" doc:"Of the last failure"`
}

// EventLease are events that a consumer processes.
type EventLease struct {
	Lease     *uuid.UUID    `json:"lease,omitempty" doc:"For acknowledge, fail and release. Absent without events"`
	ExpiresAt *time.Time    `json:"expires_at,omitempty"`
	Events    []LeasedEvent `json:"events" doc:"Process the events of an execution in this order"`
}

// AcknowledgeEvents tells that events were processed.
type AcknowledgeEvents struct {
	Lease  uuid.UUID `json:"lease"`
	Events []string  `json:"events,omitempty" maxItems:"1000" doc:"IDs. Default: all events of the lease"`
}

// FailEvents tells that events could not be processed.
type FailEvents struct {
	Lease  uuid.UUID `json:"lease"`
	Events []string  `json:"events" minItems:"1" maxItems:"1000" doc:"IDs"`
	Reason string    `json:"reason,omitempty" maxLength:"10000" doc:"The first 2,000 characters are kept"`
	Final  bool      `json:"final,omitempty" doc:"The events can never be processed and become dead letters at once"`
}

// ReleaseEvents ends a lease.
type ReleaseEvents struct {
	Lease uuid.UUID `json:"lease"`
}

// EventAnswer is what an answer of a consumer changed.
type EventAnswer struct {
	Events      []string `json:"events" doc:"IDs of the events that it concerned"`
	Absent      []string `json:"absent" doc:"IDs that the lease does not contain: they were answered before, or the lease has ended and they are delivered again"`
	DeadLetters []string `json:"dead_letters" doc:"Of events: now dead letters"`
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
	Next   string      `json:"next,omitempty" doc:"after of the next page"`
}

// SettleEvents selects dead letters.
type SettleEvents struct {
	Events []string `json:"events,omitempty" maxItems:"1000" doc:"IDs. Default: all dead letters"`
}
