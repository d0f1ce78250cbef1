package handlers

import (
	"fmt"
	"strings"

	"github.com/flowforge/flowforge/execution"
)

// eventWord is an event kind in words with the state whose icon it shows.
type eventWord struct{ state, words string }

func eventWords() map[string]eventWord {
	return map[string]eventWord{
		"execution.launched":         {"PENDING", "launched"},
		"execution.started":          {"RUNNING", "started"},
		"execution.waiting":          {"READY", "waits"},
		"execution.cancel_requested": {"CANCELLED", "is being cancelled"},
		"execution.halted":           {"FAILED", "stops"},
		"execution.succeeded":        {"SUCCEEDED", "succeeded"},
		"execution.failed":           {"FAILED", "failed"},
		"execution.cancelled":        {"CANCELLED", "was cancelled"},
		"execution.paused":           {"PAUSED", "was paused"},
		"execution.unpaused":         {"RUNNING", "goes on"},
		"node.expanded":              {"RUNNING", "began"},
		"node.halted":                {"FAILED", "stops"},
		"node.held":                  {"PAUSED", "is held back"},
		"node.released":              {"READY", "is released"},
		"node.reopened":              {"PENDING", "runs again"},
		"node.approved":              {"SUCCEEDED", "was answered"},
		"node.rejected":              {"FAILED", "was rejected"},
		"node.ready":                 {"READY", "may start"},
		"node.waiting":               {"READY", "waits"},
		"node.queued":                {"QUEUED", "is handed over to start"},
		"node.pod_waiting":           {"QUEUED", "waits for its pod"},
		"node.started":               {"RUNNING", "started"},
		"node.ordered":               {"READY", "asks otherwise"},
		"node.preempting":            {"RETRYING", "is asked to make room"},
		"node.preempted":             {"RETRYING", "made room"},
		"breaker.opened":             {"FAILED", "opened a circuit breaker"},
		"breaker.trial":              {"RETRYING", "is let through a circuit breaker"},
		"breaker.closed":             {"SUCCEEDED", "closed a circuit breaker"},
		"metric.failed":              {"FAILED", "could not tell a metric"},
		"node.retrying":              {"RETRYING", "is tried again"},
		"node.recalled":              {"PENDING", "waits for what it reads to begin again"},
		"node.serving":               {"RUNNING", "serves others"},
		"node.stopping":              {"CANCELLED", "is told to stop"},
		"node.succeeded":             {"SUCCEEDED", "succeeded"},
		"node.failed":                {"FAILED", "failed"},
		"node.skipped":               {"SKIPPED", "was skipped"},
		"node.cancelled":             {"CANCELLED", "was cancelled"},
	}
}

func eventState(kind string) string {
	if w, ok := eventWords()[kind]; ok {
		return w.state
	}
	return "PENDING"
}

// eventText tells an event in a sentence: "train started, attempt 2".
func eventText(e execution.Event) string {
	if e.Kind == "execution.launched" && e.Message != "" {
		return e.Message
	}
	who := e.Node
	if who == "" || strings.HasPrefix(e.Kind, "execution.") {
		who = "The execution"
	}
	text := who + " " + strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(e.Kind, "node."), "execution."), "_", " ")
	if w, ok := eventWords()[e.Kind]; ok {
		text = who + " " + w.words
	}
	if e.Kind == "node.waiting" && strings.HasPrefix(e.Message, "Waits ") {
		return waitsText(who, e.Message)
	}
	if e.Attempt > 1 {
		text += fmt.Sprintf(", attempt %d", e.Attempt)
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// waitsText says of whom a reason is: "train waits for CPU: …".
func waitsText(who, reason string) string {
	if who != "" && strings.HasPrefix(reason, "Waits ") {
		return who + " w" + reason[1:]
	}
	return strings.TrimPrefix(who+": "+reason, ": ")
}
