package argo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/engine/workflow"
)

// settings are the settings of a template that can have tags.
type settings struct {
	Timeout         Text             `json:"timeout"`
	ActiveDeadline  *Text            `json:"activeDeadlineSeconds"`
	Suspend         *suspend         `json:"suspend"`
	RetryStrategy   *retryStrategy   `json:"retryStrategy"`
	Synchronization *synchronization `json:"synchronization"`
}

// set gives op the settings of its template. Those that have tags are read again,
// with their values, when the operator is about to begin.
func (t *translator) set(op *workflow.Operator, s *source) {
	now := t.settings(s)
	op.Timeout, op.Retry, op.Locks = now.Timeout, now.Retry, now.Locks
	given := settings{s.Timeout, s.ActiveDeadline, s.Suspend, t.retryStrategy(s), s.Synchronization}
	encoded, err := json.Marshal(given)
	if err != nil || !bytes.Contains(encoded, []byte("{{")) {
		return
	}
	var fields map[string]any
	d := json.NewDecoder(bytes.NewReader(encoded))
	d.UseNumber()
	if err := d.Decode(&fields); err != nil {
		t.add(s.path, "The settings cannot be written as JSON.")
		return
	}
	op.Tags.Timeout, op.Tags.Retries = t.taggedTexts(s)
	t.checkValue(fields, scope{own: s, leaf: !s.isGraph()}, s.path)
	op.Tags.Settle = func(render func(v any, strict bool) (any, error)) (workflow.Settings, error) {
		values := make(map[string]any, len(fields))
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			// A condition for retries can have tags whose values are known only after a failure.
			v, err := render(fields[name], name != "retryStrategy")
			if err != nil {
				return workflow.Settings{}, err
			}
			values[name] = v
		}
		return readSettings(values, s)
	}
}

// taggedTexts returns the timeout and the number of retries of a template as written, if they have
// tags.
func (t *translator) taggedTexts(s *source) (timeout, retries string) {
	for _, text := range []*Text{&s.Timeout, s.ActiveDeadline} {
		if text != nil && t.hasTags(string(*text)) {
			timeout = string(*text)
		}
	}
	if s.Suspend != nil && t.hasTags(string(s.Suspend.Duration)) {
		timeout = string(s.Suspend.Duration)
	}
	if r := t.retryStrategy(s); r != nil && r.Limit != nil && t.hasTags(string(*r.Limit)) {
		retries = string(*r.Limit)
	}
	return timeout, retries
}

// readSettings reads settings after their tags were replaced.
func readSettings(fields any, s *source) (workflow.Settings, error) {
	t := &translator{problems: &problems{}, rendered: true}
	var now settings
	decoder{t.problems}.decode(fields, &now, s.path)
	own := *s.template
	own.Timeout, own.ActiveDeadline, own.Suspend, own.RetryStrategy, own.Synchronization = now.Timeout, now.ActiveDeadline, now.Suspend, now.RetryStrategy, now.Synchronization
	out := t.settings(&source{template: &own, library: s.library, path: s.path})
	problems := make([]error, len(t.list))
	for i, p := range t.list {
		problems[i] = fmt.Errorf("%s (%s)", strings.TrimSuffix(p.Message, "."), p.Path)
	}
	return out, errors.Join(problems...)
}

func (t *translator) settings(s *source) workflow.Settings {
	return workflow.Settings{Timeout: t.timeout(s), Retry: t.retry(s), Locks: t.locks(s.Synchronization, s.path+".synchronization")}
}

// hasTags reports whether a setting can be read only after its tags were replaced.
func (t *translator) hasTags(text string) bool { return !t.rendered && strings.Contains(text, "{{") }
