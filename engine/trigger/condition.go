package trigger

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/flowforge/flowforge/engine/expression"
	"github.com/flowforge/flowforge/platform/units"
)

// Condition is an event that a trigger waits for. A join has several conditions with names; any
// other trigger has one, whose name is "". The fields are those of a Spec of the same kind.
type Condition struct {
	Name      string    `json:"name"` // by which the inputs read the event
	Kind      Kind      `json:"kind"` // all kinds except OnAll
	Sources   []string  `json:"sources,omitempty"`
	States    []string  `json:"states,omitempty"`
	Stages    []string  `json:"stages,omitempty"`
	Signature Signature `json:"signature,omitempty"`
	Secret    string    `json:"secret,omitempty"`
	HTTP      *HTTPPoll `json:"http,omitempty"`
	S3        *S3Poll   `json:"s3,omitempty"`
	Filter    string    `json:"filter,omitempty"` // of a join
	By        string    `json:"by,omitempty"`     // of a join: instead of its key
}

var conditionName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// Conditions returns the conditions of a join, or the only condition of any other trigger.
func (sp *Spec) Conditions() []Condition {
	switch {
	case sp.Kind != OnAll:
		return []Condition{sp.only()}
	case sp.Join == nil:
		return nil
	}
	return sp.Join.All
}

// only is the condition of a trigger without a join.
func (sp *Spec) only() Condition {
	return Condition{Kind: sp.Kind, Sources: sp.Sources, States: sp.States, Stages: sp.Stages, Signature: sp.Signature, Secret: sp.Secret, HTTP: sp.HTTP, S3: sp.S3}
}

// condition returns the condition with a name.
func (sp *Spec) condition(name string) (Condition, bool) {
	list := sp.Conditions()
	i := slices.IndexFunc(list, func(c Condition) bool { return c.Name == name })
	if i < 0 {
		return Condition{}, false
	}
	return list[i], true
}

// filled returns the condition with trimmed texts, with defaults, and only with the fields of its kind.
func (c Condition) filled() Condition {
	out := Condition{
		Name: strings.TrimSpace(c.Name), Kind: c.Kind, Filter: strings.TrimSpace(c.Filter), By: strings.TrimSpace(c.By),
		Sources: []string{}, States: []string{}, Stages: []string{},
	}
	switch c.Kind {
	case OnExecution:
		out.Sources, out.States = unique(c.Sources), unique(c.States)
		if len(out.States) == 0 {
			out.States = []string{"SUCCEEDED"}
		}
	case OnModel:
		out.Sources, out.Stages = unique(c.Sources), unique(c.Stages)
	case OnArtifact, OnDataset, OnEvent:
		out.Sources = unique(c.Sources)
	case OnWebhook:
		out.Signature, out.Secret = c.Signature, strings.TrimSpace(c.Secret)
	case OnHTTP:
		out.HTTP = c.HTTP.filled()
	case OnS3:
		out.S3 = c.S3.filled()
	case OnAll:
	}
	return out
}

// problems returns the invalid fields of what a condition waits for. It returns false for a kind that no
// condition has.
func (c Condition) problems(refuse refuser) bool {
	switch c.Kind { //nolint:exhaustive // a join is no condition
	case OnExecution:
		executionProblems(c.Sources, c.States, refuse)
	case OnArtifact, OnDataset, OnModel, OnEvent:
		eventProblems(c.Kind, c.Sources, c.Stages, refuse)
	case OnWebhook:
		refuse(!slices.Contains(Signatures(), c.Signature), "signature", "Choose github, gitlab, standard or bearer.")
		refuse(c.Secret == "", "secret", "Choose a secret of the project.")
	case OnHTTP:
		c.HTTP.problems(refuse)
	case OnS3:
		c.S3.problems(refuse)
	default:
		return false
	}
	return true
}

// joinProblems returns the invalid fields of a condition of a join. by is the key of the join, and known
// contains the names of the conditions before.
func (c Condition) joinProblems(by string, known map[string]bool, refuse refuser) {
	switch {
	case !conditionName.MatchString(c.Name) || !readable(c.Name):
		refuse(true, "name", "Enter lower-case letters, digits and underscores, beginning with a letter, such as images.")
	case known[c.Name]:
		refuse(true, "name", "The name %q is already used. Each condition needs a unique name.", c.Name)
	}
	if !c.problems(refuse) {
		refuse(true, "kind", "Choose execution, artifact, dataset, model, event, webhook, http or s3.")
		return
	}
	for field, text := range map[string]string{"filter": c.Filter, "by": c.By} {
		refuse(utf8.RuneCountInString(text) > maxExpression, field, "Enter at most %d characters.", maxExpression)
		if text != "" {
			problem := checkExpression(knownOf(c.Kind), text)
			refuse(problem != "", field, "%s", problem)
		}
	}
	if c.By == "" && by != "" && utf8.RuneCountInString(by) <= maxExpression {
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

// fits reports whether an event of the feed has the type that a condition waits for.
func (c Condition) fits(kind string, data map[string]any) bool {
	switch c.Kind { //nolint:exhaustive // the others are not received from the feed
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

// value is the value by which the inputs of a join read an event of the condition.
func (c Condition) value(env map[string]any) any {
	if c.Kind == OnWebhook {
		return env
	}
	return env[names(c.Kind)[0]]
}

// Every is the time between two polls.
func (c Condition) Every() time.Duration {
	text := DefaultEvery
	switch {
	case c.HTTP != nil:
		text = c.HTTP.Every
	case c.S3 != nil:
		text = c.S3.Every
	}
	every, err := units.ParseDuration(text)
	if err != nil || every < MinEvery {
		return MinEvery // it was checked when it was stored
	}
	return every
}

// polled is the part of a condition whose change restarts the polls.
func (c Condition) polled() any {
	switch {
	case c.HTTP != nil:
		return HTTPPoll{URL: c.HTTP.URL, Connection: c.HTTP.Connection, Path: c.HTTP.Path, When: c.HTTP.When}
	case c.S3 != nil:
		return S3Poll{Connection: c.S3.Connection, Bucket: c.S3.Bucket, Prefix: c.S3.Prefix, Pattern: c.S3.Pattern}
	}
	return nil
}

// existing reports whether objects and responses that exist already are events.
func (c Condition) existing() bool {
	return c.HTTP != nil && c.HTTP.Existing || c.S3 != nil && c.S3.Existing
}
