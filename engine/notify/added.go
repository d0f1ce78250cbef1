package notify

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/flowforge/flowforge/db"
)

// added holds when users added parts to a rule that was on. A part without a time counts since the rule
// was turned on.
type added struct {
	Events    map[string]time.Time `json:"events,omitempty"`
	Workflows map[string]time.Time `json:"workflows,omitempty"` // "": all
	Channels  map[string]time.Time `json:"channels,omitempty"`
}

// everyWorkflow is the pattern of a rule that names no workflows.
const everyWorkflow = ""

func patternsOf(workflows []string) []string {
	if len(workflows) == 0 {
		return []string{everyWorkflow}
	}
	return workflows
}

// changed returns when the parts of the rule after were added, given the rule before.
func (a added) changed(before, after Rule, now time.Time) added {
	names := func(list []Event) (out []string) {
		for _, e := range list {
			out = append(out, string(e))
		}
		return out
	}
	return added{
		Events:    changedTimes(a.Events, names(before.Events), names(after.Events), now),
		Workflows: changedTimes(a.Workflows, patternsOf(before.Workflows), patternsOf(after.Workflows), now),
		Channels:  changedTimes(a.Channels, before.Channels, after.Channels, now),
	}
}

func changedTimes(times map[string]time.Time, before, after []string, now time.Time) map[string]time.Time {
	out := map[string]time.Time{}
	for _, name := range after {
		if at, ok := times[name]; ok {
			out[name] = at
		} else if !slices.Contains(before, name) {
			out[name] = now
		}
	}
	return out
}

// addedBy returns when the parts of a stored rule were added after it becomes r, as JSON. Turning a rule on
// resets them.
func addedBy(row db.NotificationRule, r Rule, now time.Time) ([]byte, error) {
	var a added
	if err := json.Unmarshal(row.Added, &a); err != nil {
		return nil, fmt.Errorf("additions to notification rule %s: %w", row.ID, err)
	}
	if a = a.changed(ruleOf(row), r, now); r.Enabled && !row.Enabled {
		a = added{}
	}
	raw, err := json.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("encode additions to notification rule %s: %w", row.ID, err)
	}
	return raw, nil
}

// activeRule is a rule that is on.
type activeRule struct {
	db.NotificationRule
	added added
}

func activeRules(rows []db.NotificationRule) ([]activeRule, error) {
	list := make([]activeRule, len(rows))
	for i, row := range rows {
		list[i].NotificationRule = row
		if err := json.Unmarshal(row.Added, &list[i].added); err != nil {
			return nil, fmt.Errorf("additions to notification rule %s: %w", row.ID, err)
		}
	}
	return list, nil
}

// since returns the time from which the rule sends messages about an event.
func (r activeRule) since(event Event) time.Time {
	return later(r.EnabledAt, r.added.Events[string(event)])
}

// wants returns the event about which the rule sends a message, and the channels that receive it; none
// if it sends no message.
func (r activeRule) wants(o occurrence) (Event, []string) {
	if r.ProjectID != o.project || o.at.Before(r.EnabledAt) {
		return "", nil
	}
	covered := slices.ContainsFunc(patternsOf(r.Workflows), func(pattern string) bool {
		return (pattern == everyWorkflow || covers(pattern, o.workflow)) && !o.at.Before(r.added.Workflows[pattern])
	})
	i := slices.IndexFunc(o.events, func(e Event) bool { return slices.Contains(r.Events, string(e)) && !o.at.Before(r.since(e)) })
	if !covered || i < 0 {
		return "", nil
	}
	var channels []string
	for _, c := range r.Channels {
		if !o.at.Before(r.added.Channels[c]) {
			channels = append(channels, c)
		}
	}
	return o.events[i], channels
}
