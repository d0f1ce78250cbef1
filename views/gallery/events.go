package gallery

import (
	"time"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

func eventEntries() []Entry {
	return []Entry{
		{"events", "Events: following", func(f views.Page) templ.Component { return views.FeedPage(feed(f)) }},
		{"events-empty", "Events: none match", func(f views.Page) templ.Component {
			m := feed(f)
			m.Rows, m.Filtered, m.Type, m.StreamURL, m.StopURL, m.Pager = nil, true, "model.*", "", "", ui.Pager{}
			return views.FeedPage(m)
		}},
		{"events-wrong", "Events: wrong filter", func(f views.Page) templ.Component {
			m := feed(f)
			m.Rows, m.Filtered, m.Execution, m.StreamURL, m.Pager = nil, true, "12", "", ui.Pager{}
			m.Problem = "Enter the full ID of an execution."
			return views.FeedPage(m)
		}},
		{"consumers", "Consumers of events", func(f views.Page) templ.Component {
			return views.ConsumersPage(views.Consumers{Page: frame(f, "Consumers", views.SectionEvents), Tabs: feedTabs(true), NewURL: "#", Rows: consumerRows()})
		}},
		{"consumers-empty", "Consumers: none", func(f views.Page) templ.Component {
			return views.ConsumersPage(views.Consumers{Page: frame(f, "Consumers", views.SectionEvents), Tabs: feedTabs(true), NewURL: "#"})
		}},
		{"consumer", "Consumer with dead letters", func(f views.Page) templ.Component { return views.ConsumerPage(consumerWithLetters(f)) }},
		{"consumer-sink", "Consumer: the broker is down", func(f views.Page) templ.Component { return views.ConsumerPage(sink(f)) }},
		{"consumer-form", "Consumer form: with errors", func(f views.Page) templ.Component { return views.ConsumerFormPage(consumerForm(f)) }},
	}
}

func feedTabs(consumers bool) []ui.Tab {
	return []ui.Tab{{Name: "Feed", URL: "#", Current: !consumers}, {Name: "Consumers", URL: "#", Current: consumers}}
}

func feedRows() []views.FeedRow {
	row := func(cursor string, before time.Duration, kind, topic, subject, message string) views.FeedRow {
		return views.FeedRow{ID: cursor, Cursor: cursor, At: clock().Exactly(ago(before)), Type: kind, Topic: topic, Subject: subject, URL: "#", Message: message, Payload: "{\n  \"specversion\": \"1.0\",\n  \"type\": \"" + kind + "\"\n}"}
	}
	rows := []views.FeedRow{
		row("4716", 2*time.Second, "execution.succeeded", "workflow", "digits.train", "The execution succeeded."),
		row("4715", 3*time.Second, "node.succeeded", "task", "evaluate", "evaluate succeeded in 4 s."),
		row("4714", time.Minute, "model.stage_changed", "artifact", "digits@2", "Entered production by Amara Okafor"),
		row("4713", 9*time.Minute, "artifact.created", "artifact", "confusion_matrix_of_the_validation_set", "Produced by digits.train, evaluate"),
		row("4712", time.Hour, "quota.updated", "quota", "vision", ""),
		row("4711", 26*time.Hour, "audit.trigger.create", "audit", "deploy-gate", "By Amara Okafor"),
	}
	for i := range 2 {
		rows[i].Execution, rows[i].ExecutionURL = "#8c6804", "#"
	}
	return rows
}

func feed(f views.Page) views.Feed {
	return views.Feed{
		Page: frame(f, "Events", views.SectionEvents), Tabs: feedTabs(false), Topics: []ui.Option{{Name: "All topics", Selected: true}, {Value: "task", Name: "Tasks"}}, Zone: "Europe/Berlin",
		Rows: feedRows(), StopURL: "#", StreamURL: "#", Pager: ui.Pager{Text: "6 events", Older: "#"}, Note: "Many events did not match, so the search stopped here. Older events may match.",
	}
}

func consumerRows() []views.ConsumerRow {
	last := clock().Moment(ago(4 * time.Second))
	return []views.ConsumerRow{
		{Name: "mirror", URL: "#", About: "execution.*, node.failed", State: "SUCCEEDED", Word: "Up to date", Lag: "0", Behind: "–", Last: &last, DeadLetters: "0"},
		{Name: "search-index", URL: "#", About: "model.*, dataset.registered of artifact", State: "RETRYING", Word: "Retrying", Lag: "1,284", Behind: "12 min", Last: &last, DeadLetters: "3", Dead: true},
		{Name: "nats", URL: "#", About: "All topics but audit, all projects, sent to NATS", State: "FAILED", Word: "Not accepted", Lag: "1,000,000+", Behind: "2 d", DeadLetters: "0"},
		{Name: "kafka", URL: "#", About: "All topics but audit, all projects, sent to Kafka", State: "SUCCEEDED", Word: "Up to date", Lag: "0", Behind: "–", Last: &last, DeadLetters: "0"},
	}
}

func consumerWithLetters(f views.Page) views.Consumer {
	failed := clock().Moment(ago(3 * time.Minute))
	rows := feedRows()
	return views.Consumer{
		Page: frame(f, "search-index", views.SectionEvents), Row: consumerRows()[1], Notice: "1 event is delivered again.", Command: "flowforge events consume search-index",
		Problem: "214 events were removed from the feed before the consumer read them.", ProblemText: "Events are kept for a limited time. Read more often, or raise FLOWFORGE_RETENTION_EVENTS.",
		Facts: []ui.Fact{
			{Name: "Lag", Value: "1,284"}, {Name: "Being processed", Value: "10"}, {Name: "Retrying", Value: "1"}, {Name: "Acknowledged", Value: "48,211"}, {Name: "Cursor", Value: "4711", Mono: true},
			{Name: "Last acknowledged", Moment: &failed}, {Name: "Maximum tries", Value: "10"}, {Name: "Created", Value: "by Amara Okafor", Note: "3 d ago"},
		},
		Letters: []views.DeadLetter{
			{FeedRow: rows[2], Tries: "10 tries", Error: "exit status 1: index models-2026: read-only, because the disk is full", FailedAt: &failed},
			{FeedRow: rows[3], Tries: "1 try", Error: "exit status 65: the artifact has no preview", FailedAt: &failed},
		},
		Pager: ui.Pager{Text: "3 dead letters", Older: "#", InOrder: true}, DeleteURL: "#", RedeliverURL: "#", DiscardURL: "#",
	}
}

func sink(f views.Page) views.Consumer {
	return views.Consumer{
		Page: frame(f, "nats", views.SectionEvents), Row: consumerRows()[2], Problem: "The broker does not accept events. They wait in the feed.", ProblemText: "The NATS server at nats.example.com:4222 cannot be reached: no route to host.",
		Facts: []ui.Fact{{Name: "Lag", Value: "1,000,000+"}, {Name: "Last acknowledged", Value: "Never"}}, DeleteURL: "#", RedeliverURL: "#", DiscardURL: "#",
	}
}

func consumerForm(f views.Page) views.ConsumerForm {
	return views.ConsumerForm{
		Page: frame(f, "New consumer", views.SectionEvents), Failed: "The consumer has invalid values.", Name: "search index", Types: "model.*\nA", MaxTries: "0",
		Errors: map[string]string{"name": "Enter a name of letters, digits, dots, hyphens and underscores, up to 100 characters, that begins with a letter or a digit.", "types": `"A" is not a type of events or a pattern such as execution.*`, "max_tries": "Enter 1 to 100."},
		Topics: []views.NotificationChoice{{Value: "workflow", Label: "Executions"}, {Value: "task", Label: "Tasks"}, {Value: "artifact", Label: "Artifacts and models", Chosen: true}},
		Starts: []ui.Option{{Value: "newest", Name: "New events", Selected: true}, {Value: "oldest", Name: "The oldest event that is kept"}}, Scopes: []ui.Option{{Value: "project", Name: "This project", Selected: true}, {Value: "all", Name: "All projects"}},
	}
}
