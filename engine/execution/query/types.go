package query

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/protect"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/engine/workflow"
)

// State is the state of an execution.
type State string

// The states of an execution.
const (
	Pending   State = "PENDING"
	Running   State = "RUNNING"
	Paused    State = "PAUSED"
	Succeeded State = "SUCCEEDED"
	Failed    State = "FAILED"
	Cancelled State = "CANCELLED"
)

// Ended reports whether an execution in s never changes again.
func (s State) Ended() bool { return s == Succeeded || s == Failed || s == Cancelled }

// ParseState returns the state that text names in any case.
func ParseState(text string) (State, error) {
	s := State(strings.ToUpper(text))
	switch s {
	case Pending, Running, Paused, Succeeded, Failed, Cancelled:
		return s, nil
	}
	return "", apperr.New(apperr.Invalid, "%q is not a state of an execution.", text)
}

// Priority orders executions that wait for the same capacity, 0 to 100.
type Priority int

// The named priorities.
const (
	Low    Priority = 25
	Normal Priority = 50
	High   Priority = 75
)

// Declared is the priority that the definition sets for its launches, or Normal.
const Declared Priority = -1

// MaxPriority is the highest priority.
const MaxPriority = 100

// ParsePriority reads LOW, NORMAL, HIGH or a number from 0 to 100; "" is NORMAL.
func ParsePriority(text string) (Priority, error) {
	switch strings.ToUpper(strings.TrimSpace(text)) {
	case "":
		return Normal, nil
	case "LOW":
		return Low, nil
	case "NORMAL":
		return Normal, nil
	case "HIGH":
		return High, nil
	}
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 0 || n > MaxPriority {
		return 0, apperr.New(apperr.Invalid, "The priority must be LOW, NORMAL, HIGH or a number from 0 to 100.")
	}
	return Priority(n), nil
}

// String names the priority when it has a name.
func (p Priority) String() string {
	switch p {
	case Low:
		return "LOW"
	case Normal:
		return "NORMAL"
	case High:
		return "HIGH"
	}
	return strconv.Itoa(int(p))
}

// Person is the user who launched an execution.
type Person struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
}

// Counts counts the nodes in each state.
type Counts struct {
	Total            int `json:"total"`
	Pending          int `json:"pending"`
	Ready            int `json:"ready"`
	Queued           int `json:"queued"`
	Running          int `json:"running"`
	AwaitingApproval int `json:"awaiting_approval"` // for the engine, these run
	Retrying         int `json:"retrying"`
	Succeeded        int `json:"succeeded"`
	Failed           int `json:"failed"`
	Skipped          int `json:"skipped"`
	Cancelled        int `json:"cancelled"`
}

// Ended returns the number of nodes that never change again.
func (c Counts) Ended() int { return c.Succeeded + c.Failed + c.Skipped + c.Cancelled }

// Failure describes why an attempt, a node or an execution failed. Code is for programs,
// Message for users.
type Failure struct {
	Code     string `json:"code"`
	Message  string `json:"message"`
	Node     string `json:"node,omitempty"`
	Attempt  int    `json:"attempt,omitempty"`
	ExitCode *int   `json:"exit_code,omitempty"`
	// Class is the kind of failure. Earlier and Omitted describe the attempts before the
	// last one.
	Class   protect.Class    `json:"class,omitempty"`
	Earlier []EarlierFailure `json:"earlier,omitempty"`
	Omitted int              `json:"omitted,omitempty"`
	// Errored means, for a group, that the cause is an error of the infrastructure and not a
	// failed task.
	Errored bool `json:"errored,omitempty"`
}

// Execution is one launch of a workflow version.
type Execution struct {
	ID                  uuid.UUID
	TenantID            uuid.UUID
	ProjectID           uuid.UUID
	WorkflowID          uuid.UUID
	VersionID           uuid.UUID
	WorkflowName        string
	Version             string
	Name                string
	Status              State
	Purpose             Purpose
	AwaitsApproval      bool // it is RUNNING, and only waits for the answers of users
	Inputs              map[string]any
	Outputs             map[string]any
	Reason              *Reason // why it is still PENDING, when a limit blocks it
	Priority            Priority
	SubmittedBy         Person
	CreatedAt           time.Time
	StartedAt           *time.Time
	FinishedAt          *time.Time
	CancelRequestedAt   *time.Time
	Error               *Failure
	Counts              Counts
	Levels              int
	LevelsDone          int
	CurrentNodes        []string   // some of the active ones; Get sets it
	SweepID             *uuid.UUID // the sweep whose run it is
	RelaunchOf          *uuid.UUID
	ResumeOf            *uuid.UUID   // the execution that it resumes
	ResumeFrom          string       // the node from which it resumes; "": the first failures
	Traceparent         string       // W3C trace context of its launch; "" when it is not traced
	EstimatedCompletion *time.Time   // estimated from earlier executions; Get and Launch set it
	TTL                 workflow.TTL // how long it is kept after its end, as its launch set it
	ExpiresAt           *time.Time   // when an ended execution is removed; nil: never. Get applies the installation's retention
	KeptAt              *time.Time   // a user keeps it, regardless of ExpiresAt
	KeptBy              string
}

// Reason describes what a node waits for. Besides the codes of package fair there are the
// codes below.
type Reason = fair.Reason

// Progress is what a running task reports about itself.
type Progress struct {
	Percent int    `json:"percent"`
	Message string `json:"message,omitempty"`
	Status  string `json:"status,omitempty"`
}

// Node is one operator inside an execution.
type Node struct {
	Index      int
	Name       string
	Level      int
	State      dag.State
	Attempt    int
	Retries    int
	Reason     *Reason
	Error      *Failure
	Progress   *Progress
	ReadyAt    *time.Time
	StartedAt  *time.Time
	FinishedAt *time.Time
	RetryAt    *time.Time
	Outputs    map[string]any
	Item       any // of a fan-out, for one of its items

	Parent     int    // the node that contains it; -1: none, it is part of the plan
	Graph      string // that contains its operator; "": the workflow's
	Place      int    // index of its operator in that graph
	ItemIndex  *int   // index in the fan-out
	FirstChild int    // index of its first child, when Children is not 0
	Children   int
	Expanded   bool // it has expanded, perhaps into no nodes

	Polling         *Polling   // of a sensor; nil: it has not begun to wait, or is another kind of operator
	OriginExecution *uuid.UUID // with its origin, the node that it continues or reuses; nil: none
	OriginUse       OriginUse
	Cache           *CacheNote // nil: its operator has no cache, or there was no lookup yet
}

// Attempt is one attempt to run a node.
type Attempt struct {
	Number       int
	QueuedAt     time.Time
	StartedAt    *time.Time
	FinishedAt   *time.Time
	Outcome      string
	Class        string        // kind of end, one of package launcher's classes; "": Outcome says everything
	ErrorClass   protect.Class // kind of failure; "" for none
	ExitCode     *int
	Message      string
	Host         string
	PID          *int
	CPUSeconds   *float64
	PeakRSSBytes *int64
	Namespace    string // the location of its pod: this field and the next two
	Pod          string
	Machine      string
	MemoryMiB    int // resources of each of its pods: this field and the next one
	GPUs         int
	GPUType      string
}

// PodEvent is an event of the pod of an attempt. The cluster keeps its own for about an
// hour.
type PodEvent struct {
	Attempt int
	At      time.Time
	Warning bool
	Reason  string // such as "FailedScheduling"
	Message string
	Count   int
}

// NodeDetail is a node with its operator, its attempts and the inputs of its latest attempt.
type NodeDetail struct {
	Node
	Operator *workflow.Operator
	Attempts []Attempt
	Inputs   map[string]any
	Origin   *Origin // nil: it has no origin
}

// Event is one entry of an execution's history; Seq counts up from 1.
type Event struct {
	ID        string
	Seq       int64
	At        time.Time
	Kind      string
	Node      string
	NodeIndex int // -1 for events of the whole execution
	Attempt   int
	Message   string
	Data      json.RawMessage
}

// WaitingNode is a node that waits for capacity.
type WaitingNode struct {
	ExecutionID  uuid.UUID
	WorkflowName string
	Execution    string
	Priority     Priority
	Index        int
	Node         string
	Since        time.Time
	Reason       Reason
	Position     int // in the queue of this machine, 0 when it is unknown
	Others       int // other waiting nodes of the same execution
}

// Results of a cache lookup.
const (
	CacheHit     = "hit"     // the result of another node is reused
	CacheMiss    = "miss"    // there was no result
	CacheIgnored = "ignored" // the launch ignores the cache
)

// CacheNote is the result of a cache lookup for a node, and its reason.
type CacheNote struct {
	Found     string     `json:"found"`
	Why       string     `json:"why"`               // a sentence
	Changes   []string   `json:"changes,omitempty"` // for a miss, the differences from the latest earlier result
	Execution *uuid.UUID `json:"execution,omitempty"`
	Node      string     `json:"node,omitempty"` // with Execution the reused result, or the latest earlier one
}

// EarlierFailure is a failure that earlier attempts of a node had in common.
type EarlierFailure struct {
	Attempts []int         `json:"attempts"`
	Class    protect.Class `json:"class,omitempty"`
	Message  string        `json:"message"`
}

// IsError reports whether the cause is not the task itself but its environment.
func (f *Failure) IsError() bool {
	if f == nil || f.Code == "start_failed" && f.ExitCode != nil { // the command does not exist
		return false
	}
	return f.Errored || !slices.Contains([]string{"exit", "timeout", "children", string(launcher.ClassOutOfMemory), string(launcher.ClassDeadline)}, f.Code)
}
