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
func (p *policies) set(op *workflow.Operator, s *source) {
	now := p.settings(s)
	op.Timeout, op.Retry, op.Locks = now.Timeout, now.Retry, now.Locks
	given := settings{s.Timeout, s.ActiveDeadline, s.Suspend, p.retryStrategy(s), s.Synchronization}
	encoded, err := json.Marshal(given)
	if err != nil || !bytes.Contains(encoded, []byte("{{")) {
		return
	}
	var fields map[string]any
	d := json.NewDecoder(bytes.NewReader(encoded))
	d.UseNumber()
	if err := d.Decode(&fields); err != nil {
		p.add(s.path, "The settings cannot be written as JSON.")
		return
	}
	op.Tags.Timeout, op.Tags.Retries = p.taggedTexts(s)
	p.checks.checkValue(fields, scope{own: s, leaf: !s.isGraph()}, s.path)
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
func (p *policies) taggedTexts(s *source) (timeout, retries string) {
	for _, text := range []*Text{&s.Timeout, s.ActiveDeadline} {
		if text != nil && p.hasTags(string(*text)) {
			timeout = string(*text)
		}
	}
	if s.Suspend != nil && p.hasTags(string(s.Suspend.Duration)) {
		timeout = string(s.Suspend.Duration)
	}
	if r := p.retryStrategy(s); r != nil && r.Limit != nil && p.hasTags(string(*r.Limit)) {
		retries = string(*r.Limit)
	}
	return timeout, retries
}

// readSettings reads settings after their tags were replaced.
func readSettings(fields any, s *source) (workflow.Settings, error) {
	t := newTranslator(&translation{problems: &problems{}, rendered: true})
	var now settings
	decoder{t.problems}.decode(fields, &now, s.path)
	own := *s.template
	own.Timeout, own.ActiveDeadline, own.Suspend, own.RetryStrategy, own.Synchronization = now.Timeout, now.ActiveDeadline, now.Suspend, now.RetryStrategy, now.Synchronization
	out := t.policies.settings(&source{template: &own, library: s.library, path: s.path})
	problems := make([]error, len(t.list))
	for i, p := range t.list {
		problems[i] = fmt.Errorf("%s (%s)", strings.TrimSuffix(p.Message, "."), p.Path)
	}
	return out, errors.Join(problems...)
}

func (p *policies) settings(s *source) workflow.Settings {
	return workflow.Settings{Timeout: p.timeout(s), Retry: p.retry(s), Locks: p.locks(s.Synchronization, s.path+".synchronization")}
}

// hasTags reports whether a setting can be read only after its tags were replaced.
func (t *translation) hasTags(text string) bool { return !t.rendered && strings.Contains(text, "{{") }
