package outcome

import (
	"github.com/flowforge/flowforge/compute/launcher"

	corev1 "k8s.io/api/core/v1"
)

const interrupted = "interrupted"

// readReport returns the runner's termination message of a container; nil when there is
// none, because a command may write its own message.
func readReport(task *corev1.ContainerStatus) *launcher.Termination {
	if task == nil || task.State.Terminated == nil {
		return nil
	}
	termination, ok := launcher.ParseTermination(task.State.Terminated.Message)
	if !ok {
		return nil
	}
	return &termination
}

// interruption adds the cause of the pod's interruption to a result of its runner, which
// cannot know it.
func (j *evaluation) interruption() *launcher.End {
	if j.message.Outcome != interrupted {
		return nil
	}
	var v Verdict
	for _, look := range []func(*Verdict) bool{j.podStatus, j.deleted} {
		if look(&v) {
			v.End.FinishedAt = j.ended().FinishedAt.Time
			v.End.StartedAt = j.startedAt()
			return v.End
		}
	}
	return nil
}

// runnerReport returns the result of a runner that could not report.
func (j *evaluation) runnerReport(v *Verdict) bool {
	if j.message == nil || j.message.Reported || j.message.Class == "" {
		return false
	}
	end(v, j.message.Class, messageOr(j.message.Message, "The task ended, but its runner could not report the result."))
	v.End.FinishedAt = j.ended().FinishedAt.Time
	if code := j.message.ExitCode; code >= 0 {
		v.End.ExitCode = &code
	}
	return true
}
