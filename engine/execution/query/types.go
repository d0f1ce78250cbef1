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

// State is where an execution stands.
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
		return 0, apperr.New(apperr.Invalid, "The priority has to be LOW, NORMAL, HIGH or a number from 0 to 100.")
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

// Person is who launched an execution.
type Person struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
}

// Counts says how many nodes are in each state.
type Counts struct {
	Total     int `json:"total"`
	Pending   int `json:"pending"`
	Ready     int `json:"ready"`
	Queued    int `json:"queued"`
	Running   int `json:"running"`
	Retrying  int `json:"retrying"`
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	Skipped   int `json:"skipped"`
	Cancelled int `json:"cancelled"`
}

// Ended returns how many nodes never change again.
func (c Counts) Ended() int { return c.Succeeded + c.Failed + c.Skipped + c.Cancelled }

// Failure says why something ended badly. Code is for programs, Message for people.
type Failure struct {
	Code     string `json:"code"`
	Message  string `json:"message"`
	Node     string `json:"node,omitempty"`
	Attempt  int    `json:"attempt,omitempty"`
	ExitCode *int   `json:"exit_code,omitempty"`
	// Class is what kind of failure it is. Earlier and Omitted are about the attempts
	// before the last one.
	Class   protect.Class    `json:"class,omitempty"`
	Earlier []EarlierFailure `json:"earlier,omitempty"`
	Omitted int              `json:"omitted,omitempty"`
	// Errored says of what became other nodes that not its tasks failed but something
	// around them.
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
	Inputs              map[string]any
	Outputs             map[string]any
	Reason              *Reason // why it is still PENDING, when a limit holds it back
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
	CurrentNodes        []string // some of the active ones; Get fills it
	RelaunchOf          *uuid.UUID
	ResumeOf            *uuid.UUID   // the execution that it goes on from
	ResumeFrom          string       // the node from which it does; "": the first failures
	Traceparent         string       // W3C trace context of its launch; "" when it is not traced
	EstimatedCompletion *time.Time   // from earlier executions; Get and Launch fill it
	TTL                 workflow.TTL // how long it is kept after its end, as far as its launch says
	ExpiresAt           *time.Time   // when an ended execution is removed; nil: never. Get fills in the installation's rule
	KeptAt              *time.Time   // somebody keeps it, whatever ExpiresAt says
	KeptBy              string
}

// Reason says what a node waits for. Besides the codes of package fair there
// are the ones below.
type Reason = fair.Reason

// Progress is what a running task says of itself.
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
	Item       any // of a fan-out, when it is an item

	Parent     int    // the node that became it, among others; -1: none, it is of the plan
	Graph      string // whose operator it is; "": the workflow's
	Place      int    // of its operator in that graph
	ItemIndex  *int   // which item of a fan-out it is
	FirstChild int    // what it became, when Children is not 0
	Children   int
	Expanded   bool // it has become others, maybe none

	OriginExecution *uuid.UUID // with the node that it goes on from; nil: it goes on from nothing
	OriginUse       OriginUse
	Cache           *CacheNote // nil: its operator has no cache, or it was not looked for yet
}

// Attempt is one try at running a node.
type Attempt struct {
	Number       int
	QueuedAt     time.Time
	StartedAt    *time.Time
	FinishedAt   *time.Time
	Outcome      string
	Class        string        // what kind of end, one of package launcher's classes; "": nothing to add to Outcome
	ErrorClass   protect.Class // what kind of failure that is; "" for none
	ExitCode     *int
	Message      string
	Host         string
	PID          *int
	CPUSeconds   *float64
	PeakRSSBytes *int64
	Namespace    string // these three are where its pod is, in a cluster
	Pod          string
	Machine      string
	MemoryMiB    int // these two are what each of its pods has
	GPUs         int
	GPUType      string
}

// PodEvent is an event of the pod of an attempt, such as the cluster keeps for an hour.
type PodEvent struct {
	Attempt int
	At      time.Time
	Warning bool
	Reason  string // such as "FailedScheduling"
	Message string
	Count   int
}

// NodeDetail is a node with its operator, its attempts and the inputs that its
// latest attempt got.
type NodeDetail struct {
	Node
	Operator *workflow.Operator
	Attempts []Attempt
	Inputs   map[string]any
	Origin   *Origin // nil: it goes on from nothing
}

// Event is one entry of an execution's history; Seq counts up from 1.
type Event struct {
	ID        string
	Seq       int64
	At        time.Time
	Kind      string
	Node      string
	NodeIndex int // -1 when it is about the whole execution
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
	Position     int // in the queue of this machine, 0 when it is not known here
	Others       int // nodes of the same execution that wait too
}

// What was found of a node in the cache.
const (
	CacheHit     = "hit"     // it has the result of another
	CacheMiss    = "miss"    // there was none
	CacheIgnored = "ignored" // the launch asked to take none
)

// CacheNote is what was found of a node in the cache, and why.
type CacheNote struct {
	Found     string     `json:"found"`
	Why       string     `json:"why"`               // a sentence
	Changes   []string   `json:"changes,omitempty"` // of a miss, what differs from the latest result before
	Execution *uuid.UUID `json:"execution,omitempty"`
	Node      string     `json:"node,omitempty"` // these two are the result that is taken, or the latest before
}

// EarlierFailure is how attempts before the last one of a node failed, which all said
// the same.
type EarlierFailure struct {
	Attempts []int         `json:"attempts"`
	Class    protect.Class `json:"class,omitempty"`
	Message  string        `json:"message"`
}

// IsError reports whether not the task itself failed but something around it.
func (f *Failure) IsError() bool {
	if f == nil || f.Code == "start_failed" && f.ExitCode != nil { // there is no such command
		return false
	}
	return f.Errored || !slices.Contains([]string{"exit", "timeout", "children", string(launcher.ClassOutOfMemory), string(launcher.ClassDeadline)}, f.Code)
}
