package contract

import "time"

// OptionList are options of an input, a page at a time.
type OptionList struct {
	Input   string       `json:"input"`
	Options []OptionBody `json:"options"`
	Next    string       `json:"next,omitempty" doc:"Value of after for the next page"`
	Free    bool         `json:"free" doc:"A launch accepts other values, too"`
	At      *time.Time   `json:"at,omitempty" doc:"When the options were fetched or computed; absent for options that are always current"`
	Stale   bool         `json:"stale,omitempty" doc:"The options are older than the definition allows, and newer ones are on the way"`
	Note    string       `json:"note,omitempty" doc:"What the options leave out"`
}

// OptionBody is one possible value of an input.
type OptionBody struct {
	Value       any          `json:"value" doc:"Value for the input"`
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
	Inputs map[string]any `json:"inputs,omitempty" doc:"Values of the other inputs by name, as far as they are known"`
}
