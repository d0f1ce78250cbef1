package views

import "github.com/flowforge/flowforge/views/ui"

// AttemptPods is where the attempts of a node ran, the latest first; page and stream
// share it. It is hidden while nothing ran as a pod.
type AttemptPods struct {
	Pods []AttemptPod
	More string // "3 earlier ones"
}

// AttemptPodsID is the element id of the pods on a node's page.
func AttemptPodsID() string { return "node-pods" }

// AttemptPod is the pod of one attempt, or the pods of a gang.
type AttemptPod struct {
	Attempt string // "2"
	State   string // of the attempt
	Class   *PodClass
	Facts   []ui.Fact
	Waiting string // the cluster's words while it has not begun
	Events  []PodEvent
	More    string // of events that are not shown
	NoEvent string // said in place of events
}

// Waits reports whether the latest pod tells why it has not begun.
func (m AttemptPods) Waits() bool { return len(m.Pods) > 0 && m.Pods[0].Waiting != "" }

// PodClass is what kind of end an attempt came to.
type PodClass struct {
	Code    string // as the API says it: "out_of_memory"
	Word    string // "Out of memory"
	Hint    string // what it means and what can be done; what was seen stands in the list of attempts
	Outside bool   // not the task's doing: it is tried again without costing a retry
}

func (c PodClass) notice() string {
	if c.Outside {
		return "warn"
	}
	return "error"
}

// PodEvent is an event of a pod as the cluster told it.
type PodEvent struct {
	Warning         bool
	Reason, Message string
	Count           string // "× 4"; "" for once
	At              ui.Moment
}
