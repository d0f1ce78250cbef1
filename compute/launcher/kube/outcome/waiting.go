package outcome

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flowforge/flowforge/compute/launcher"
)

// waiting evaluates a pod whose task has not started and may still start.
func (j *evaluation) waiting(v *Verdict) bool {
	if j.pod.Object.DeletionTimestamp != nil {
		return true
	}
	if j.member(v) {
		return true
	}
	if j.task != nil && j.task.State.Running != nil { // relevant until its runner reports
		return wait(v, launcher.WaitStarting, "The pod is running; its runner is preparing the task.")
	}
	if j.pod.Object.Spec.NodeName == "" {
		j.unplaced(v)
		return true
	}
	for _, s := range j.statuses() {
		if w := s.State.Waiting; w != nil && j.blockedContainer(v, s, w) {
			return true
		}
		if s.State.Running != nil && !j.sidecar(s.Name) {
			return wait(v, launcher.WaitStarting, fmt.Sprintf("The init container %q is running.", s.Name))
		}
	}
	message := "The pod's containers are being created."
	if j.pod.Warning != "" {
		message = "The pod's containers cannot be created yet: " + messageOr(j.pod.Warning, "")
	}
	return wait(v, launcher.WaitStarting, message)
}

// statuses returns those of the init containers in order, then the task's.
func (j *evaluation) statuses() []corev1.ContainerStatus {
	s := j.pod.Object.Status
	return append(append(make([]corev1.ContainerStatus, 0, len(s.InitContainerStatuses)+len(s.ContainerStatuses)),
		s.InitContainerStatuses...), s.ContainerStatuses...)
}

// member evaluates other containers that cannot start: the task waits for them.
func (j *evaluation) member(v *Verdict) bool {
	for _, s := range j.pod.Object.Status.ContainerStatuses {
		if w := s.State.Waiting; w != nil && s.Name != j.config.container() && j.blockedContainer(v, s, w) {
			return true
		}
	}
	return false
}

// unplaced evaluates a pod that is not scheduled.
func (j *evaluation) unplaced(v *Verdict) {
	c := condition(j.pod.Object, corev1.PodScheduled)
	switch {
	case c == nil || c.Status == corev1.ConditionTrue:
		wait(v, launcher.WaitStarting, "The pod is waiting for the cluster's scheduler.")
		return
	case c.Reason == corev1.PodReasonSchedulingGated:
		wait(v, launcher.WaitGang, "The pod is held until all pods of its attempt can be scheduled.")
		return
	}
	message := messageOr(withoutPreemption(c.Message), "the scheduler gave no reason.")
	wait(v, launcher.WaitUnschedulable, "No machine of the cluster can run the pod: "+message)
	if j.outOfTime(v, j.config.PendingTimeout, j.pod.Object.CreationTimestamp.Time) {
		end(v, launcher.ClassStart, fmt.Sprintf("No machine of the cluster could run the pod within %s: %s", j.config.PendingTimeout, message))
	}
}

// withoutPreemption removes the part of the scheduler's message about preemption, which
// is also in its events.
func withoutPreemption(message string) string {
	for _, rest := range []string{" no new claims to deallocate", " preemption:"} {
		message, _, _ = strings.Cut(message, rest)
	}
	return strings.TrimSuffix(strings.TrimSpace(message), ",")
}

// blockedContainer evaluates a container that waits for something that may never exist.
func (j *evaluation) blockedContainer(v *Verdict, s corev1.ContainerStatus, w *corev1.ContainerStateWaiting) bool {
	switch w.Reason {
	case "InvalidImageName":
		return end(v, launcher.ClassImage, fmt.Sprintf("%q is not an image name: %s", s.Image, messageOr(w.Message, w.Reason)))
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed":
		message := messageOr(w.Message, w.Reason)
		if w.Reason == "ImagePullBackOff" && j.pod.Warning != "" && w.Message == "" {
			message = messageOr(j.pod.Warning, w.Reason)
		}
		wait(v, launcher.WaitImage, fmt.Sprintf("The image %s cannot be pulled: %s", s.Image, message))
		if j.outOfTime(v, j.config.ImageTimeout, j.dueSince()) {
			end(v, launcher.ClassImage, fmt.Sprintf("The image %s could not be pulled within %s: %s", s.Image, j.config.ImageTimeout, message))
		}
		return true
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CrashLoopBackOff", "PostStartHookError":
		message := messageOr(w.Message, w.Reason)
		wait(v, launcher.WaitStarting, fmt.Sprintf("The container %q cannot be started yet: %s", s.Name, message))
		if j.outOfTime(v, j.config.StartTimeout, j.dueSince()) {
			end(v, launcher.ClassStart, fmt.Sprintf("The container %q could not be started within %s: %s", s.Name, j.config.StartTimeout, message))
		}
		return true
	default: // ContainerCreating, PodInitializing
		return false
	}
}

// dueSince returns since when the waiting container is due: the pod was scheduled and the
// init containers before it have ended.
func (j *evaluation) dueSince() time.Time {
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

// outOfTime reports whether limit has elapsed since since; else it schedules the next
// evaluation.
func (j *evaluation) outOfTime(v *Verdict, limit time.Duration, since time.Time) bool {
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
