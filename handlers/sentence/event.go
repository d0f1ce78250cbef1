// Package sentence writes events and reasons of executions as sentences, for pages and the
// API.
package sentence

import (
	"fmt"
	"strings"

	"github.com/flowforge/flowforge/engine/execution"
)

// eventWord is the text of an event kind, and the state whose icon it shows.
type eventWord struct{ state, words string }

func eventWords() map[string]eventWord {
	return map[string]eventWord{
		"execution.launched":         {"PENDING", "launched"},
		"execution.started":          {"RUNNING", "started"},
		"execution.waiting":          {"READY", "is waiting"},
		"execution.cancel_requested": {"CANCELLED", "is being cancelled"},
		"execution.halted":           {"FAILED", "is stopping"},
		"execution.succeeded":        {"SUCCEEDED", "succeeded"},
		"execution.failed":           {"FAILED", "failed"},
		"execution.cancelled":        {"CANCELLED", "was cancelled"},
		"execution.paused":           {"PAUSED", "was paused"},
		"execution.unpaused":         {"RUNNING", "continued"},
		"node.expanded":              {"RUNNING", "started"},
		"node.halted":                {"FAILED", "is stopping"},
		"node.held":                  {"PAUSED", "is held"},
		"node.released":              {"READY", "was released"},
		"node.reopened":              {"PENDING", "runs again"},
		"node.approved":              {"SUCCEEDED", "was answered"},
		"node.rejected":              {"FAILED", "was rejected"},
		"node.ready":                 {"READY", "is ready"},
		"node.waiting":               {"READY", "is waiting"},
		"node.queued":                {"QUEUED", "was queued"},
		"node.pod_waiting":           {"QUEUED", "is waiting for its pod"},
		"node.started":               {"RUNNING", "started"},
		"node.ordered":               {"READY", "changed its request"},
		"node.preempting":            {"RETRYING", "is being preempted"},
		"node.preempted":             {"RETRYING", "was preempted"},
		"breaker.opened":             {"FAILED", "opened a circuit breaker"},
		"breaker.trial":              {"RETRYING", "is a trial of a circuit breaker"},
		"breaker.closed":             {"SUCCEEDED", "closed a circuit breaker"},
		"metric.failed":              {"FAILED", "could not report a metric"},
		"node.retrying":              {"RETRYING", "is retrying"},
		"node.recalled":              {"PENDING", "is waiting for its source to restart"},
		"node.serving":               {"RUNNING", "is serving"},
		"node.stopping":              {"CANCELLED", "is stopping"},
		"node.succeeded":             {"SUCCEEDED", "succeeded"},
		"node.failed":                {"FAILED", "failed"},
		"node.skipped":               {"SKIPPED", "was skipped"},
		"node.cancelled":             {"CANCELLED", "was cancelled"},
	}
}

// Words is the text of an event kind without its subject: "was queued".
func Words(kind string) string { return eventWords()[kind].words }

// State is the state whose icon represents an event of this kind.
func State(kind string) string {
	if w, ok := eventWords()[kind]; ok {
		return w.state
	}
	return "PENDING"
}

// Event describes an event in a sentence: "train started, attempt 2".
func Event(e execution.Event) string {
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
		return Waits(who, e.Message)
	}
	if retry, ok := strings.CutPrefix(e.Message, "Retrying "); ok && e.Kind == "node.retrying" {
		return "Retrying " + who + " " + retry
	}
	if e.Attempt > 1 {
		text += fmt.Sprintf(", attempt %d", e.Attempt)
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Waits adds the subject to a reason: "train waits for CPU: …".
func Waits(who, reason string) string {
	if who != "" && strings.HasPrefix(reason, "Waits ") {
		return who + " w" + reason[1:]
	}
	return strings.TrimPrefix(who+": "+reason, ": ")
}
