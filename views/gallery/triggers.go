package gallery

import (
	"time"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

func triggerEntries() []Entry {
	return []Entry{
		{"triggers", "Triggers", func(f views.Page) templ.Component { return views.TriggersPage(triggers(f)) }},
		{"triggers-empty", "Triggers: none", func(f views.Page) templ.Component {
			return views.TriggersPage(views.Triggers{Page: frame(f, "Triggers", views.SectionTriggers), NewURL: "#"})
		}},
		{"trigger", "Trigger: webhook, tested", func(f views.Page) templ.Component { return views.TriggerPage(triggerPage(f)) }},
		{"trigger-polls", "Trigger: polls and repeats a launch", func(f views.Page) templ.Component { return views.TriggerPage(pollingTrigger(f)) }},
		{"trigger-joins", "Trigger: waits for more events", func(f views.Page) templ.Component { return views.TriggerPage(joiningTrigger(f)) }},
		{"trigger-form-bucket", "Trigger form: bucket", func(f views.Page) templ.Component { return views.TriggerFormPage(bucketTriggerForm(f)) }},
		{"trigger-form-address", "Trigger form: HTTP address, with errors", func(f views.Page) templ.Component { return views.TriggerFormPage(addressTriggerForm(f)) }},
		{"trigger-form-all", "Trigger form: several events", func(f views.Page) templ.Component { return views.TriggerFormPage(joinTriggerForm(f)) }},
		{"trigger-form-model", "Trigger form: model", func(f views.Page) templ.Component { return views.TriggerFormPage(modelTriggerForm(f)) }},
		{"trigger-form", "Trigger form: with errors", func(f views.Page) templ.Component { return views.TriggerFormPage(triggerForm(f)) }},
	}
}

func outcome(state, word string, before time.Duration) views.TriggerOutcome {
	return views.TriggerOutcome{State: state, Word: word, At: clock().Moment(ago(before))}
}

func triggerRows() []views.TriggerRow {
	launched, skipped, rejected := outcome("SUCCEEDED", "Launched", time.Hour), outcome("SKIPPED", "Skipped", 8*time.Minute), outcome("FAILED", "Rejected", 3*time.Hour)
	return []views.TriggerRow{
		{
			Name: "deploy-gate", URL: "#", About: "Webhook, signed as by GitHub", Workflow: "digits.train", Enabled: true, Last: &skipped, Launches: "11",
			Outcomes: []views.TriggerOutcome{launched, launched, rejected, launched, skipped}, Label: "Last 5 events: 3 launched, 1 skipped, 0 failed, 1 rejected", SwitchURL: "#", SwitchLabel: "Turn off",
		},
		{Name: "evaluate-after-train", URL: "#", About: "digits.* succeeds", Workflow: "digits.evaluate", Last: &launched, Launches: "1,240", Outcomes: []views.TriggerOutcome{launched, launched}, Label: "Last 2 events: 2 launched", SwitchURL: "#", SwitchLabel: "Turn on"},
		{Name: "daily-files", URL: "#", About: "New object in lake/raw/ (*.parquet)", Workflow: "digits.train", Paused: true, Problem: "Turned off after 12 failed polls in a row. The bucket lake cannot be listed: the store responded with 403 Forbidden. The credentials may not list the bucket.", Launches: "3", SwitchURL: "#", SwitchLabel: "Turn on"},
		{Name: "portal", URL: "#", About: "Webhook, with a bearer token", Workflow: "image.report", Enabled: true, Launches: "0"},
	}
}

func triggers(f views.Page) views.Triggers {
	return views.Triggers{Page: frame(f, "Triggers", views.SectionTriggers), Rows: triggerRows(), Total: 4, States: []ui.Option{{Name: "All states", Selected: true}, {Value: "on", Name: "On"}}, NewURL: "#"}
}

func triggerPage(f views.Page) views.Trigger {
	return views.Trigger{
		Page: frame(f, "deploy-gate", views.SectionTriggers), Row: triggerRows()[0], EditURL: "#", DeleteURL: "#", HookURL: "https://flowforge.example/hooks/01a20ed6-0642-7cf9-a767-37d43b5c9263",
		Facts: []ui.Fact{
			{Name: "Waits for", Value: "Webhook, signed as by GitHub"}, {Name: "Secret", Value: "github-digits", Mono: true},
			{Name: "Filter", Value: `payload.ref == "refs/heads/main"`, Mono: true}, {Name: "Launches", Value: "digits.train", URL: "#", Note: "latest"}, {Name: "Owner", Value: "Amara Okafor"},
		},
		Inputs: "{\n  \"commit\": \"{{ payload.after }}\"\n}",
		Deliveries: []views.TriggerDelivery{
			{TriggerOutcome: outcome("SKIPPED", "Skipped", 8*time.Minute), Subject: "push", Message: `The filter is false: payload.ref == "refs/heads/main"`, Payload: "{\n  \"payload\": {\"ref\": \"refs/heads/docs\"}\n}", RedeliverURL: "#"},
			{TriggerOutcome: outcome("SUCCEEDED", "Launched", time.Hour), Subject: "push", ExecutionURL: "#", Execution: "digits.train #7a9d3c", Payload: "{}", RedeliverURL: "#"},
			{TriggerOutcome: outcome("FAILED", "Failed", 2*time.Hour), Subject: "push", Message: "The launch has invalid values. inputs.commit: Enter a value.", Payload: "{}"},
			{TriggerOutcome: outcome("FAILED", "Rejected", 3*time.Hour), Subject: "push", Message: "The signature in X-Hub-Signature-256 does not match the secret."},
		},
		Pager: ui.Pager{Text: "4 deliveries"}, Event: "{\n  \"payload\": {\"ref\": \"refs/heads/main\", \"after\": \"3f1c9ab\"}\n}", EventHelp: "Expressions can read the payload, the headers (with lower-case names) and the query.", TestURL: "#",
		Trial: &views.TriggerTrial{TriggerOutcome: outcome("SUCCEEDED", "Would launch", 0), Inputs: "{\n  \"commit\": \"3f1c9ab\"\n}"},
	}
}

func triggerForm(f views.Page) views.TriggerForm {
	return views.TriggerForm{
		Page: frame(f, "New trigger", views.SectionTriggers), Heading: "New trigger", Action: "#", Cancel: "#", Kind: "execution", Failed: "The trigger has invalid values.", Problems: []ui.Action{{Name: `Unknown name "payload". Expressions of this trigger read execution.`, URL: "#trigger-filter"}, {Name: "Choose the workflow to launch.", URL: "#trigger-workflow"}},
		Kinds:  triggerKinds("After an execution"),
		Errors: map[string]string{"filter": `Unknown name "payload". Expressions of this trigger read execution.`, "workflow": "Choose the workflow to launch."},
		Name:   "evaluate-after-train", Sources: "digits.*", SourcesLabel: "Workflows whose executions end", SourcesHelp: "One name or pattern per line, such as digits.*", States: []views.NotificationChoice{{Value: "SUCCEEDED", Label: "Succeeded", Chosen: true}, {Value: "FAILED", Label: "Failed"}, {Value: "CANCELLED", Label: "Cancelled"}},
		Filter: "payload.accuracy > 0.9", FilterHelp: "An expression. The trigger launches only if it is true, such as execution.outputs.accuracy > 0.9",
		Workflows: []string{"digits.train"}, Inputs: "{}", InputsHelp: `A JSON object. Strings can contain expressions: {"accuracy": "{{ execution.outputs.accuracy }}"}`, Enabled: true,
	}
}

func triggerKinds(current string) (list []views.TriggerKind) {
	for _, k := range [][2]string{
		{"After an execution", "A workflow succeeds or fails"}, {"Artifact", "A task produces an artifact"}, {"Dataset", "A version is registered"}, {"Model", "A new version or stage"}, {"Event", "Any event in the feed"},
		{"Webhook", "A signed HTTP request"}, {"HTTP address", "The response changes"}, {"Bucket", "An object appears in S3"}, {"Several events", "All events have occurred"},
	} {
		list = append(list, views.TriggerKind{Name: k[0], Help: k[1], URL: "#", Current: k[0] == current})
	}
	return list
}

func modelTriggerForm(f views.Page) views.TriggerForm {
	return views.TriggerForm{
		Page: frame(f, "New trigger", views.SectionTriggers), Heading: "New trigger", Action: "#", Cancel: "#", Kind: "model", Kinds: triggerKinds("Model"),
		Name: "deploy", Sources: "digits", SourcesLabel: "Models", SourcesHelp: "One name or pattern per line, such as digits or vision-*",
		Stages:     []views.NotificationChoice{{Value: "staging", Label: "Staging"}, {Value: "production", Label: "Production", Chosen: true}, {Value: "archived", Label: "Archived"}, {Value: "none", Label: "None"}},
		FilterHelp: `An expression. The trigger launches only if it is true, such as model.version != "1.0.0"`, Workflow: "digits.serve", Workflows: []string{"digits.serve"},
		Inputs: "{\n  \"model\": \"{{ model.value }}\"\n}", InputsHelp: `A JSON object. Strings can contain expressions: {"model": "{{ model.value }}"}`, Enabled: true,
	}
}
