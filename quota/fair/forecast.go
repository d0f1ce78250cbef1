package fair

import (
	"time"

	"github.com/google/uuid"
)

// Verdict is the short answer of a Forecast.
type Verdict string

// The verdicts.
const (
	FitsNow   Verdict = "now"
	WouldWait Verdict = "waits"
	NeverFits Verdict = "never"
)

// Forecast says what would happen to requests that were made now.
type Forecast struct {
	Verdict Verdict `json:"verdict"`
	// Message is "Fits now.", "Would wait about 12 min behind 3 jobs (GPU
	// A100)." or "Can never fit: needs 16 GPUs, the limit of team Vision is 8."
	Message  string   `json:"message"`
	Resource Resource `json:"resource,omitempty"`
	Ahead    int      `json:"ahead,omitempty"`
	// Wait is about how long until the last of them starts; 0 with WouldWait
	// means that nobody knows.
	Wait       time.Duration `json:"wait,omitempty"`
	StartsFrom *time.Time    `json:"starts_from,omitempty"`
	StartsTo   *time.Time    `json:"starts_to,omitempty"`
	// Reason is why the one that waits longest waits; nil with FitsNow.
	Reason *Reason `json:"reason,omitempty"`
	Key    Key     `json:"-"` // whose Reason it is
}

// Filter selects waiting requests; zero fields select all.
type Filter struct {
	Level     uuid.UUID // at or below it
	Execution uuid.UUID
	Limit     int // at most so many; 0: all
}

// Waiting is a request in the queue.
type Waiting struct {
	Request

	Position int        // in the order of admission over all levels, 1 is next
	Path     []LevelRef // from the tenant to the project
	Reason   Reason
	Offered  bool // room is set aside for it: it is about to start
}
