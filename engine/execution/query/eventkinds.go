package query

// EventKind is what an event of an execution reports. handlers/sentence has the words.
type EventKind string

// Events of an execution.
const (
	EventExecutionLaunched        EventKind = "execution.launched"
	EventExecutionStarted         EventKind = "execution.started"
	EventExecutionWaiting         EventKind = "execution.waiting"
	EventExecutionCancelRequested EventKind = "execution.cancel_requested"
	EventExecutionHalted          EventKind = "execution.halted"
	EventExecutionSucceeded       EventKind = "execution.succeeded"
	EventExecutionFailed          EventKind = "execution.failed"
	EventExecutionCancelled       EventKind = "execution.cancelled"
	EventExecutionPaused          EventKind = "execution.paused"
	EventExecutionUnpaused        EventKind = "execution.unpaused"
)

// Events of a node.
const (
	EventNodeExpanded   EventKind = "node.expanded"
	EventNodeHalted     EventKind = "node.halted"
	EventNodeHeld       EventKind = "node.held"
	EventNodeReleased   EventKind = "node.released"
	EventNodeReopened   EventKind = "node.reopened"
	EventNodeApproved   EventKind = "node.approved"
	EventNodeRejected   EventKind = "node.rejected"
	EventNodeReady      EventKind = "node.ready"
	EventNodeWaiting    EventKind = "node.waiting"
	EventNodeQueued     EventKind = "node.queued"
	EventNodePodWaiting EventKind = "node.pod_waiting"
	EventNodeStarted    EventKind = "node.started"
	EventNodeOrdered    EventKind = "node.ordered"
	EventNodePreempting EventKind = "node.preempting"
	EventNodePreempted  EventKind = "node.preempted"
	EventNodeRetrying   EventKind = "node.retrying"
	EventNodeRecalled   EventKind = "node.recalled"
	EventNodeServing    EventKind = "node.serving"
	EventNodeStopping   EventKind = "node.stopping"
	EventNodeSucceeded  EventKind = "node.succeeded"
	EventNodeFailed     EventKind = "node.failed"
	EventNodeSkipped    EventKind = "node.skipped"
	EventNodeCancelled  EventKind = "node.cancelled"
)

// Events of a circuit breaker.
const (
	EventBreakerOpened EventKind = "breaker.opened"
	EventBreakerTrial  EventKind = "breaker.trial"
	EventBreakerClosed EventKind = "breaker.closed"
)

// Events of metrics.
const (
	EventMetricFailed EventKind = "metric.failed"
)

// EventKinds returns all kinds.
func EventKinds() []EventKind {
	return []EventKind{
		EventExecutionLaunched, EventExecutionStarted, EventExecutionWaiting,
		EventExecutionCancelRequested, EventExecutionHalted, EventExecutionSucceeded,
		EventExecutionFailed, EventExecutionCancelled, EventExecutionPaused,
		EventExecutionUnpaused,
		EventNodeExpanded, EventNodeHalted, EventNodeHeld, EventNodeReleased,
		EventNodeReopened, EventNodeApproved, EventNodeRejected, EventNodeReady,
		EventNodeWaiting, EventNodeQueued, EventNodePodWaiting, EventNodeStarted,
		EventNodeOrdered, EventNodePreempting, EventNodePreempted, EventNodeRetrying,
		EventNodeRecalled, EventNodeServing, EventNodeStopping, EventNodeSucceeded,
		EventNodeFailed, EventNodeSkipped, EventNodeCancelled,
		EventBreakerOpened, EventBreakerTrial, EventBreakerClosed,
		EventMetricFailed,
	}
}
