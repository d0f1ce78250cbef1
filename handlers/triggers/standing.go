package triggers

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/flowforge/flowforge/engine/trigger"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// aboutSettings describes what a trigger waits for that polls or joins events.
func aboutSettings(t trigger.Trigger) string {
	switch {
	case t.HTTP != nil:
		verb := " changes"
		if t.HTTP.When == trigger.Appears {
			verb = " appears"
		}
		return addressOf(*t.HTTP) + verb
	case t.S3 != nil:
		return "New object in " + bucketOf(*t.S3)
	case t.Join != nil:
		var list []string
		for _, c := range t.Join.All {
			list = append(list, c.Name)
		}
		return "All of " + strings.Join(list, ", ") + " within " + t.Join.Within
	}
	return ""
}

// addressOf is an address without its query, which can have a token.
func addressOf(h trigger.HTTPPoll) string {
	if h.Connection != "" {
		return strings.TrimSuffix(h.Connection+"/"+strings.TrimPrefix(h.Path, "/"), "/")
	}
	address, _, _ := strings.Cut(h.URL, "?")
	_, address, _ = strings.Cut(address, "://")
	return address
}

func bucketOf(b trigger.S3Poll) string {
	name := b.Connection
	if b.Bucket != "" {
		name = b.Bucket
	}
	if b.Prefix != "" {
		name += "/" + b.Prefix
	}
	if b.Pattern != "" {
		name += " (" + b.Pattern + ")"
	}
	return name
}

// settingFacts are the settings that only some kinds have.
func settingFacts(t trigger.Trigger) (list []ui.Fact) {
	connected := func(name string) {
		if name != "" {
			list = append(list, ui.Fact{Name: "Connection", Value: name, URL: views.ConnectionURL(name)})
		}
	}
	switch {
	case t.HTTP != nil:
		connected(t.HTTP.Connection)
	case t.S3 != nil:
		connected(t.S3.Connection)
	case t.Join != nil:
		key := ui.Fact{Name: "Key", Value: "none"}
		if t.Join.By != "" {
			key.Value, key.Mono = t.Join.By, true
		}
		list = append(list, key)
	}
	return list
}

// conditionWords describes what a condition waits for.
func conditionWords(c trigger.Condition) string {
	return about(trigger.Trigger{Spec: trigger.Spec{Kind: c.Kind, Sources: c.Sources, States: c.States, Stages: c.Stages, Signature: c.Signature, HTTP: c.HTTP, S3: c.S3}})
}

// standing fills in the state of a trigger: its polls, the joins that wait, and the launches
// that are repeated.
func (h *Pages) standing(r *http.Request, t trigger.Trigger, m *views.Trigger, first bool) error {
	m.Paused = t.Paused
	clock := h.Page.Clock(r)
	pollURL := ""
	if mayChange(r, t) && t.Enabled {
		pollURL = views.TriggerPartURL(t.Name, "poll")
	}
	if t.Join != nil {
		if err := h.joins(r, t, m, pollURL); err != nil {
			return err
		}
	} else {
		polls, err := h.Triggers.PollsOf(r.Context(), t)
		if err != nil {
			return err
		}
		if len(polls) > 0 {
			m.Polls = pollsModel(clock, t.Enabled, t.Conditions()[0], polls[0])
			m.Polls.PollURL = pollURL
		}
	}
	if !first {
		return nil
	}
	pending, count, err := h.Triggers.PendingOf(r.Context(), t)
	if err != nil {
		return err
	}
	for _, p := range pending {
		row := views.TriggerPending{Subject: p.Subject, Message: p.Error, Next: clock.Moment(p.NextAt)}
		if p.Failures > 0 {
			row.Message = units.Plural(p.Failures, "launch", "launches") + " failed. " + p.Error
		}
		if p.SourceID != nil {
			row.URL = views.ExecutionURL(p.SourceID.String())
		}
		m.Pending = append(m.Pending, row)
	}
	m.More = more(count - len(pending))
	return nil
}

// joins fills in the state of a join: what its conditions received, and the events that wait for others.
func (h *Pages) joins(r *http.Request, t trigger.Trigger, m *views.Trigger, pollURL string) error {
	clock := h.Page.Clock(r)
	partials, count, err := h.Triggers.Partials(r.Context(), t)
	if err != nil {
		return err
	}
	m.Joins = joinsModel(clock, partials, count)
	states, err := h.Triggers.ConditionStates(r.Context(), t)
	if err != nil {
		return err
	}
	m.Conditions = &views.TriggerConditions{}
	for _, s := range states {
		row := conditionModel(clock, t.Enabled, s)
		if s.Condition.Kind == trigger.OnWebhook {
			row.HookURL = t.HookURL(h.PublicURL, s.Condition.Name)
		}
		if s.Polls != nil {
			m.Conditions.PollURL = pollURL
		}
		m.Conditions.Rows = append(m.Conditions.Rows, row)
	}
	return nil
}

// conditionModel is what a condition waits for and what it received last.
func conditionModel(clock ui.Clock, enabled bool, s trigger.ConditionState) views.TriggerCondition {
	row := views.TriggerCondition{Name: s.Condition.Name, About: conditionWords(s.Condition), Filter: s.Condition.Filter, Key: s.Condition.By}
	if s.Joined != nil {
		row.Joined = &views.TriggerArrival{Name: s.Condition.Name, Subject: s.Joined.Subject, At: clock.Moment(s.Joined.At)}
		if s.Joined.SourceID != nil {
			row.Joined.URL = views.ExecutionURL(s.Joined.SourceID.String())
		}
	}
	if s.Ignored != nil {
		row.Ignored, row.Why = new(outcomeOf(clock, *s.Ignored)), s.Ignored.Message
	}
	if s.Polls != nil {
		row.Polls = pollsModel(clock, enabled, s.Condition, *s.Polls)
	}
	return row
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("and %s more", units.Number(int64(n)))
}

func pollsModel(clock ui.Clock, enabled bool, c trigger.Condition, p trigger.Polls) *views.TriggerPolls {
	out := &views.TriggerPolls{Error: p.Error}
	if p.Error != "" {
		out.Attempts = "Poll failed"
		if p.Failures > 1 {
			out.Attempts = fmt.Sprintf("%d failed polls in a row", p.Failures)
		}
	}
	last := ui.Fact{Name: "Last poll", Value: "none yet"}
	if p.Last != nil {
		last.Moment = new(clock.Moment(*p.Last))
	}
	next := ui.Fact{Name: "Next poll", Value: "when turned on"}
	if enabled {
		next.Moment = new(clock.Moment(p.Next))
	}
	out.Facts = []ui.Fact{last, next, {Name: "Every", Value: units.Exact(c.Every())}}
	if p.Status != "" {
		out.Facts = append(out.Facts, ui.Fact{Name: "Found", Value: p.Status})
	}
	return out
}

func joinsModel(clock ui.Clock, partials []trigger.Partial, count int) *views.TriggerJoins {
	out := &views.TriggerJoins{More: more(count - len(partials))}
	for _, p := range partials {
		row := views.TriggerJoin{Key: p.Key, Expires: clock.Moment(p.ExpiresAt)}
		if p.Key == "" {
			row.Key = "Without key"
		}
		for _, c := range p.Conditions {
			a := views.TriggerArrival{Name: c.Condition, Subject: c.Subject}
			if c.Subject != "" {
				a.At = clock.Moment(c.At)
			}
			if c.SourceID != nil {
				a.URL = views.ExecutionURL(c.SourceID.String())
			}
			row.Conditions = append(row.Conditions, a)
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// pollNow polls the source of a trigger immediately.
func (h *Pages) pollNow(w http.ResponseWriter, r *http.Request) error {
	name := request.PathValue(r, "name")
	if err := h.Triggers.PollNow(r.Context(), name); err != nil {
		return err
	}
	http.Redirect(w, r, views.TriggerURL(name)+"?done=polls", http.StatusSeeOther)
	return nil
}
