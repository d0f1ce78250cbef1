package fair

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// Key names what holds or asks: a node of an execution, or the execution itself.
type Key struct {
	Execution uuid.UUID
	Node      int // ExecutionItself: the execution, which holds one of Executions
}

// ExecutionItself is the Node of a Key that stands for the execution.
const ExecutionItself = -1

// Request asks for what one attempt needs, or a gang as a whole, all or nothing.
type Request struct {
	Key
	Project  uuid.UUID
	Amount   Amount
	Priority int       // of the execution; higher goes first inside a project
	Since    time.Time // when it became ready
	// Preemptible work may borrow, and may be stopped for who was lent from.
	// Other work has to fit in the guarantee and is never stopped.
	Preemptible bool
	// Spread allows the GPUs to come from several machines.
	Spread   bool
	Attempt  int
	Workflow string // these two name the history that Expected comes from
	Operator string
	Expected Estimate
}

// Estimate is how long attempts like this one took: the 10th, 50th and 90th
// percentile, From how many. The zero Estimate means that nobody knows.
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

// Grant is a request that may start. Placement is empty when it has no GPUs or
// when no machines are known, because somebody else places it then. It has
// several entries only for a request with Spread.
type Grant struct {
	Request

	Placement []Placement
}

// Held is what a live reservation holds.
type Held struct {
	Request

	Placement []Placement
	Granted   time.Time // zero: not known
	Ending    bool      // it was asked to make room and has not ended yet
}

// Refusal says why a request has to wait.
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
