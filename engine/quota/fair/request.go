package fair

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// Key identifies a requester or holder: a node of an execution, or the execution
// itself.
type Key struct {
	Execution uuid.UUID
	Node      int // ExecutionItself: the execution, which holds one of Executions
}

// ExecutionItself is the Node of a Key that identifies the execution.
const ExecutionItself = -1

// Request is a request for the resources of one attempt, or of a whole gang, all or
// nothing.
type Request struct {
	Key
	Project  uuid.UUID
	Amount   Amount
	Priority int       // of the execution; higher goes first inside a project
	Since    time.Time // when it became ready
	// Preemptible work may borrow, and may be stopped when the lender needs its
	// guarantee. Other work must fit in the guarantee and is never stopped.
	Preemptible bool
	// Spread allows GPUs on several machines.
	Spread   bool
	Attempt  int
	Workflow string // these two identify the history behind Expected
	Operator string
	Expected Estimate
}

// Estimate is the duration of similar attempts: the 10th, 50th and 90th percentile, and
// From how many. The zero Estimate means unknown.
type Estimate struct {
	Low, Typical, High time.Duration
	From               int
}

// Known reports whether there is a history to estimate from.
func (e Estimate) Known() bool { return e.Typical > 0 }

// EstimateOf returns the estimate from the durations of earlier attempts.
func EstimateOf(durations []time.Duration) Estimate {
	if len(durations) == 0 {
		return Estimate{}
	}
	sorted := slices.Clone(durations)
	slices.Sort(sorted)
	at := func(percent int) time.Duration {
		return max(sorted[(len(sorted)-1)*percent/100], time.Millisecond)
	}
	return Estimate{Low: at(10), Typical: at(50), High: max(sorted[((len(sorted)-1)*90+99)/100], time.Millisecond), From: len(sorted)}
}

// Placement is the part of a grant on one machine.
type Placement struct {
	Machine string `json:"machine"`
	Devices []int  `json:"devices"` // indexes of GPUs on it
}

// Grant is a request that may start. Placement is empty when it has no GPUs or when no
// machines are known, because the cluster places it. It has several entries only for a
// request with Spread.
type Grant struct {
	Request

	Placement []Placement
}

// Held is what a live reservation holds.
type Held struct {
	Request

	Placement []Placement
	Granted   time.Time // zero: not known
	Ending    bool      // it is being preempted and has not ended yet
}

// Refusal explains why a request must wait.
type Refusal struct {
	Key    Key
	Reason Reason
}

// Machine is a computer with GPUs.
type Machine struct {
	Name    string
	Devices []Device
}

// Device is one GPU; Index is unique on its machine.
type Device struct {
	Index int
	Type  string
}
