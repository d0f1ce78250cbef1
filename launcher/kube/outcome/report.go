package outcome

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"

	"github.com/flowforge/flowforge/launcher"
)

// report is what a runner leaves as its container's termination message.
type report struct {
	Reported bool           `json:"reported"` // the server has taken the result
	ExitCode *int           `json:"exit_code"`
	Outcome  string         `json:"outcome"`
	Class    launcher.Class `json:"class"`
	Message  string         `json:"message"`
}

// readReport returns nil where no runner has spoken: a command may leave a
// termination message of its own.
func readReport(task *corev1.ContainerStatus) *report {
	if task == nil || task.State.Terminated == nil {
		return nil
	}
	var r report
	if err := json.Unmarshal([]byte(task.State.Terminated.Message), &r); err != nil {
		return nil
	}
	if !r.Reported && r.Class == "" && r.Message == "" && r.Outcome == "" {
		return nil
	}
	return &r
}

// interrupted adds to a result that a runner reported what it cannot know: on
// whose account the pod was taken from it.
func (j *judge) interrupted() *launcher.End {
	if j.said.Outcome != "INTERRUPTED" {
		return nil
	}
	var v Verdict
	for _, look := range []func(*Verdict) bool{j.whole, j.gone} {
		if look(&v) {
			v.End.FinishedAt = j.ended().FinishedAt.Time
			v.End.StartedAt = j.startedAt()
			return v.End
		}
	}
	return nil
}

// spoken passes on what a runner says that could not report.
func (j *judge) spoken(v *Verdict) bool {
	if j.said == nil || j.said.Reported || j.said.Class == "" {
		return false
	}
	message := j.said.Message
	if message == "" {
		message = "The task ended, and its runner could not report the result."
	}
	v.End = &launcher.End{
		Class: j.said.Class, Message: message, ExitCode: j.said.ExitCode, FinishedAt: j.ended().FinishedAt.Time,
	}
	return true
}
