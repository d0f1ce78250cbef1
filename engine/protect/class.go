// Package protect decides what happens after failures: the class of a failure, whether the
// attempt is retried, whether an operator that fails repeatedly may start (Breaker), and how
// many retries a tenant and a workflow have (Bucket, Window). It is pure: the time is an
// argument, and the caller stores the state.
package protect

import (
	"regexp"
	"strings"
)

// Class is the kind of failure of an attempt; "" means no failure.
type Class string

// The classes.
const (
	UserError   Class = "user_error"    // caused by the task
	OutOfMemory Class = "out_of_memory" // it exceeded its memory
	Preempted   Class = "preempted"     // it was preempted, or received SIGTERM
	NodeLost    Class = "node_lost"     // its machine, or the launcher there, is lost
	Image       Class = "image"         // its image could not be pulled
	Start       Class = "start"         // it could not be started for another reason
	Timeout     Class = "timeout"       // it exceeded its timeout
	Network     Class = "network"       // a service that it called did not answer, or was busy
)

// Classes returns all classes.
func Classes() []Class {
	return []Class{UserError, OutOfMemory, Preempted, NodeLost, Image, Start, Timeout, Network}
}

// Words returns the display name of a class.
func (c Class) Words() string {
	switch c {
	case UserError:
		return "user error"
	case OutOfMemory:
		return "out of memory"
	case Preempted:
		return "preempted"
	case NodeLost:
		return "node lost"
	case Image:
		return "image"
	case Start:
		return "could not start"
	case Timeout:
		return "timeout"
	case Network:
		return "network"
	}
	return string(c)
}

// End is the end of an attempt. Outcome and Class have the values of the attempt's row:
// the end state, and the class that the launcher reported. ExitCode is nil when no
// command ended.
type End struct {
	Outcome  string
	Class    string
	ExitCode *int
	Message  string
}

// Exit codes with a known cause: 128 plus the signal, and 255.
const (
	exitKilled     = 137 // SIGKILL: usually the kernel's out-of-memory killer
	exitTerminated = 143 // SIGTERM: the machine is shutting down
	exitUnknown    = 255 // ssh and many wrappers return it for any error
)

// Classify returns the class of e. The class that the launcher reported takes
// precedence, then the end state, then the exit code and last the message.
func Classify(e End) Class {
	if c, ok := seen(e.Class); ok {
		return c
	}
	switch e.Outcome {
	case "SUCCEEDED", "CANCELLED", "":
		return ""
	case "PREEMPTED":
		return Preempted
	case "LOST", "INTERRUPTED":
		return NodeLost
	case "TIMED_OUT":
		return Timeout
	case "OUTPUT_FAILED":
		return UserError
	case "START_FAILED":
		if ofNetwork(e.Message) {
			return Network
		}
		return Start
	}
	switch {
	case e.exits(exitKilled):
		return OutOfMemory
	case e.exits(exitTerminated):
		return Preempted
	case ofNetwork(e.Message):
		return Network
	}
	return UserError
}

func (e End) exits(code int) bool { return e.ExitCode != nil && *e.ExitCode == code }

// seen translates the class that a launcher reported; false when it has no meaning
// here.
func seen(class string) (Class, bool) {
	switch class {
	case "out_of_memory":
		return OutOfMemory, true
	case "timeout":
		return Timeout, true
	case "image":
		return Image, true
	case "init_failed", "refused", "start_failed":
		return Start, true
	case "evicted", "preempted":
		return Preempted, true
	case "node_lost", "deleted", "namespace", "gang", "token_expired":
		return NodeLost, true
	}
	return "", false
}

// networkWords are messages of tasks about services that are unreachable or busy.
func networkWords() []string {
	return []string{
		"connection refused", "connection reset", "timeout", "timed out", "temporary failure", "resource temporarily unavailable",
		"too many requests", "service unavailable", "network is unreachable", "no route to host", "name or service not known",
	}
}

// busyAnswer finds the HTTP status codes 429 and 503 when the text identifies them as
// such.
var busyAnswer = regexp.MustCompile(`(?i)\b(?:http|status|code|error|response)\b[^0-9]{0,20}\b(?:429|503)\b`)

func ofNetwork(message string) bool {
	text := strings.ToLower(message)
	for _, w := range networkWords() {
		if strings.Contains(text, w) {
			return true
		}
	}
	return busyAnswer.MatchString(message)
}

// Transient reports whether a retry of e is likely to succeed.
func Transient(e End) bool {
	switch Classify(e) {
	case OutOfMemory, Preempted, NodeLost, Timeout, Network:
		return true
	case UserError, Image, Start, "":
	}
	return e.Outcome == "FAILED" && e.exits(exitUnknown)
}
