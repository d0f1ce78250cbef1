package trigger

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

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

// Condition is an event that a join waits for. Its fields are those of a Spec of its kind.
type Condition struct {
	Name    string   `json:"name"` // by which the inputs read the event
	Kind    Kind     `json:"kind"` // OnExecution, OnArtifact, OnDataset, OnModel or OnEvent
	Sources []string `json:"sources"`
	States  []string `json:"states,omitempty"`
	Stages  []string `json:"stages,omitempty"`
	Filter  string   `json:"filter,omitempty"`
	By      string   `json:"by,omitempty"` // instead of that of the join
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

var conditionName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// ConditionKinds returns the kinds of conditions.
func ConditionKinds() []Kind { return []Kind{OnExecution, OnArtifact, OnDataset, OnModel, OnEvent} }

func (j *Join) filled() *Join {
	if j == nil {
		j = &Join{}
	}
	out := Join{Within: strings.TrimSpace(j.Within), By: strings.TrimSpace(j.By)}
	if out.Within == "" {
		out.Within = DefaultWithin
	}
	for _, c := range j.All {
		c.Name, c.Filter, c.By = strings.TrimSpace(c.Name), strings.TrimSpace(c.Filter), strings.TrimSpace(c.By)
		c.Sources, c.States, c.Stages = unique(c.Sources), unique(c.States), unique(c.Stages)
		if c.Kind != OnModel {
			c.Stages = nil
		}
		if c.Kind != OnExecution {
			c.States = nil
		} else if len(c.States) == 0 {
			c.States = []string{"SUCCEEDED"}
		}
		out.All = append(out.All, c)
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
	refuse(len(j.By) > maxExpression, "by", "Enter at most %d characters.", maxExpression)
	known := map[string]bool{joinName: true}
	for i, c := range j.All {
		c.problems(j.By, known, refuse.at(fmt.Sprintf("all.%d", i)))
		known[c.Name] = true
	}
}

const maxExpression = 4096

func (c *Condition) problems(by string, known map[string]bool, refuse refuser) {
	switch {
	case !conditionName.MatchString(c.Name) || !readable(c.Name):
		refuse(true, "name", "Enter lower-case letters, digits and underscores, beginning with a letter, such as images.")
	case known[c.Name]:
		refuse(true, "name", "The name %q is already used. Each condition needs a unique name.", c.Name)
	}
	switch c.Kind { //nolint:exhaustive // the others are no conditions
	case OnExecution:
		executionProblems(c.Sources, c.States, refuse)
	case OnArtifact, OnDataset, OnModel, OnEvent:
		eventProblems(c.Kind, c.Sources, c.Stages, refuse)
	default:
		refuse(true, "kind", "Choose execution, artifact, dataset, model or event.")
		return
	}
	for field, text := range map[string]string{"filter": c.Filter, "by": c.By} {
		refuse(len(text) > maxExpression, field, "Enter at most %d characters.", maxExpression)
		if text != "" {
			problem := checkExpression(knownOf(c.Kind), text)
			refuse(problem != "", field, "%s", problem)
		}
	}
	if c.By == "" && by != "" && len(by) <= maxExpression {
		problem := checkExpression(knownOf(c.Kind), by)
		refuse(problem != "", "by", "The key of the join cannot be evaluated for this condition. Set a key for the condition. %s", problem)
	}
}

// readable reports whether expressions can use a name. Keywords of the language are not names.
func readable(name string) bool {
	e, err := expression.Parse(name)
	if err != nil {
		return false
	}
	refs := e.References()
	return len(refs) == 1 && slices.Equal(refs[0].Path, []string{name})
}

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
		return "", "Its value is not a text, a number or a Boolean."
	default:
		key = fmt.Sprint(v)
	}
	if key == "" || len(key) > maxKey || strings.ContainsRune(key, 0) {
		return "", fmt.Sprintf("Its value must have 1 to %d characters.", maxKey)
	}
	return key, ""
}

// keyed reports whether a join has keys, so that it launches once for each.
func (j *Join) keyed() bool {
	return j.By != "" || slices.ContainsFunc(j.All, func(c Condition) bool { return c.By != "" })
}

// fits reports whether an event of the feed has the type that a condition waits for.
func (c Condition) fits(kind string, data map[string]any) bool {
	switch c.Kind { //nolint:exhaustive // executions are not received from the feed
	case OnArtifact:
		return kind == "artifact.created"
	case OnDataset:
		return kind == "dataset.registered"
	case OnModel:
		stage, _ := data["stage"].(string)
		return len(c.Stages) == 0 && kind == "model.registered" || kind == "model.stage_changed" && slices.Contains(c.Stages, stage)
	case OnEvent:
		return covers(c.Sources, kind)
	}
	return false
}
