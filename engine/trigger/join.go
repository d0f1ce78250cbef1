package trigger

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/flowforge/flowforge/engine/expression"
	"github.com/flowforge/flowforge/platform/units"
)

// Join defines the events that a trigger of OnAll waits for: an event for each condition, with
// the same key, within a window.
type Join struct {
	All    []Condition `json:"all,omitempty"`
	Within string      `json:"within,omitempty"` // a duration, such as 24h
	By     string      `json:"by,omitempty"`     // an expression whose value is the key; "": all events have the same
}

// Limits of joins.
const (
	DefaultWithin = "24 h"
	MinWithin     = time.Minute
	MaxWithin     = 31 * 24 * time.Hour
	MaxConditions = 10
	// KeepKeys is how long a join remembers the keys for which it has launched.
	KeepKeys = 365 * 24 * time.Hour

	// joinName is the name by which expressions read the key and the times of a join.
	joinName = "join"
	maxKey   = 200
)

func (j *Join) filled() *Join {
	if j == nil {
		j = &Join{}
	}
	out := Join{Within: strings.TrimSpace(j.Within), By: strings.TrimSpace(j.By)}
	if out.Within == "" {
		out.Within = DefaultWithin
	}
	for _, c := range j.All {
		out.All = append(out.All, c.filled())
	}
	return &out
}

// problems returns the invalid fields of a join.
func (j *Join) problems(refuse refuser) {
	refuse(len(j.All) < 2 || len(j.All) > MaxConditions, "all", "Enter 2 to %d conditions.", MaxConditions)
	within, err := units.ParseDuration(j.Within)
	if err != nil {
		refuse(true, "within", "%s", err)
	} else {
		refuse(within < MinWithin || within > MaxWithin, "within", "Enter %s to %s.", units.Exact(MinWithin), units.Period(MaxWithin))
	}
	refuse(utf8.RuneCountInString(j.By) > maxExpression, "by", "Enter at most %d characters.", maxExpression)
	known := map[string]bool{joinName: true}
	for i, c := range j.All {
		c.joinProblems(j.By, known, refuse.at(fmt.Sprintf("all.%d", i)))
		known[c.Name] = true
	}
}

const maxExpression = 4096

// window is the time within which all conditions must have an event.
func (j *Join) window() time.Duration {
	within, err := units.ParseDuration(j.Within)
	if err != nil {
		return MinWithin // it was checked when it was stored
	}
	return within
}

// keyOf returns the key of an event for a condition, or the problem of the key.
func (j *Join) keyOf(c Condition, env map[string]any) (key, problem string) {
	text := c.By
	if text == "" {
		text = j.By
	}
	if text == "" {
		return "", ""
	}
	e, err := expression.Parse(text)
	if err != nil {
		return "", err.Error()
	}
	v, err := e.Value(env)
	if err != nil {
		return "", err.Error()
	}
	switch v := v.(type) {
	case string:
		key = v
	case nil, []any, map[string]any:
		return "", "Its value is not a string, a number or a Boolean."
	default:
		key = fmt.Sprint(v)
	}
	if key == "" || utf8.RuneCountInString(key) > maxKey || strings.ContainsRune(key, 0) {
		return "", fmt.Sprintf("Its value must have 1 to %d characters.", maxKey)
	}
	return key, ""
}

// keyed reports whether a join has keys, so that it launches once for each.
func (j *Join) keyed() bool {
	return j.By != "" || slices.ContainsFunc(j.All, func(c Condition) bool { return c.By != "" })
}

// collects identifies what a join collects: events that were collected for another one are dropped.
func (j *Join) collects() string {
	if j == nil {
		return ""
	}
	out := Join{Within: j.Within, By: j.By}
	for _, c := range j.All {
		c.Signature, c.Secret = "", ""
		if c.HTTP != nil {
			poll := *c.HTTP
			poll.Every, poll.Existing = "", false
			c.HTTP = &poll
		}
		if c.S3 != nil {
			poll := *c.S3
			poll.Every, poll.Existing = "", false
			c.S3 = &poll
		}
		out.All = append(out.All, c)
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
