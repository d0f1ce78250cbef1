package query

import (
	"time"

	"github.com/google/uuid"
)

// Polling is what a node with a sensor has polled so far.
type Polling struct {
	Since   time.Time  `json:"since"` // the beginning of the wait
	Polls   int        `json:"polls"`
	At      *time.Time `json:"at,omitempty"`   // the end of the last poll
	Last    string     `json:"last,omitempty"` // why the last poll did not meet the condition
	Next    *time.Time `json:"next,omitempty"` // nil: a poll runs, or none follows
	Attempt int        `json:"attempt,omitempty"`
}

// LeastID is the lowest ID that an execution launched at t or later can have.
func LeastID(t time.Time) uuid.UUID {
	if id := floorOf(t); id != nil {
		return *id
	}
	return uuid.Nil
}
