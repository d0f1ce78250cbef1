package execution

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/engine/execution/query"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// outcome is how an attempt ended.
type outcome string

// The outcomes; the engine itself sets lost, runners report the others.
const (
	succeeded    outcome = "SUCCEEDED"
	failed       outcome = "FAILED"
	timedOut     outcome = "TIMED_OUT"
	cancelled    outcome = "CANCELLED"
	startFailed  outcome = "START_FAILED"
	interrupted  outcome = "INTERRUPTED"
	outputFailed outcome = "OUTPUT_FAILED"
	preempted    outcome = "PREEMPTED"
	lost         outcome = "LOST"
	notYet       outcome = "NOT_YET" // a poll of a sensor that found nothing
)

// outside reports whether the cause of o is not the task itself.
func (o outcome) outside() bool {
	return o == cancelled || o == interrupted || o == lost || o == preempted
}

// ending is the end of an attempt, as it is stored until a loop applies it.
type ending struct {
	Outcome      outcome    `json:"outcome"`
	Class        string     `json:"class,omitempty"` // one of package launcher's, or ""
	ExitCode     *int       `json:"exit_code,omitempty"`
	Message      string     `json:"message,omitempty"`
	StartedAt    *time.Time `json:"started_at,omitempty"`
	FinishedAt   time.Time  `json:"finished_at"`
	CPUSeconds   float64    `json:"cpu_seconds,omitempty"`
	PeakRSSBytes int64      `json:"peak_rss_bytes,omitempty"`
	Outputs      []output   `json:"outputs,omitempty"`

	Traceback json.RawMessage `json:"traceback,omitempty"` // a query.Traceback
}

// size is the size of the outputs in bytes.
func (e *ending) size() (bytes int) {
	for _, o := range e.Outputs {
		bytes += len(o.Value) + len(o.Metadata)
	}
	return bytes
}

// output is a value or an uploaded blob that an attempt reported.
type output struct {
	Name      string `json:"name"`
	Value     string `json:"value,omitempty"` // JSON
	SHA256    string `json:"sha256,omitempty"`
	Size      int64  `json:"size,omitempty"`
	MediaType string `json:"media_type,omitempty"`
	Filename  string `json:"filename,omitempty"`
	Metadata  string `json:"metadata,omitempty"`  // JSON object that the task set
	Truncated bool   `json:"truncated,omitempty"` // Value is only the beginning
}

// endingOf parses a runner's report. Implausible times become now.
func endingOf(f *flowforgev1.Finished, now time.Time) ending {
	e := ending{
		Outcome:      outcomeOf(f.GetOutcome()),
		Class:        classOf(f.GetClass()),
		Message:      clean(f.GetMessage(), maxMessage),
		FinishedAt:   now,
		CPUSeconds:   f.GetCpuSeconds(),
		PeakRSSBytes: f.GetPeakRssBytes(),
	}
	if code := int(f.GetExitCode()); code >= 0 && (e.Outcome != startFailed || code > 0) { // 126 and 127: the command could not be executed
		e.ExitCode = &code
	}
	if ms := f.GetFinishedAt(); ms > 0 {
		e.FinishedAt = earlier(time.UnixMilli(ms).UTC(), now)
	}
	if ms := f.GetStartedAt(); ms > 0 {
		at := earlier(time.UnixMilli(ms).UTC(), e.FinishedAt)
		e.StartedAt = &at
	}
	if t, err := query.TracebackOf(f.GetTraceback()); err == nil { // the log has it in any case
		e.Traceback = t.JSON()
	}
	for _, o := range f.GetOutputs() {
		e.Outputs = append(e.Outputs, outputOf(o))
	}
	return e
}

func outputOf(o *flowforgev1.Output) output {
	if blob := o.GetBlob(); blob != nil {
		return output{
			Name: o.GetName(), SHA256: blob.GetSha256(), Size: blob.GetSize(),
			MediaType: clean(blob.GetMediaType(), maxMessage), Filename: clean(o.GetFilename(), maxMessage), Metadata: o.GetMetadata(),
		}
	}
	return output{Name: o.GetName(), Value: o.GetValue(), Truncated: o.GetTruncated()}
}

func outcomeOf(o flowforgev1.Outcome) outcome {
	switch o {
	case flowforgev1.Outcome_OUTCOME_SUCCEEDED:
		return succeeded
	case flowforgev1.Outcome_OUTCOME_TIMED_OUT:
		return timedOut
	case flowforgev1.Outcome_OUTCOME_CANCELLED:
		return cancelled
	case flowforgev1.Outcome_OUTCOME_START_FAILED:
		return startFailed
	case flowforgev1.Outcome_OUTCOME_INTERRUPTED:
		return interrupted
	case flowforgev1.Outcome_OUTCOME_OUTPUT_FAILED:
		return outputFailed
	case flowforgev1.Outcome_OUTCOME_PREEMPTED:
		return preempted
	case flowforgev1.Outcome_OUTCOME_NOT_YET:
		return notYet
	case flowforgev1.Outcome_OUTCOME_FAILED, flowforgev1.Outcome_OUTCOME_UNSPECIFIED:
	}
	return failed
}

// failure describes why an attempt did not succeed. It is nil when it did.
func (e ending) failure(node string, attempt int) *query.Failure {
	f := &query.Failure{Message: e.Message, Node: node, Attempt: attempt, ExitCode: e.ExitCode, Class: classify(e)}
	fallback := ""
	switch e.Outcome {
	case succeeded:
		return nil
	case failed:
		f.Code, fallback = "exit", "The task ended with an error."
		if e.ExitCode != nil {
			fallback = fmt.Sprintf("The task exited with code %d.", *e.ExitCode)
		}
	case timedOut:
		f.Code, fallback = "timeout", "The task ran longer than its timeout."
	case cancelled:
		f.Code, fallback = "cancelled", "The task was stopped."
	case startFailed:
		f.Code, fallback = "start_failed", "The task could not be started."
	case interrupted:
		f.Code, fallback = "interrupted", "The task was interrupted."
	case outputFailed:
		f.Code, fallback = "output", "The outputs of the task are missing or unreadable."
	case preempted:
		f.Code, fallback = "preempted", "The task was preempted."
	case notYet:
		f.Code, fallback = "not_yet", "The condition is not met yet."
	case lost:
		f.Code, fallback = "lost", "The task's runner stopped sending heartbeats."
	}
	if e.Class != "" && e.Class != string(launcher.ClassError) {
		f.Code, fallback = e.Class, cmp.Or(classText(launcher.Class(e.Class)), fallback)
	}
	if f.Message == "" {
		f.Message = fallback
	}
	return f
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a.Truncate(time.Microsecond)
	}
	return b
}
