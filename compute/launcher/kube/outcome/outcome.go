// Package outcome derives the state of an attempt from its pod: why it has not started,
// or how it ended if its runner cannot report it, each with a class for programs and a
// message that includes the cluster's own. It is pure: the same pod at the same time
// gives the same verdict.
package outcome

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

// Config configures timeouts. A timeout of 0 means no limit.
type Config struct {
	Container      string        // runs the task; "": "task"
	ImageTimeout   time.Duration // how long an image may fail to be pulled before the attempt ends
	StartTimeout   time.Duration // for a container that cannot be created, for example because of a missing Secret
	PendingTimeout time.Duration // for a pod that cannot be scheduled
}

func (c Config) container() string {
	if c.Container == "" {
		return "task"
	}
	return c.Container
}

// Pod is what is known about an attempt's pod.
type Pod struct {
	Object         *corev1.Pod
	Gone           bool   // a live lookup has confirmed that it no longer exists
	NamespaceGoing bool   // its namespace is being deleted
	MachineLost    string // why its machine counts as lost; "": it does not
	Warning        string // message of its latest warning event
	Overdue        bool   // its runner claims to have reported, but the server has no result
}

// Verdict is the state of an attempt derived from its pod. Nil fields have no meaning.
type Verdict struct {
	Location *launcher.Location
	Waiting  *launcher.Waiting
	Serving  *launcher.Serving
	End      *launcher.End
	Again    time.Time // when to evaluate again without a change; zero: never
	Log      string    // the container whose log explains the End; "": none
}

// Of evaluates a pod at a given time.
func Of(p Pod, c Config, now time.Time) Verdict {
	v := Verdict{Location: locationOf(p.Object)}
	j := evaluation{pod: p, config: c, now: now, task: status(p.Object.Status.ContainerStatuses, c.container())}
	j.message = readReport(j.task)
	if j.message != nil && j.message.Reported && !p.Overdue {
		v.End = j.interruption()
		return v
	}
	for _, look := range []func(*Verdict) bool{
		j.runnerReport, j.podStatus, j.lost, j.deleted, j.init, j.command, j.rejected, j.waiting,
	} {
		if look(&v) {
			break
		}
	}
	if v.End == nil {
		v.Serving = j.serving()
	}
	if v.End != nil {
		v.Waiting = nil
		v.End.StartedAt = j.startedAt()
		if v.End.FinishedAt.IsZero() {
			v.End.FinishedAt = now
		}
	}
	return v
}

// Ended reports whether no process of the task runs in a pod.
func Ended(pod *corev1.Pod, c Config) bool {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return true
	}
	task := status(pod.Status.ContainerStatuses, c.container())
	return task != nil && task.State.Terminated != nil
}

// Started reports whether the task's container was started.
func Started(pod *corev1.Pod, c Config) bool {
	task := status(pod.Status.ContainerStatuses, c.container())
	return task != nil && (task.State.Running != nil || task.State.Terminated != nil)
}

// evaluation holds the state of one evaluation.
type evaluation struct {
	pod     Pod
	config  Config
	now     time.Time
	task    *corev1.ContainerStatus // of the task's container; nil before it exists
	message *launcher.Termination   // report of its runner; nil: none
}

// serving returns the address of an attempt that serves others; nil for other attempts,
// and until its pod is ready.
func (j *evaluation) serving() *launcher.Serving {
	p := j.pod.Object
	ready := condition(p, corev1.PodReady)
	if p.Labels[pod.LabelServes] == "" || ready == nil || ready.Status != corev1.ConditionTrue || p.Status.PodIP == "" || p.DeletionTimestamp != nil {
		return nil
	}
	return &launcher.Serving{Address: p.Status.PodIP}
}

func locationOf(pod *corev1.Pod) *launcher.Location {
	return &launcher.Location{Namespace: pod.Namespace, Pod: pod.Name, Machine: pod.Spec.NodeName}
}

func status(all []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}

// ended returns how the task's container ended, or nil.
func (j *evaluation) ended() *corev1.ContainerStateTerminated {
	if j.task == nil {
		return nil
	}
	return j.task.State.Terminated
}

func (j *evaluation) startedAt() *time.Time {
	var at time.Time
	switch {
	case j.task == nil:
	case j.task.State.Running != nil:
		at = j.task.State.Running.StartedAt.Time
	case j.task.State.Terminated != nil:
		at = j.task.State.Terminated.StartedAt.Time
	}
	if at.IsZero() || at.Unix() == 0 {
		return nil
	}
	return &at
}

// over reports whether the task has ended, as far as is known.
func (j *evaluation) over() bool {
	phase := j.pod.Object.Status.Phase
	return j.pod.Gone || j.pod.MachineLost != "" || phase == corev1.PodFailed || phase == corev1.PodSucceeded || j.ended() != nil
}
