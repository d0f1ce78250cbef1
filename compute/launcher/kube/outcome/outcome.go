// Package outcome reads from a pod what became of the attempt in it: why it has
// not begun, or how it ended where its runner cannot say so, each with a class for
// programs and a sentence for people that keeps the cluster's own words. It is
// pure: the same pod at the same time gives the same verdict.
package outcome

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

// Config says how patient verdicts are. A time of 0 means for ever.
type Config struct {
	Container      string        // runs the task; "": "task"
	ImageTimeout   time.Duration // from when an image is wanted to the end over its not being had
	StartTimeout   time.Duration // for a container that cannot be made, such as for a missing Secret
	PendingTimeout time.Duration // for a pod that no machine takes
}

func (c Config) container() string {
	if c.Container == "" {
		return "task"
	}
	return c.Container
}

// Pod is what is known of an attempt's pod.
type Pod struct {
	Object         *corev1.Pod
	Gone           bool   // a live look has confirmed that it is not there any more
	NamespaceGoing bool   // its namespace is being deleted
	MachineLost    string // why its machine counts as lost; "" while it does not
	Warning        string // the words of its latest warning event
	Overdue        bool   // its runner says that it reported, and the server has no result
}

// Verdict is what a pod says of its attempt. Nil fields say nothing.
type Verdict struct {
	Location *launcher.Location
	Waiting  *launcher.Waiting
	Serving  *launcher.Serving
	End      *launcher.End
	Again    time.Time // when to judge anew although nothing changes; zero: never
	Log      string    // the container whose log tells more of the End; "": none
}

// Of judges a pod at a time.
func Of(p Pod, c Config, now time.Time) Verdict {
	v := Verdict{Location: locationOf(p.Object)}
	j := judge{pod: p, config: c, now: now, task: status(p.Object.Status.ContainerStatuses, c.container())}
	j.said = readReport(j.task)
	if j.said != nil && j.said.Reported && !p.Overdue {
		v.End = j.interruption()
		return v
	}
	for _, look := range []func(*Verdict) bool{
		j.runnerReport, j.whole, j.lost, j.gone, j.init, j.command, j.rejected, j.waiting,
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

// Ended reports whether nothing of the task runs in a pod any more.
func Ended(pod *corev1.Pod, c Config) bool {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return true
	}
	task := status(pod.Status.ContainerStatuses, c.container())
	return task != nil && task.State.Terminated != nil
}

// Begun reports whether the task's container was started.
func Begun(pod *corev1.Pod, c Config) bool {
	task := status(pod.Status.ContainerStatuses, c.container())
	return task != nil && (task.State.Running != nil || task.State.Terminated != nil)
}

// judge holds what the looks at one pod share.
type judge struct {
	pod    Pod
	config Config
	now    time.Time
	task   *corev1.ContainerStatus // of the task's container; nil before there is one
	said   *launcher.Termination   // what its runner left; nil: nothing
}

// serving says where an attempt that serves others does so; nil for any other, and while
// its pod is not ready.
func (j *judge) serving() *launcher.Serving {
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

// ended is how the task's container ended, or nil.
func (j *judge) ended() *corev1.ContainerStateTerminated {
	if j.task == nil {
		return nil
	}
	return j.task.State.Terminated
}

func (j *judge) startedAt() *time.Time {
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

// over is whether the task runs no more, as far as anybody can tell.
func (j *judge) over() bool {
	phase := j.pod.Object.Status.Phase
	return j.pod.Gone || j.pod.MachineLost != "" || phase == corev1.PodFailed || phase == corev1.PodSucceeded || j.ended() != nil
}
