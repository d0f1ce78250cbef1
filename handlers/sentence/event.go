// Package sentence writes events and reasons of executions as sentences, for pages and the
// API.
package sentence

import (
	"fmt"
	"strings"

	"github.com/flowforge/flowforge/engine/execution/query"
)

// eventWord is the text of an event kind, and the state whose icon it shows.
type eventWord struct{ state, words string }

func eventWords() map[query.EventKind]eventWord {
	return map[query.EventKind]eventWord{
		query.EventExecutionLaunched:        {"PENDING", "launched"},
		query.EventExecutionStarted:         {"RUNNING", "started"},
		query.EventExecutionWaiting:         {"READY", "is waiting"},
		query.EventExecutionCancelRequested: {"CANCELLED", "is being cancelled"},
		query.EventExecutionHalted:          {"FAILED", "is stopping"},
		query.EventExecutionSucceeded:       {"SUCCEEDED", "succeeded"},
		query.EventExecutionFailed:          {"FAILED", "failed"},
		query.EventExecutionCancelled:       {"CANCELLED", "was cancelled"},
		query.EventExecutionPaused:          {"PAUSED", "was paused"},
		query.EventExecutionUnpaused:        {"RUNNING", "continued"},
		query.EventNodeExpanded:             {"RUNNING", "started"},
		query.EventNodeHalted:               {"FAILED", "is stopping"},
		query.EventNodeHeld:                 {"PAUSED", "is held"},
		query.EventNodeReleased:             {"READY", "was released"},
		query.EventNodeReopened:             {"PENDING", "runs again"},
		query.EventNodeApproved:             {"SUCCEEDED", "was answered"},
		query.EventNodeRejected:             {"FAILED", "was rejected"},
		query.EventNodeReady:                {"READY", "is ready"},
		query.EventNodeWaiting:              {"READY", "is waiting"},
		query.EventNodeQueued:               {"QUEUED", "was queued"},
		query.EventNodePodWaiting:           {"QUEUED", "is waiting to start"},
		query.EventNodeStarted:              {"RUNNING", "started"},
		query.EventNodeOrdered:              {"READY", "changed its request"},
		query.EventNodePreempting:           {"RETRYING", "is being preempted"},
		query.EventNodePreempted:            {"RETRYING", "was preempted"},
		query.EventBreakerOpened:            {"FAILED", "opened a circuit breaker"},
		query.EventBreakerTrial:             {"RETRYING", "is a trial of a circuit breaker"},
		query.EventBreakerClosed:            {"SUCCEEDED", "closed a circuit breaker"},
		query.EventMetricFailed:             {"FAILED", "could not report a metric"},
		query.EventNodeRetrying:             {"RETRYING", "is retrying"},
		query.EventNodeRecalled:             {"PENDING", "is waiting for its source to restart"},
		query.EventNodeServing:              {"RUNNING", "is serving"},
		query.EventNodeStopping:             {"CANCELLED", "is stopping"},
		query.EventNodeSucceeded:            {"SUCCEEDED", "succeeded"},
		query.EventNodeFailed:               {"FAILED", "failed"},
		query.EventNodeSkipped:              {"SKIPPED", "was skipped"},
		query.EventNodeCancelled:            {"CANCELLED", "was cancelled"},
	}
}

// Words is the text of an event kind without its subject: "was queued".
func Words(kind string) string { return eventWords()[query.EventKind(kind)].words }

// State is the state whose icon represents an event of this kind.
func State(kind string) string {
	if w, ok := eventWords()[query.EventKind(kind)]; ok {
		return w.state
	}
	return "PENDING"
}

// Event describes an event in a sentence: "train started, attempt 2".
func Event(e query.Event) string {
	if e.Kind == string(query.EventExecutionLaunched) && e.Message != "" {
		return e.Message
	}
	who := e.Node
	if who == "" || strings.HasPrefix(e.Kind, "execution.") {
		who = "The execution"
	}
	text := who + " " + strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(e.Kind, "node."), "execution."), "_", " ")
	if w, ok := eventWords()[query.EventKind(e.Kind)]; ok {
		text = who + " " + w.words
	}
	if e.Kind == string(query.EventNodeWaiting) && strings.HasPrefix(e.Message, "Waiting ") {
		return Waits(who, e.Message)
	}
	if retry, ok := strings.CutPrefix(e.Message, "Retrying "); ok && e.Kind == string(query.EventNodeRetrying) {
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

// Waits adds the subject to a reason: "train is waiting for CPU: …".
func Waits(who, reason string) string {
	if who != "" && strings.HasPrefix(reason, "Waiting ") {
		return who + " is w" + reason[1:]
	}
	return strings.TrimPrefix(who+": "+reason, ": ")
}
