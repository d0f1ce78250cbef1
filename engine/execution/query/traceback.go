package query

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/flowforge/flowforge/engine/execution/stored"
)

// MaxTraceback bounds the JSON of a traceback, in bytes. It is more than the SDK writes, because
// masked secrets can be longer.
const MaxTraceback = 64 << 10

// Traceback is the exception that ended an attempt, and what led to it, the last one raised first.
// It has names of variables, never their values.
type Traceback struct {
	Exceptions []TracebackException `json:"exceptions"`
	Omitted    int                  `json:"omitted,omitempty" doc:"Number of omitted exceptions"`
}

// TracebackException is one exception of a traceback.
type TracebackException struct {
	Type     string           `json:"type" doc:"Qualified class name, such as json.decoder.JSONDecodeError"`
	Message  string           `json:"message"`
	Relation string           `json:"relation,omitempty" enum:"cause,context,part" doc:"Relation to an earlier exception: its cause, its context, or part of a group; absent for the first"`
	Frames   []TracebackFrame `json:"frames" doc:"Stack frames, innermost last, without frames of the FlowForge package"`
	Omitted  int              `json:"omitted,omitempty" doc:"Number of omitted frames"`
}

// TracebackFrame is one frame of an exception.
type TracebackFrame struct {
	File     string   `json:"file" doc:"Path within the code package or the library"`
	Line     int      `json:"line" doc:"Line that raised or called, counted from 1"`
	Function string   `json:"function,omitempty" doc:"Function name; absent at the top level of a file"`
	Library  string   `json:"library,omitempty" doc:"Library that contains the file; absent for your own code"`
	First    int      `json:"first,omitempty" doc:"Number of the first line of source"`
	Source   []string `json:"source,omitempty" doc:"Source lines around line"`
	Locals   []string `json:"locals,omitempty" doc:"Names of local variables; values are never recorded"`
	Omitted  int      `json:"omitted,omitempty" doc:"Number of omitted local variables"`
}

// TracebackOf parses the report of a task, which can write anything. It returns nil with an error
// for a report that is too large or of another form.
func TracebackOf(text string) (*Traceback, error) {
	if len(text) > MaxTraceback {
		return nil, fmt.Errorf("it has more than %d bytes", MaxTraceback)
	}
	if _, err := stored.Value(text); err != nil {
		return nil, err //nolint:wrapcheck // a sentence
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	var t Traceback
	if err := decoder.Decode(&t); err != nil {
		return nil, fmt.Errorf("it is of another form: %w", err)
	}
	if len(t.Exceptions) == 0 {
		return nil, errors.New("it has no exceptions")
	}
	for _, e := range t.Exceptions {
		switch e.Relation {
		case "", "cause", "context", "part":
		default:
			return nil, fmt.Errorf("the relation %q is unknown", e.Relation)
		}
		for _, f := range e.Frames {
			if f.Line < 1 || f.First < 0 {
				return nil, errors.New("a line number is not positive")
			}
		}
	}
	return &t, nil
}

// JSON writes a traceback for a column.
func (t *Traceback) JSON() json.RawMessage {
	raw, err := json.Marshal(t)
	if err != nil {
		return nil
	}
	return raw
}
