package gallery

import (
	"time"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

func pollingTrigger(f views.Page) views.Trigger {
	m := triggerPage(f)
	m.Page, m.HookURL, m.Trial = frame(f, "daily-files", views.SectionTriggers), "", nil
	m.Row.Name, m.Row.About = "daily-files", "New object in lake/raw/ (*.parquet)"
	m.Facts = []ui.Fact{{Name: "Waits for", Value: m.Row.About}, {Name: "Connection", Value: "lake", URL: "#"}, {Name: "Filter", Value: "none"}, {Name: "Launches", Value: "digits.train", URL: "#", Note: "latest"}, {Name: "Owner", Value: "Amara Okafor"}}
	m.Polls = &views.TriggerPolls{
		Attempts: "3 failed polls in a row", Error: "The bucket lake cannot be listed: the store responded with 403 Forbidden. The credentials may not list the bucket.", PollURL: "#",
		Facts: []ui.Fact{{Name: "Last poll", Moment: new(clock().Moment(ago(5 * time.Minute)))}, {Name: "Next poll", Moment: new(clock().Moment(ago(-10 * time.Minute)))}, {Name: "Every", Value: "5 min"}, {Name: "Found", Value: "1,204 objects, 3 new or changed"}},
	}
	m.Pending = []views.TriggerPending{
		{Subject: "raw/2026/11/digits-0042.parquet", Message: "2 launches failed. A service that FlowForge depends on is not responding. Try again in a moment.", Next: clock().Moment(ago(-8 * time.Second))},
		{Subject: "raw/2026/11/digits-0043.parquet", Message: "An earlier event of the trigger is being retried.", Next: clock().Moment(ago(0))},
	}
	m.More = "and 12 more"
	return m
}

func joiningTrigger(f views.Page) views.Trigger {
	m := triggerPage(f)
	m.Page, m.HookURL, m.Trial = frame(f, "retrain-daily", views.SectionTriggers), "", nil
	m.Row.Name, m.Row.About = "retrain-daily", "All of images, labels, approved within 24 h"
	m.Facts = []ui.Fact{
		{Name: "Waits for", Value: m.Row.About}, {Name: "Key", Value: "dataset.facts.date", Mono: true},
		{Name: "Launches", Value: "digits.train", URL: "#", Note: "latest"}, {Name: "Owner", Value: "Amara Okafor"},
	}
	at := func(before time.Duration) ui.Moment { return clock().Moment(ago(before)) }
	m.Joins = &views.TriggerJoins{More: "and 3 more", Rows: []views.TriggerJoin{
		{Key: "2026-11-23", Expires: at(-2 * time.Hour), Conditions: []views.TriggerArrival{{Name: "images", Subject: "dataset.registered digits-images@41", URL: "#", At: at(22 * time.Hour)}, {Name: "labels"}}},
		{Key: "2026-11-24", Expires: at(-23 * time.Hour), Conditions: []views.TriggerArrival{{Name: "images"}, {Name: "labels", Subject: "dataset.registered digits-labels@17", At: at(time.Hour)}}},
	}}
	m.Conditions = &views.TriggerConditions{PollURL: "#", Rows: []views.TriggerCondition{
		{Name: "images", About: "New version of dataset digits-images", Joined: &views.TriggerArrival{Name: "images", Subject: "dataset.registered digits-images@41", URL: "#", At: at(22 * time.Hour)}},
		{
			Name: "labels", About: "New object in lake/labels/ (*.csv)", Key: "object.name", Joined: &views.TriggerArrival{Name: "labels", Subject: "labels/2026-11-24.csv", At: at(time.Hour)},
			Polls: &views.TriggerPolls{Attempts: "Poll failed", Error: "lake.example did not respond within 30 s.", Facts: []ui.Fact{{Name: "Last poll", Moment: new(at(5 * time.Minute))}, {Name: "Next poll", Moment: new(at(-5 * time.Minute))}, {Name: "Every", Value: "5 min"}, {Name: "Found", Value: "17 objects, 1 new or changed"}}},
		},
		{
			Name: "approved", About: "Webhook, with a bearer token", Key: "payload.date", Filter: "payload.approved", HookURL: "https://flowforge.example/hooks/01a20ed6-0642-7cf9-a767-37d43b5c9263/approved",
			Ignored: new(outcome("SKIPPED", "Skipped", 8*time.Minute)), Why: "The filter is false: payload.approved",
		},
	}}
	return m
}

func newTriggerForm(f views.Page, kind, name string) views.TriggerForm {
	return views.TriggerForm{
		Page: frame(f, "New trigger", views.SectionTriggers), Heading: "New trigger", Action: "#", Cancel: "#", Kind: kind, Kinds: triggerKinds(name),
		FilterHelp: "An expression. The trigger launches only if it is true, such as object.size > 0", Workflow: "digits.train", Workflows: []string{"digits.train"},
		Inputs: "{\n  \"file\": \"{{ object.uri }}\"\n}", InputsHelp: `A JSON object. Strings can contain expressions: {"file": "{{ object.uri }}"}`, Enabled: true,
	}
}

func bucketTriggerForm(f views.Page) views.TriggerForm {
	m := newTriggerForm(f, "s3", "Bucket")
	m.Name = "daily-files"
	m.Poll = &views.TriggerPollForm{
		Bucket: true, Connections: []ui.Option{{Value: "lake", Name: "lake", Selected: true}}, Prefix: "raw/", Pattern: "*.parquet", Every: "5 min",
		Existing: []ui.Option{{Value: "false", Name: "Ignore", Selected: true}, {Value: "true", Name: "Launch"}},
	}
	return m
}

func addressTriggerForm(f views.Page) views.TriggerForm {
	m := newTriggerForm(f, "http", "HTTP address")
	m.Failed, m.Errors = "The trigger has invalid values.", map[string]string{"address": "Enter a URL that begins with https:// or http://.", "every": "Enter 10 s to 31 days."}
	m.Problems = []ui.Action{{Name: m.Errors["address"], URL: "#trigger-address"}, {Name: m.Errors["every"], URL: "#trigger-every"}}
	m.Name = "rates"
	m.Poll = &views.TriggerPollForm{
		Connections: []ui.Option{{Name: "No connection", Selected: true}, {Value: "portal", Name: "portal"}}, Address: "example.com/rates.json", Every: "1 s",
		When:     []ui.Option{{Value: "changes", Name: "It changes", Selected: true}, {Value: "appears", Name: "It appears"}},
		Existing: []ui.Option{{Value: "false", Name: "Ignore", Selected: true}, {Value: "true", Name: "Launch"}},
	}
	return m
}

func joinTriggerForm(f views.Page) views.TriggerForm {
	m := newTriggerForm(f, "all", "Several events")
	m.Name = "retrain-daily"
	waits := []ui.Option{{Value: "dataset", Name: "A new version of a dataset", Selected: true}, {Value: "model:production", Name: "A model enters production"}}
	m.Join = &views.TriggerJoinForm{CanAdd: true, Within: "24 h", By: "dataset.facts.date", Conditions: []views.TriggerConditionForm{
		{Index: "0", Title: "Condition 1", Name: "images", Sources: "digits-images", Waits: waits, CanRemove: true},
		{Index: "1", Title: "Condition 2", Name: "labels", Sources: "digits-labels", Waits: waits, CanRemove: true, Filter: "dataset.facts.rows > 100"},
		{Index: "2", Title: "Condition 3", Waits: waits, CanRemove: true},
		{
			Index: "3", Title: "Condition 4", Name: "approved", CanRemove: true, By: "payload.date", Waits: []ui.Option{{Value: "webhook", Name: "A webhook arrives", Selected: true}},
			Signatures: []ui.Option{{Value: "bearer", Name: "Bearer token", Selected: true}}, Secrets: []ui.Option{{Name: "Choose a secret"}, {Value: "portal", Name: "portal", Selected: true}},
		},
		{
			Index: "4", Title: "Condition 5", Name: "files", CanRemove: true, By: "object.name", Waits: []ui.Option{{Value: "s3", Name: "An object in a bucket", Selected: true}},
			Buckets: []ui.Option{{Value: "lake", Name: "lake", Selected: true}}, Prefix: "raw/", Every: "5 min", Existing: []ui.Option{{Value: "false", Name: "Ignore", Selected: true}, {Value: "true", Name: "Count as events"}},
		},
	}}
	return m
}
