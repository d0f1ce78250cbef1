package views

import "github.com/flowforge/flowforge/views/ui"

// AttemptPods are the pods of the attempts of a node, newest first; page and stream
// share it. It is hidden if no attempt ran as a pod.
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
	Waiting string // the cluster's message while the pod has not started
	Events  []PodEvent
	More    string // number of omitted events
	NoEvent string // text if there are no events
}

// Waits reports whether the latest pod has a message about why it has not started.
func (m AttemptPods) Waits() bool { return len(m.Pods) > 0 && m.Pods[0].Waiting != "" }

// PodClass is the failure class of an attempt.
type PodClass struct {
	Code    string // API value: "out_of_memory"
	Word    string // "Out of memory"
	Hint    string // cause and remedy; the list of attempts has the observed error
	Outside bool   // not caused by the task: retried without using up a retry
}

func (c PodClass) notice() string {
	if c.Outside {
		return "warn"
	}
	return "error"
}

// PodEvent is a Kubernetes event of a pod.
type PodEvent struct {
	Warning         bool
	Reason, Message string
	Count           string // "× 4"; "" for once
	At              ui.Moment
}
