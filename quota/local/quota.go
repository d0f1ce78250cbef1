// Package local decides which waiting nodes may start: it compares what they ask
// for with what there is, in order of priority and age, and gives every node
// that has to wait a reason. Local is the capacity of one machine.
package local

import (
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Key names a node of an execution.
type Key struct {
	Execution uuid.UUID
	Node      int
}

// Amount is a quantity of every resource: millicores, MiB, and process slots.
type Amount struct {
	CPUMillis int
	MemoryMiB int
	Slots     int
}

func (a Amount) plus(b Amount) Amount {
	return Amount{a.CPUMillis + b.CPUMillis, a.MemoryMiB + b.MemoryMiB, a.Slots + b.Slots}
}

func (a Amount) minus(b Amount) Amount {
	return Amount{a.CPUMillis - b.CPUMillis, a.MemoryMiB - b.MemoryMiB, a.Slots - b.Slots}
}

// fits reports whether b is no more than a in every resource that b asks for.
func (a Amount) fits(b Amount) bool {
	return (b.CPUMillis == 0 || b.CPUMillis <= a.CPUMillis) &&
		(b.MemoryMiB == 0 || b.MemoryMiB <= a.MemoryMiB) &&
		(b.Slots == 0 || b.Slots <= a.Slots)
}

// Request asks for what one attempt of a node needs. A higher Priority goes
// first, then the one that has been ready for longer.
type Request struct {
	Key      Key
	Amount   Amount
	Priority int
	Since    time.Time
}

// Refusal says why a request has to wait.
type Refusal struct {
	Key    Key
	Reason Reason
}

// The codes of a Reason.
const (
	CPUUnavailable    = "CPU_UNAVAILABLE"
	MemoryUnavailable = "MEMORY_UNAVAILABLE"
	SlotsUnavailable  = "SLOTS_UNAVAILABLE"
	BehindOthers      = "BEHIND_OTHERS" // it would fit, but one with more right waits for the room
)

// Reason says which resource is short, in that resource's unit.
type Reason struct {
	Code     string   `json:"code"`
	Message  string   `json:"message"`
	Resource string   `json:"resource,omitempty"`
	Unit     string   `json:"unit,omitempty"`
	Asked    int      `json:"asked,omitempty"`
	Free     int      `json:"free"`
	Capacity int      `json:"capacity,omitempty"`
	Holders  []Holder `json:"holders,omitempty"`
	Position int      `json:"position,omitempty"` // in the queue when the reason was given, 1 is next
}

// Holder is an execution that holds some of the missing resource.
type Holder struct {
	Execution uuid.UUID `json:"execution_id"`
	Nodes     int       `json:"nodes"`
	Amount    int       `json:"amount"`
}

// resource is one dimension of an Amount.
type resource struct {
	code, name, unit string
	of               func(Amount) int
}

func resources() [3]resource {
	return [3]resource{
		{CPUUnavailable, "cpu", "m", func(a Amount) int { return a.CPUMillis }},
		{MemoryUnavailable, "memory", "MiB", func(a Amount) int { return a.MemoryMiB }},
		{SlotsUnavailable, "process slots", "", func(a Amount) int { return a.Slots }},
	}
}

// shortage returns the first resource of which ask is more than free.
func shortage(ask, free Amount) (resource, bool) {
	for _, r := range resources() {
		if r.of(ask) > 0 && r.of(ask) > r.of(free) {
			return r, true
		}
	}
	return resource{}, false
}

func (r resource) reason(ask, free, capacity Amount) Reason {
	left := max(r.of(free), 0)
	return Reason{
		Code:     r.code,
		Message:  fmt.Sprintf("Waits for %s: asks for %d%s, %d%s of %d%s are free.", r.name, r.of(ask), r.unit, left, r.unit, r.of(capacity), r.unit),
		Resource: r.name,
		Unit:     r.unit,
		Asked:    r.of(ask),
		Free:     left,
		Capacity: r.of(capacity),
	}
}
