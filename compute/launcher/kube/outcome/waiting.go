package outcome

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flowforge/flowforge/compute/launcher"
)

// waiting judges a pod whose task has not begun and may still begin.
func (j *judge) waiting(v *Verdict) bool {
	if j.pod.Object.DeletionTimestamp != nil {
		return true
	}
	if j.member(v) {
		return true
	}
	if j.task != nil && j.task.State.Running != nil { // of interest until its runner reports
		return wait(v, launcher.WaitStarting, "The pod runs; its runner prepares the task.")
	}
	if j.pod.Object.Spec.NodeName == "" {
		j.unplaced(v)
		return true
	}
	for _, s := range j.statuses() {
		if w := s.State.Waiting; w != nil && j.stuck(v, s, w) {
			return true
		}
		if s.State.Running != nil && !j.sidecar(s.Name) {
			return wait(v, launcher.WaitStarting, fmt.Sprintf("The init container %q runs.", s.Name))
		}
	}
	message := "The pod's containers are being created."
	if j.pod.Warning != "" {
		message = "The pod's containers cannot be created yet: " + words(j.pod.Warning, "")
	}
	return wait(v, launcher.WaitStarting, message)
}

// statuses are those of the init containers in their order, and the task's.
func (j *judge) statuses() []corev1.ContainerStatus {
	s := j.pod.Object.Status
	return append(append(make([]corev1.ContainerStatus, 0, len(s.InitContainerStatuses)+len(s.ContainerStatuses)),
		s.InitContainerStatuses...), s.ContainerStatuses...)
}

// member judges by containers beside the task's that cannot begin: it waits for them.
func (j *judge) member(v *Verdict) bool {
	for _, s := range j.pod.Object.Status.ContainerStatuses {
		if w := s.State.Waiting; w != nil && s.Name != j.config.container() && j.stuck(v, s, w) {
			return true
		}
	}
	return false
}

// unplaced judges a pod that no machine has taken.
func (j *judge) unplaced(v *Verdict) {
	c := condition(j.pod.Object, corev1.PodScheduled)
	switch {
	case c == nil || c.Status == corev1.ConditionTrue:
		wait(v, launcher.WaitStarting, "The pod waits for the cluster's scheduler.")
		return
	case c.Reason == corev1.PodReasonSchedulingGated:
		wait(v, launcher.WaitGang, "The pod is held back until all pods of its attempt may be placed.")
		return
	}
	said := words(withoutPreemption(c.Message), "its scheduler gives no reason.")
	wait(v, launcher.WaitUnschedulable, "No machine of the cluster takes the pod: "+said)
	if j.outOfTime(v, j.config.PendingTimeout, j.pod.Object.CreationTimestamp.Time) {
		end(v, launcher.ClassStart, fmt.Sprintf("No machine of the cluster took the pod within %s: %s", j.config.PendingTimeout, said))
	}
}

// withoutPreemption is what the scheduler says of its machines. That it would help
// nobody to displace other pods stands in its events.
func withoutPreemption(said string) string {
	for _, rest := range []string{" no new claims to deallocate", " preemption:"} {
		said, _, _ = strings.Cut(said, rest)
	}
	return strings.TrimSuffix(strings.TrimSpace(said), ",")
}

// stuck judges a container that waits for something that may never come.
func (j *judge) stuck(v *Verdict, s corev1.ContainerStatus, w *corev1.ContainerStateWaiting) bool {
	switch w.Reason {
	case "InvalidImageName":
		return end(v, launcher.ClassImage, fmt.Sprintf("%q is no name of an image: %s", s.Image, words(w.Message, w.Reason)))
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed":
		said := words(w.Message, w.Reason)
		if w.Reason == "ImagePullBackOff" && j.pod.Warning != "" && w.Message == "" {
			said = words(j.pod.Warning, w.Reason)
		}
		wait(v, launcher.WaitImage, fmt.Sprintf("The image %s cannot be pulled: %s", s.Image, said))
		if j.outOfTime(v, j.config.ImageTimeout, j.wanted()) {
			end(v, launcher.ClassImage, fmt.Sprintf("The image %s could not be pulled within %s: %s", s.Image, j.config.ImageTimeout, said))
		}
		return true
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CrashLoopBackOff", "PostStartHookError":
		said := words(w.Message, w.Reason)
		wait(v, launcher.WaitStarting, fmt.Sprintf("The container %q cannot be started yet: %s", s.Name, said))
		if j.outOfTime(v, j.config.StartTimeout, j.wanted()) {
			end(v, launcher.ClassStart, fmt.Sprintf("The container %q could not be started within %s: %s", s.Name, j.config.StartTimeout, said))
		}
		return true
	default: // ContainerCreating, PodInitializing
		return false
	}
}

// wanted is since when the container that waits is due: the pod was placed and
// the init containers before it are done.
func (j *judge) wanted() time.Time {
	at := j.pod.Object.CreationTimestamp.Time
	if c := condition(j.pod.Object, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionTrue && c.LastTransitionTime.After(at) {
		at = c.LastTransitionTime.Time
	}
	for _, s := range j.pod.Object.Status.InitContainerStatuses {
		if t := s.State.Terminated; t != nil && t.FinishedAt.After(at) {
			at = t.FinishedAt.Time
		}
	}
	return at
}

// outOfTime reports whether a time has passed since, and else when to look again.
func (j *judge) outOfTime(v *Verdict, limit time.Duration, since time.Time) bool {
	if limit <= 0 {
		return false
	}
	if due := since.Add(limit); j.now.Before(due) {
		v.Again = due
		return false
	}
	return true
}

func wait(v *Verdict, code, message string) bool {
	v.Waiting = &launcher.Waiting{Code: code, Message: message}
	return true
}
