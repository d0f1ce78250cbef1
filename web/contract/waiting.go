package contract

import (
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// WhyBody explains why a node or an execution waits.
type WhyBody struct {
	ExecutionID  uuid.UUID        `json:"execution_id"`
	Node         string           `json:"node,omitempty"`
	Waiting      bool             `json:"waiting"`
	Status       string           `json:"status,omitempty" doc:"Node state"`
	WaitingSince *time.Time       `json:"waiting_since,omitempty"`
	AboutToStart bool             `json:"about_to_start"`
	Reason       *query.Reason    `json:"reason,omitempty"`
	Holders      []WhyHolder      `json:"holders,omitempty" doc:"Executions that use the missing resources"`
	Queue        []QueueEntryBody `json:"queue,omitempty" doc:"Neighbouring entries in the queue"`
	Decisions    []WhyDecision    `json:"decisions,omitempty" doc:"Scheduling decisions, latest first"`
}

// WhyHolder is an execution that holds a missing resource.
type WhyHolder struct {
	ExecutionID  *uuid.UUID `json:"execution_id,omitempty" doc:"Execution ID; absent if you cannot view the execution"`
	WorkflowName string     `json:"workflow_name,omitempty"`
	Node         string     `json:"node,omitempty" doc:"Node that holds the most"`
	Nodes        int        `json:"nodes" doc:"Number of nodes of the execution that hold the resource"`
	CountsFor    string     `json:"counts_for" doc:"Team, department or tenant"`
	Amount       int64      `json:"amount"`
	Borrowed     bool       `json:"borrowed"`
	EndsFrom     *time.Time `json:"ends_from,omitempty"`
	EndsTo       *time.Time `json:"ends_to,omitempty"`
}

// WhyDecision is an event that concerns the wait.
type WhyDecision struct {
	At   time.Time `json:"at"`
	Kind string    `json:"kind"`
	Text string    `json:"text"`
}

// QueueEntryBody is a node or an execution that waits.
type QueueEntryBody struct {
	Position      int           `json:"position" doc:"Position in the order of admission across the installation; 1 is next"`
	ExecutionID   *uuid.UUID    `json:"execution_id,omitempty" doc:"Execution ID; absent if you cannot view the execution"`
	WorkflowName  string        `json:"workflow_name,omitempty"`
	ExecutionName string        `json:"execution_name,omitempty"`
	Node          string        `json:"node,omitempty" doc:"Node name; absent if the execution itself has not started"`
	ProjectID     *uuid.UUID    `json:"project_id,omitempty"`
	Priority      int           `json:"priority"`
	WaitingSince  time.Time     `json:"waiting_since"`
	Requested     fair.Amount   `json:"asked"`
	AboutToStart  bool          `json:"about_to_start"`
	Reason        *query.Reason `json:"reason,omitempty"`
}

// SemaphoreBody is a mutex or a semaphore with its users.
type SemaphoreBody struct {
	Name     string         `json:"name"`
	Workflow string         `json:"workflow,omitempty" doc:"Workflow whose max_running the semaphore implements"`
	Permits  int            `json:"permits,omitempty" doc:"Number of permits, if known"`
	Set      bool           `json:"set" doc:"True if a user overrode the number of permits in definitions"`
	SetAt    *time.Time     `json:"set_at,omitempty"`
	SetBy    string         `json:"set_by,omitempty"`
	Held     int            `json:"held"`
	Waiting  int            `json:"waiting"`
	Holders  []LockUserBody `json:"holders" doc:"Holders, longest first, up to 20"`
	Waiters  []LockUserBody `json:"waiters" doc:"Waiters, next first, up to 20"`
}

// LockUserBody is an execution or a node that holds a semaphore or waits for it.
type LockUserBody struct {
	ExecutionID  uuid.UUID `json:"execution_id"`
	WorkflowName string    `json:"workflow_name"`
	Execution    string    `json:"execution,omitempty" doc:"Execution name"`
	Node         string    `json:"node,omitempty" doc:"Node name; absent if the execution as a whole holds the lock"`
	Since        time.Time `json:"since"`
}

// SemaphoreList is one page of semaphores.
type SemaphoreList struct {
	Semaphores []SemaphoreBody `json:"semaphores"`
	NextPage   string          `json:"next_page,omitempty"`
}

// SemaphoreInputBody sets the permits of a semaphore.
type SemaphoreInputBody struct {
	Name    string `json:"name" doc:"Semaphore name, as in workflow definitions" minLength:"1" maxLength:"200" pattern:"^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$" patternDescription:"letters, digits, . _ / and -, beginning with a letter or a digit"`
	Permits int    `json:"permits" doc:"Number of permits, overriding definitions; 0 removes the override" minimum:"0" maximum:"1000000"`
	Reason  string `json:"reason,omitempty" doc:"Reason, recorded in the audit log" maxLength:"4000"`
}
