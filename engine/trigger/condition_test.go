package trigger_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/trigger"
)

// bearing is a request for a condition with an ID of the sender.
func bearing(condition, id, body string) trigger.Request {
	return trigger.Request{Condition: condition, Header: header("Authorization", "Bearer "+signing, "Webhook-Id", id), Body: []byte(body)}
}

// page is a condition on an address whose responses have a day and a version.
func page(url string) trigger.Condition {
	return trigger.Condition{Name: "page", Kind: trigger.OnHTTP, HTTP: &trigger.HTTPPoll{URL: url, Every: "10s"}, By: "http.body.day"}
}

func pushed(name string) trigger.Condition {
	return trigger.Condition{Name: name, Kind: trigger.OnWebhook, Signature: trigger.Bearer, Secret: "hook", By: "payload.day"}
}

func (s *site) shows(day, version string) {
	s.answers(http.StatusOK, `{"day": "`+day+`", "version": "`+version+`"}`, "Content-Type", "application/json", "ETag", `"`+day+version+`"`)
}

func (b *bundle) states(name string) map[string]trigger.ConditionState {
	b.t.Helper()
	t, err := b.triggers.Get(b.ctx, name)
	require.NoError(b.t, err)
	list, err := b.triggers.ConditionStates(b.ctx, t)
	require.NoError(b.t, err)
	out := map[string]trigger.ConditionState{}
	for _, s := range list {
		out[s.Condition.Name] = s
	}
	return out
}

// TestAllKindsJoin: a dataset, an address, an object and a webhook of the same day.
func TestAllKindsJoin(t *testing.T) {
	t.Parallel()
	b, s := setup(t), serve(t)
	l := b.lake()
	s.shows("sunday", "1")
	l.write("raw/sunday", "1")
	images := dataset("images")
	images.By = "dataset.facts.day"
	files := trigger.Condition{Name: "files", Kind: trigger.OnS3, S3: &trigger.S3Poll{Connection: "lake", Every: "1h"}, By: "object.name"}
	sp := join(nil, images, page(s.URL), files, pushed("push"))
	sp.Inputs = map[string]any{"ref": "{{ images.version }} {{ page.body.version }} {{ files.key }} {{ push.payload.commit }} {{ join.key }}"}
	tr := b.put(sp)
	b.poll(b.triggers)
	require.Empty(t, b.partials("both"), "what exists already is no event")

	s.shows("monday", "2")
	l.write("raw/monday", "1")
	l.write("raw/tuesday", "1")
	b.poll(b.triggers)
	b.registered("images", "7", "monday", 0)
	b.receive(b.triggers)
	require.Len(t, b.partials("both"), 2)
	require.Zero(t, b.executions())
	d, err := b.triggers.Receive(t.Context(), tr.ID, bearing("push", "1", `{"day": "monday", "commit": "3f1c9ab"}`))
	require.NoError(t, err)
	require.Equal(t, "7 2 raw/monday 3f1c9ab monday", b.inputsOf(d)["ref"])
	require.Equal(t, 1, b.executions())

	states := b.states("both")
	require.Contains(t, []string{"raw/monday", "raw/tuesday"}, states["files"].Joined.Subject)
	require.Equal(t, "3 objects, 2 new or changed", states["files"].Polls.Status)
	require.Equal(t, "Changed", states["page"].Polls.Status)
	require.Nil(t, states["push"].Polls)
	s.shows("monday", "3")
	b.poll(b.triggers)
	require.Equal(t, trigger.ReasonJoined, b.states("both")["page"].Ignored.Reason)
}

// TestNoPollOfAJoinIsLostOrDoubled: a server stops at any point of the poll that completes a join.
func TestNoPollOfAJoinIsLostOrDoubled(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"poll.claimed", "poll.requested", "join.begin", "join.added", "launch.begin", "launch.within", "launch.committed", "poll.done"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			b, s := setup(t), serve(t)
			s.shows("sunday", "1")
			sp := join(nil, page(s.URL), pushed("push"))
			sp.Inputs = map[string]any{"ref": "{{ page.body.version }} {{ push.payload.commit }}"}
			tr := b.put(sp)
			b.poll(b.triggers)
			_, err := b.triggers.Receive(t.Context(), tr.ID, bearing("push", "1", `{"day": "monday", "commit": "a"}`))
			require.NoError(t, err)
			s.shows("monday", "2")
			config := b.config
			config.Crash = func(at string) {
				if at == point {
					panic(point)
				}
			}
			b.crashes(point, func() { b.poll(trigger.New(config)) })
			b.poll(b.triggers)
			b.poll(b.triggers)
			b.retry(b.triggers, time.Hour)
			require.Equal(t, []string{"2 a"}, b.refs("both"))
			require.Equal(t, 1, b.executions())
			require.Empty(t, b.partials("both"))
			require.Empty(t, b.states("both")["page"].Polls.Error)
		})
	}
}

// TestAWebhookOfAJoin says what the event caused: it waits, it is repeated, it is ignored, or it launches.
func TestAWebhookOfAJoin(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tested := pushed("tested")
	tested.Filter = "payload.passed"
	sp := join(nil, pushed("push"), tested)
	sp.Inputs = map[string]any{"ref": "{{ push.payload.commit }} {{ tested.headers[\"webhook-id\"] }}"}
	tr := b.put(sp)
	require.Equal(t, "https://forge/hooks/"+tr.ID.String()+"/push", tr.HookURL("https://forge", "push"))
	receive := func(r trigger.Request) trigger.Delivery {
		d, err := b.triggers.Receive(t.Context(), tr.ID, r)
		require.NoError(t, err)
		return d
	}
	for _, absent := range []string{"", "absent"} {
		_, err := b.triggers.Receive(t.Context(), tr.ID, bearing(absent, "1", "{}"))
		require.True(t, apperr.Is(err, apperr.NotFound), "%q: %v", absent, err)
	}
	first := receive(bearing("push", "1", `{"day": "monday", "commit": "a"}`))
	require.Equal(t, []any{trigger.Waiting, "The event waits for the other conditions.", false}, []any{first.Outcome, first.Message, first.Repeated})
	again := receive(bearing("push", "1", `{"day": "monday", "commit": "a"}`))
	require.Equal(t, []any{trigger.Waiting, first.ID, true}, []any{again.Outcome, again.ID, again.Repeated})
	require.Equal(t, "webhook", b.states("both")["push"].Joined.Subject)

	skipped := receive(bearing("tested", "1", `{"day": "monday", "passed": false}`))
	require.Equal(t, []any{trigger.Skipped, "tested", "tested: webhook"}, []any{skipped.Outcome, skipped.Condition, skipped.Subject})
	require.Equal(t, "The filter is false: payload.passed", b.states("both")["tested"].Ignored.Message)
	_, err := b.triggers.Receive(t.Context(), tr.ID, trigger.Request{Condition: "tested", Header: header("Authorization", "Bearer wrong"), Body: []byte("{}")})
	require.True(t, apperr.Is(err, apperr.Unauthenticated))
	require.Equal(t, trigger.Rejected, b.states("both")["tested"].Ignored.Outcome)
	retried, err := b.triggers.Redeliver(b.ctx, "both", skipped.ID)
	require.NoError(t, err)
	require.Equal(t, []any{trigger.Skipped, "tested"}, []any{retried.Outcome, retried.Condition}, "the condition decides again")
	require.Zero(t, b.executions())

	done := receive(bearing("tested", "2", `{"day": "monday", "passed": true}`))
	require.Equal(t, "a 2", b.inputsOf(done)["ref"])
	again = receive(bearing("tested", "2", `{"day": "monday", "passed": true}`))
	require.Equal(t, []any{done.ExecutionID, true}, []any{again.ExecutionID, again.Repeated})
	late := receive(bearing("push", "3", `{"day": "monday", "commit": "b"}`))
	require.Equal(t, []any{trigger.Skipped, trigger.ReasonJoined}, []any{late.Outcome, late.Reason})
	require.Equal(t, 1, b.executions())
	trial, err := b.triggers.Try(b.ctx, "both", map[string]any{"push": map[string]any{"payload": map[string]any{"commit": "c"}}, "tested": map[string]any{"headers": map[string]any{"webhook-id": "9"}}})
	require.NoError(t, err)
	require.Equal(t, "c 9", trial.Inputs["ref"])
}

// TestWebhooksOfAJoinAtTheSameTime: all events arrive several times at once, and launch once for each key.
func TestWebhooksOfAJoinAtTheSameTime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sp := join(nil, pushed("push"), pushed("tested"))
	sp.Inputs = map[string]any{"ref": "{{ join.key }}"}
	tr := b.put(sp)
	var all sync.WaitGroup
	for _, day := range []string{"monday", "tuesday", "friday"} {
		for _, condition := range []string{"push", "tested"} {
			for range 4 {
				all.Go(func() {
					if _, err := b.triggers.Receive(context.WithoutCancel(t.Context()), tr.ID, bearing(condition, day, `{"day": "`+day+`"}`)); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
	all.Wait()
	b.retry(b.triggers, time.Hour)
	require.ElementsMatch(t, []string{"monday", "tuesday", "friday"}, b.refs("both"))
	require.Equal(t, 3, b.executions())
}

// TestAWebhookWhoseLaunchFails: the sender need not repeat its request, because the join is complete.
func TestAWebhookWhoseLaunchFails(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sp := join(nil, pushed("push"), pushed("tested"))
	sp.Inputs = map[string]any{"ref": "{{ join.key }}"}
	tr := b.put(sp)
	b.own("both", "bad")
	var broken atomic.Bool
	broken.Store(true)
	s := b.failing(&broken)
	for _, condition := range []string{"push", "tested"} {
		d, err := s.Receive(t.Context(), tr.ID, bearing(condition, "1", `{"day": "monday"}`))
		require.NoError(t, err)
		require.Equal(t, trigger.Waiting, d.Outcome)
		require.Equal(t, condition == "tested", strings.HasPrefix(d.Message, "All events have arrived."), d.Message)
	}
	broken.Store(false)
	b.retry(s, time.Hour)
	require.Equal(t, []string{"monday"}, b.refs("both"))
}

// TestConditionsPollOnTheirOwn: each has its interval, its cursor and its failures. A change restarts only
// the polls of the condition that changed.
func TestConditionsPollOnTheirOwn(t *testing.T) {
	t.Parallel()
	b, s, other := setup(t), serve(t), serve(t)
	s.shows("sunday", "1")
	other.shows("sunday", "1")
	slow := page(other.URL)
	slow.Name, slow.HTTP.Every = "slow", "3h"
	sp := join(nil, page(s.URL), slow)
	sp.Inputs = map[string]any{"ref": "{{ page.body.version }} {{ slow.body.version }}"}
	b.put(sp)
	b.poll(b.triggers)
	b.poll(b.triggers)
	require.Len(t, s.requests, 2)
	require.Len(t, other.requests, 1, "it is not due")

	s.shows("monday", "2")
	b.poll(b.triggers)
	require.Len(t, b.partials("both"), 1)
	sp.Workflow, sp.Enabled = "retrain", true
	sp.Join.All[0].HTTP.Every = "20s"
	_, err := b.triggers.Put(b.ctx, "both", sp)
	require.NoError(t, err)
	require.Len(t, b.partials("both"), 1, "another interval keeps the events")
	sp.Join.All[1].HTTP.URL = other.URL + "/new"
	_, err = b.triggers.Put(b.ctx, "both", sp)
	require.NoError(t, err)
	require.Empty(t, b.partials("both"), "other events are collected now")
	b.poll(b.triggers)
	require.Equal(t, "No change", b.states("both")["page"].Polls.Status)
	require.Equal(t, "Waiting for the first change", b.states("both")["slow"].Polls.Status)

	other.answers(http.StatusServiceUnavailable, "")
	for range trigger.PauseAfter {
		require.NoError(t, b.triggers.PollNow(b.ctx, "both"))
		b.poll(b.triggers)
	}
	tr, err := b.triggers.Get(b.ctx, "both")
	require.NoError(t, err)
	require.Contains(t, tr.Paused, "Turned off after 12 failed polls of the condition slow in a row.")
	require.Empty(t, b.states("both")["page"].Polls.Error)
	other.shows("friday", "5")
	require.NoError(t, b.triggers.Switch(b.ctx, "both", true))
	b.poll(b.triggers)
	require.Empty(t, b.partials("both"), "changes while the trigger is off do not count")

	sp.Join.All = []trigger.Condition{sp.Join.All[0], dataset("images")}
	sp.Join.All[1].By, sp.Inputs = "dataset.facts.day", nil
	_, err = b.triggers.Put(b.ctx, "both", sp)
	require.NoError(t, err)
	polls, err := b.triggers.PollsOf(b.ctx, tr)
	require.NoError(t, err)
	require.Len(t, polls, 1, "a condition that is gone does not poll")
	require.Equal(t, "page", polls[0].Condition)
}

func TestAJoinThatIsSavedUnchangedKeepsItsEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sp := join(nil, dataset("images"), trigger.Condition{Name: "digits", Kind: trigger.OnModel, Sources: []string{"digits"}})
	b.put(sp)
	b.registered("images", "1", "monday", 0)
	b.receive(b.triggers)
	require.Len(t, b.partials("both"), 1)
	sp.Workflow, sp.Enabled = "retrain", true
	_, err := b.triggers.Put(b.ctx, "both", sp)
	require.NoError(t, err)
	require.Len(t, b.partials("both"), 1)
}

func TestConditionsAreChecked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for want, c := range map[string]trigger.Condition{
		"all.1.signature":       {Kind: trigger.OnWebhook, Secret: "hook"},
		"all.1.secret":          {Kind: trigger.OnWebhook, Signature: trigger.GitHub},
		"secret":                {Kind: trigger.OnWebhook, Signature: trigger.GitHub, Secret: "absent"},
		"all.1.http.url":        {Kind: trigger.OnHTTP, HTTP: &trigger.HTTPPoll{URL: "ftp://example.com"}},
		"all.1.http.connection": {Kind: trigger.OnHTTP, HTTP: &trigger.HTTPPoll{Connection: "absent"}},
		"all.1.http.every":      {Kind: trigger.OnHTTP, HTTP: &trigger.HTTPPoll{URL: "https://example.com", Every: "1s"}},
		"all.1.s3.connection":   {Kind: trigger.OnS3, S3: &trigger.S3Poll{}},
		"all.1.filter":          {Kind: trigger.OnWebhook, Signature: trigger.GitHub, Secret: "hook", Filter: "dataset.version == 1"},
		"all.1.by":              {Kind: trigger.OnWebhook, Signature: trigger.GitHub, Secret: "hook", By: "http.body.day"},
		"inputs":                {Kind: trigger.OnWebhook, Signature: trigger.GitHub, Secret: "hook"},
	} {
		c.Name = "b"
		sp := join(nil, dataset("a"), c)
		sp.Name, sp.Workflow = "x", "retrain"
		if want == "inputs" {
			sp.Inputs = map[string]any{"ref": "{{ b.body }}"}
		}
		_, err := b.triggers.Put(b.ctx, "", sp)
		fields := apperr.FieldsOf(err)
		require.Len(t, fields, 1, "%s: %v", want, fields)
		require.Contains(t, fields[0].Path, want)
	}
}
