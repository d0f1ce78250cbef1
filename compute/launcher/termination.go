package launcher

import "encoding/json"

// Termination is the termination message of `flowforge task`, from which the end is known
// even if the server never got the report.
type Termination struct {
	Class    Class  `json:"class"`   // empty: nothing to add to the outcome
	Outcome  string `json:"outcome"` // "succeeded", "failed", "timed_out", "cancelled", "start_failed", "interrupted", "output_failed", "preempted"
	Message  string `json:"message"`
	ExitCode int    `json:"exit_code"` // of the command; -1 when it never ran
	Reported bool   `json:"reported"`  // the server has accepted the report
}

// ParseTermination parses a container's termination message; false when it is not one of
// `flowforge task`.
func ParseTermination(message string) (Termination, bool) {
	var t Termination
	if err := json.Unmarshal([]byte(message), &t); err != nil || t.Outcome == "" {
		return Termination{}, false
	}
	return t, true
}
