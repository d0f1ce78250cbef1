package outcome

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flowforge/flowforge/compute/launcher"
)

// Reasons of the kubelet, scheduler and controllers without a constant in their API.
const (
	reasonEvicted   = "Evicted"
	reasonDeadline  = "DeadlineExceeded"
	reasonPreempted = "Preempting"
	reasonNodeLost  = "NodeLost"
	reasonShutdown  = "NodeShutdown"
	reasonOOM       = "OOMKilled"
)

// podStatus evaluates the status of the whole pod.
func (j *evaluation) podStatus(v *Verdict) bool {
	s := j.pod.Object.Status
	switch s.Reason {
	case reasonEvicted:
		return end(v, launcher.ClassEvicted, "The cluster evicted the pod: "+messageOr(s.Message, "its machine is running out of memory or disk space."))
	case reasonDeadline:
		return end(v, launcher.ClassDeadline, "The pod ran longer than its deadline: "+messageOr(s.Message, "activeDeadlineSeconds has elapsed."))
	case reasonPreempted:
		return end(v, launcher.ClassPreempted, "The pod was preempted on its machine: "+messageOr(s.Message, "for a critical pod."))
	case reasonNodeLost:
		return end(v, launcher.ClassMachineLost, j.machine()+" is lost: "+messageOr(s.Message, "it is not responding."))
	case reasonShutdown:
		return end(v, launcher.ClassMachineLost, j.machine()+" was shut down: "+messageOr(s.Message, "the pod ended with it."))
	}
	if j.over() {
		return j.disrupted(v)
	}
	return false
}

// disrupted evaluates the DisruptionTarget condition.
func (j *evaluation) disrupted(v *Verdict) bool {
	c := condition(j.pod.Object, corev1.DisruptionTarget)
	if c == nil || c.Status != corev1.ConditionTrue {
		return false
	}
	switch c.Reason {
	case corev1.PodReasonPreemptionByScheduler:
		return end(v, launcher.ClassPreempted, "The cluster preempted the pod: "+messageOr(c.Message, "one of higher priority."))
	case "DeletionByTaintManager", "DeletionByPodGC":
		return end(v, launcher.ClassMachineLost, j.machine()+" is lost: "+messageOr(c.Message, "the cluster removed its pods."))
	case corev1.PodReasonTerminationByKubelet:
		return end(v, launcher.ClassEvicted, j.machine()+" ended the pod: "+messageOr(c.Message, "it is running out of memory or disk space, or is shutting down."))
	default: // EvictionByEvictionAPI and other reasons
		return end(v, launcher.ClassEvicted, "The pod was evicted: "+messageOr(c.Message, c.Reason+"."))
	}
}

// lost evaluates the state of the pod's machine.
func (j *evaluation) lost(v *Verdict) bool {
	if j.pod.MachineLost == "" || j.ended() != nil {
		return false
	}
	return end(v, launcher.ClassMachineLost, j.machine()+" is lost: "+messageOr(j.pod.MachineLost, "it is not responding."))
}

// deleted evaluates a deleted pod. While a pod is terminating, its runner may still save a
// checkpoint and report.
func (j *evaluation) deleted(v *Verdict) bool {
	deleted := j.pod.Object.DeletionTimestamp != nil
	// If a container ended by itself before its pod was deleted, its own status counts.
	if t := j.ended(); t != nil && (t.Reason == reasonOOM || j.message == nil && !killed(t)) {
		return false
	}
	if !j.pod.Gone && (!deleted || !j.over()) {
		return false
	}
	if j.pod.NamespaceGoing {
		return end(v, launcher.ClassNamespace, fmt.Sprintf("The namespace %s is being deleted, and the pod with it.", j.pod.Object.Namespace))
	}
	return end(v, launcher.ClassDeleted, fmt.Sprintf("The pod %s was deleted.", j.pod.Object.Name))
}

// killed reports whether a container was ended from outside, as by a deletion.
func killed(t *corev1.ContainerStateTerminated) bool {
	const byTerm, byKill = 143, 137
	return t.ExitCode == byTerm || t.ExitCode == byKill || t.Reason == "ContainerStatusUnknown"
}

// init evaluates failed init containers. One that restarts is a sidecar.
func (j *evaluation) init(v *Verdict) bool {
	for i := range j.pod.Object.Status.InitContainerStatuses {
		s := &j.pod.Object.Status.InitContainerStatuses[i]
		t := s.State.Terminated
		if t == nil && s.State.Waiting != nil && s.State.Waiting.Reason == "CrashLoopBackOff" {
			t = s.LastTerminationState.Terminated
		}
		if t == nil || t.ExitCode == 0 || j.sidecar(s.Name) {
			continue
		}
		switch {
		case t.Reason == reasonOOM:
			end(v, launcher.ClassOutOfMemory, fmt.Sprintf("The init container %q was killed at its memory limit.", s.Name))
		case unstartable(t):
			end(v, launcher.ClassStart, fmt.Sprintf("The init container %q could not be started: %s", s.Name, messageOr(t.Message, t.Reason+".")))
			v.Log = s.Name
		default:
			end(v, launcher.ClassInit, fmt.Sprintf("The init container %q exited with code %d%s", s.Name, t.ExitCode, tail(t.Message)))
			v.Log = s.Name
		}
		j.exit(v, t)
		return true
	}
	return false
}

func (j *evaluation) sidecar(name string) bool {
	for i := range j.pod.Object.Spec.InitContainers {
		c := &j.pod.Object.Spec.InitContainers[i]
		if c.Name == name {
			return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		}
	}
	return false
}

// command evaluates the end of the task's container.
func (j *evaluation) command(v *Verdict) bool {
	t := j.ended()
	if t == nil {
		return false
	}
	switch {
	case t.Reason == reasonOOM:
		end(v, launcher.ClassOutOfMemory, "The task was killed at its memory limit"+tail(j.memoryLimit()))
	case unstartable(t):
		end(v, launcher.ClassStart, "The task's command could not be started: "+messageOr(t.Message, t.Reason+"."))
	case t.Reason == "ContainerStatusUnknown":
		end(v, launcher.ClassMachineLost, j.machine()+" lost the task's container: "+messageOr(t.Message, "its outcome is unknown."))
	case j.pod.Overdue:
		end(v, launcher.ClassError, fmt.Sprintf("The task's container exited with code %d, and its result was never received.", t.ExitCode))
	case j.message != nil:
		end(v, launcher.ClassError, messageOr(j.message.Message, "The task ended, but its runner could not report the result."))
	default:
		end(v, launcher.ClassError, fmt.Sprintf("The task's container exited with code %d before its runner reported%s", t.ExitCode, tail(t.Message)))
		v.Log = j.config.container()
	}
	j.exit(v, t)
	return true
}

// memoryLimit returns the memory limit of the task's container, such as "512Mi", or "".
func (j *evaluation) memoryLimit() string {
	for i := range j.pod.Object.Spec.Containers {
		c := &j.pod.Object.Spec.Containers[i]
		if q, ok := c.Resources.Limits[corev1.ResourceMemory]; ok && c.Name == j.config.container() {
			return q.String()
		}
	}
	return ""
}

// unstartable reports whether a container ended before its command started.
func unstartable(t *corev1.ContainerStateTerminated) bool {
	switch t.Reason {
	case "StartError", "ContainerCannotRun", "RunContainerError", "CreateContainerError":
		return true
	default:
		return false
	}
}

// rejected evaluates a pod that failed before any of its containers ran: its machine
// rejected it.
func (j *evaluation) rejected(v *Verdict) bool {
	s := j.pod.Object.Status
	switch {
	case s.Phase == corev1.PodSucceeded:
		return end(v, launcher.ClassError, "The pod ended before its runner reported.")
	case s.Phase != corev1.PodFailed:
		return false
	case strings.HasPrefix(s.Reason, "OutOf") || s.Reason == "UnexpectedAdmissionError" || s.Reason == "NodeAffinity":
		return end(v, launcher.ClassEvicted, j.machine()+" rejected the pod: "+messageOr(s.Message, s.Reason+"."))
	default:
		return end(v, launcher.ClassStart, "The pod failed before its task started: "+messageOr(s.Message, messageOr(s.Reason, "the cluster gave no reason.")))
	}
}

// machine returns the pod's machine as the subject of a sentence.
func (j *evaluation) machine() string {
	if j.pod.Object.Spec.NodeName == "" {
		return "The pod's machine"
	}
	return "The machine " + j.pod.Object.Spec.NodeName
}

// exit records when and with which code a container ended.
func (j *evaluation) exit(v *Verdict, t *corev1.ContainerStateTerminated) {
	code := int(t.ExitCode)
	v.End.ExitCode = &code
	if at := t.FinishedAt.Time; !at.IsZero() && at.Before(j.now.Add(time.Minute)) {
		v.End.FinishedAt = at
	}
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

func end(v *Verdict, class launcher.Class, message string) bool {
	v.End = &launcher.End{Class: class, Message: message}
	return true
}

// messageOr returns the cluster's message, trimmed and shortened, or otherwise when it is
// empty.
func messageOr(message, otherwise string) string {
	const most = 1000
	message = strings.TrimSpace(message)
	if message == "" {
		return otherwise
	}
	if len(message) > most {
		message = strings.ToValidUTF8(message[:most], "") + "…"
	}
	return message
}

// tail ends a sentence; it appends the message if there is one.
func tail(message string) string {
	if message = messageOr(message, ""); message == "" {
		return "."
	}
	return ": " + message
}
