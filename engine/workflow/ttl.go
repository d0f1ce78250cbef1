package workflow

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/platform/units"
)

// TTL is how long an execution is kept after its end; nil fields are not set.
type TTL struct {
	Completion *time.Duration // for any end state
	Success    *time.Duration
	Failure    *time.Duration // a cancelled execution counts as a failed one
}

// maxTTL is ten years. To keep executions forever, set no time.
const maxTTL = 3660 * 24 * time.Hour

// After returns how long an execution with that result is kept; false: not set. Success
// and Failure take precedence over Completion.
func (t TTL) After(succeeded bool) (time.Duration, bool) {
	d := t.Failure
	if succeeded {
		d = t.Success
	}
	if d == nil {
		d = t.Completion
	}
	if d == nil {
		return 0, false
	}
	return *d, true
}

// IsZero reports whether t is not set.
func (t TTL) IsZero() bool { return t == TTL{} }

// ParseTTL reads the decoded ttl of a definition: a time span for any end state, or a
// mapping. The paths of problems begin with ttl.
func ParseTTL(v any) (TTL, []apperr.Field) {
	p := &parser{problems: &problems{}}
	t := p.ttl(p.object(map[string]any{"ttl": v}, ""))
	return t, p.fields()
}

// MarshalJSON writes t in the form of definitions.
func (t TTL) MarshalJSON() ([]byte, error) { return json.Marshal(t.wire()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (t *TTL) UnmarshalJSON(text []byte) error {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	read, problems := ParseTTL(v)
	if len(problems) > 0 {
		return errors.New(problems[0].Message)
	}
	*t = read
	return nil
}

// ttl reads a time span for any end state, or a mapping.
func (p *parser) ttl(parent *object) TTL {
	v, at, _ := parent.get("ttl")
	switch v.(type) {
	case nil:
		return TTL{}
	case map[string]any:
	default:
		return TTL{Completion: p.lifetime(v, at)}
	}
	o := p.object(v, at)
	defer o.finish()
	read := func(name string) *time.Duration {
		v, at, given := o.get(name)
		if !given || v == nil {
			return nil
		}
		return p.lifetime(v, at)
	}
	return TTL{Completion: read("after_completion"), Success: read("after_success"), Failure: read("after_failure")}
}

func (p *parser) lifetime(v any, at string) *time.Duration {
	d, ok := parseDuration(v)
	switch {
	case !ok:
		p.add(at, "This must be a duration such as 12h or 30d.")
	case d < 0 || d > maxTTL:
		p.add(at, "This must be between 0 and 3660 days.")
	default:
		return &d
	}
	return nil
}

// ParseLifetime reads a time span such as 12h or 30d, in the format of definitions.
func ParseLifetime(text string) (time.Duration, bool) {
	d, ok := parseDuration(text)
	return d, ok && d >= 0 && d <= maxTTL
}

// ttlJSON is the canonical form of a TTL.
type ttlJSON struct {
	Completion string `json:"after_completion,omitempty"`
	Success    string `json:"after_success,omitempty"`
	Failure    string `json:"after_failure,omitempty"`
}

func (t TTL) wire() *ttlJSON {
	if t == (TTL{}) {
		return nil
	}
	write := func(d *time.Duration) string {
		if d == nil {
			return ""
		}
		return units.Compact(*d)
	}
	return &ttlJSON{write(t.Completion), write(t.Success), write(t.Failure)}
}
