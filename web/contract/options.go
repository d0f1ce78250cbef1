package contract

import (
	"time"

	"github.com/google/uuid"
)

// OptionList are options of an input, a page at a time.
type OptionList struct {
	Input   string       `json:"input"`
	Options []OptionBody `json:"options"`
	Next    string       `json:"next,omitempty" doc:"Cursor for the next page; pass it as after"`
	Free    bool         `json:"free" doc:"True if launches also accept other values"`
	At      *time.Time   `json:"at,omitempty" doc:"Time when the options were fetched or computed; absent for options that are always current"`
	Stale   bool         `json:"stale,omitempty" doc:"True if newer options are being fetched or computed"`
	Note    string       `json:"note,omitempty" doc:"Note about omitted options, or the reason why the last refresh failed"`

	FailedExecution *uuid.UUID `json:"failed_execution,omitempty" doc:"Execution that failed to refresh the options"`
}

// OptionBody is one possible value of an input.
type OptionBody struct {
	Value       any          `json:"value" doc:"Value to set for the input"`
	Label       string       `json:"label,omitempty"`
	Description string       `json:"description,omitempty"`
	Preview     []OptionFact `json:"preview,omitempty"`
}

// OptionFact helps to choose an option.
type OptionFact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// OptionInputs are the values of other inputs that options depend on.
type OptionInputs struct {
	Inputs map[string]any `json:"inputs,omitempty" doc:"Known values of the other inputs, by name"`
}
