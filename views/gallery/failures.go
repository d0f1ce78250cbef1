package gallery

import (
	"time"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// failureEntries are the pages of dead letters, circuit breakers and retry budgets.
func failureEntries() []Entry {
	return []Entry{
		{"dead-letters", "Failures: dead letters", func(f views.Page) templ.Component { return views.DeadLettersPage(deadLetters(f)) }},
		{"dead-letters-empty", "Failures: no dead letters", func(f views.Page) templ.Component {
			return views.DeadLettersPage(views.DeadLetters{Page: frame(f, "Failures", views.SectionFailures), Lead: "This project has no dead letters."})
		}},
		{"breakers", "Failures: circuit breakers", func(f views.Page) templ.Component { return views.BreakersPage(breakers(f)) }},
		{"breakers-empty", "Failures: no circuit breaker", func(f views.Page) templ.Component {
			return views.BreakersPage(views.Breakers{Page: frame(f, "Circuit breakers", views.SectionFailures), Lead: "No circuit breaker of this project is open."})
		}},
		{"retry-budgets", "Failures: retry budgets", func(f views.Page) templ.Component { return views.RetryBudgetsPage(retryBudgets(f, false)) }},
		{"retry-budgets-refused", "Failures: an invalid budget", func(f views.Page) templ.Component { return views.RetryBudgetsPage(retryBudgets(f, true)) }},
	}
}

func deadLetters(f views.Page) views.DeadLetters {
	run := "0192f0c4-7a6e-7cc1-9a51-3f6f8a1f2b11"
	letter := func(node, class, attempts, message string, since time.Duration) views.DeadLetterLine {
		return views.DeadLetterLine{
			ID: "0192f0c4-7a6e-7cc1-9a51-3f6f8a1f2b12", Node: node, URL: views.NodeURL(run, node), Sub: "churn.train 2.1.0 · 8a1f2b11", SubURL: views.ExecutionURL(run),
			Class: class, Attempts: attempts, Message: message, When: clock().Moment(ago(since)), DismissTo: views.DeadLetterDismissURL("1"),
		}
	}
	live := letter("fetch", "network", "4 attempts", "ConnectionRefusedError: [Errno 111] Connection refused (exit code 1, all 4 attempts)", 4*time.Minute)
	live.RequeueTo, live.Requeue = views.DeadLetterRequeueURL("1"), "Run again"
	ended := letter("train[17]", "out of memory", "3 attempts", "Attempt 3: The command was killed because memory ran out; its limit is 65536 MiB. Attempt 1: The command was killed because memory ran out; its limit is 16384 MiB. Attempt 2: The command was killed because memory ran out; its limit is 32768 MiB.", 3*time.Hour)
	ended.RequeueTo, ended.Requeue = views.DeadLetterRequeueURL("2"), "Resume from here"
	return views.DeadLetters{
		Page: frame(f, "Failures", views.SectionFailures), Open: "2", Lead: "2 tasks failed after their last retry. 1 event was not delivered.",
		Classes: []ui.Choice{
			{Name: "All", URL: views.DeadLettersURL("", ""), Current: true}, {Name: "User error", URL: views.DeadLettersURL("user_error", "")},
			{Name: "Out of memory", URL: views.DeadLettersURL("out_of_memory", "")}, {Name: "Preempted", URL: views.DeadLettersURL("preempted", "")},
			{Name: "Node lost", URL: views.DeadLettersURL("node_lost", "")}, {Name: "Image", URL: views.DeadLettersURL("image", "")},
			{Name: "Could not start", URL: views.DeadLettersURL("start", "")}, {Name: "Timeout", URL: views.DeadLettersURL("timeout", "")},
			{Name: "Network", URL: views.DeadLettersURL("network", "")},
		},
		DeadLetters: []views.DeadLetterLine{live, ended}, DismissAll: &views.DismissAll{Count: 2, Newest: live.ID},
		Deliveries: []views.DeliveryLine{{
			What: "Completion of churn.train 2.1.0", URL: views.ExecutionURL(run), Sub: "8a1f2b11 · 25 attempts", Message: "write facts: dial tcp 10.2.0.7:9000: connect: connection refused",
			ID: "41", When: clock().Moment(ago(26 * time.Hour)), RequeueTo: views.DeliveryRequeueURL("41"), DismissTo: views.DeliveryDismissURL("41"),
		}},
		Notice: &views.AdminNotice{Kind: "ok", Strong: "Dismissed.", Text: "The failure remains in the audit log and on the page of its execution."},
	}
}

func breakers(f views.Page) views.Breakers {
	row := func(operator, state, text, waiting, failures, last string, since time.Duration) views.BreakerLine {
		return views.BreakerLine{
			Operator: operator, Workflow: "churn.train 2.1.0", URL: views.WorkflowURL("churn.train"), State: state, StateText: text, Waiting: waiting,
			Rule: "5 failures within 10 min", Failures: failures, Last: last, LastURL: views.NodeURL("0192f0c4-7a6e-7cc1-9a51-3f6f8a1f2b11", "fetch"), When: clock().Moment(ago(since)),
			ResetTo: views.BreakerResetURL("1"),
		}
	}
	closed := row("publish", "SUCCEEDED", "closed", "", "0 failures since the last success", "The command exited with code 1.", 50*time.Hour)
	closed.ResetTo = ""
	return views.Breakers{
		Page: frame(f, "Circuit breakers", views.SectionFailures), Lead: "2 circuit breakers are open. 14 nodes are waiting.",
		Rows: []views.BreakerLine{
			row("fetch", "FAILED", "open; next trial at 14:15:02", "12 nodes are waiting", "5 failures since the last success", "The command exited with code 1: ConnectionRefusedError: [Errno 111] Connection refused", 2*time.Minute),
			row("tune/score", "RETRYING", "half open; one trial is running", "2 nodes are waiting", "5 failures since the last success", "The server responded with status 503.", 9*time.Minute),
			closed,
		},
	}
}

func retryBudgets(f views.Page, refused bool) views.RetryBudgets {
	field := func(name, label, help, value string) views.AdminField {
		return views.AdminField{ID: "budget-" + name, Name: name, Label: label, Help: help, Value: value}
	}
	reason := field("reason", "Reason", "For the audit log.", "")
	reason.Optional = true
	form := &views.RetryBudgetForm{Version: "3", Set: true, Fields: []views.AdminField{
		field("retries", "Retries", "Limit for the executions of all projects together.", "600"), field("per", "In each", "For example: 1m, 1h or 24h.", "1h"),
		field("burst", "At once", "Maximum number of unused retries that accumulate.", "100"), reason,
	}}
	m := views.RetryBudgets{
		Page: frame(f, "Retry budgets", views.SectionFailures),
		Tenant: []ui.Fact{
			{Name: "Retries", Value: "600 in each 1 h", Note: "at once 100"}, {Name: "Left now", Value: "0"}, {Name: "Delayed so far", Value: "1,204"},
			{Name: "Set by", Value: "Mei Tanaka", Note: "Fri 09:14"},
		},
		Form: form,
		Workflows: []views.WorkflowBudgetLine{
			{Workflow: "churn.train", URL: views.WorkflowURL("churn.train"), Rule: "20 retries in 1 h", Left: "0", Next: clock().Exactly(now().Add(12 * time.Minute)), Delayed: "38"},
			{Workflow: "digits.train", URL: views.WorkflowURL("digits.train"), Rule: "5 retries in 10 min", Left: "4", Delayed: "0"},
		},
	}
	if refused {
		form.Fields[1].Value, form.Fields[1].Error = "an hour", "Enter a duration from 1s to 720h."
		form.Problems = &views.AdminProblems{Title: "The budget was not saved", Links: []views.Crumb{{Name: form.Fields[1].Error, URL: "#budget-per"}}}
	}
	return m
}
