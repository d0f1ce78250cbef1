// Package protect decides about failures: what kind one is, whether the attempt runs
// again, whether an operator that fails time and again may start at all (Breaker), and
// how many retries a tenant and a workflow have (Bucket, Window). It is pure: the time
// is an argument, and whoever calls keeps the states.
package protect

import (
	"regexp"
	"strings"
)

// Class says what kind of failure an attempt ended with; "" is no failure.
type Class string

// The classes.
const (
	UserError   Class = "user_error"    // the task's own doing
	OutOfMemory Class = "out_of_memory" // it needed more memory than it had
	Preempted   Class = "preempted"     // its place was given to others, or it was told to end
	NodeLost    Class = "node_lost"     // its machine, or what runs it there, is gone
	Image       Class = "image"         // its image cannot be had
	Start       Class = "start"         // it could not be started for another reason
	Timeout     Class = "timeout"       // it ran longer than it may
	Network     Class = "network"       // something that it called does not answer, or asks it to come back later
)

// Classes are all of them.
func Classes() []Class {
	return []Class{UserError, OutOfMemory, Preempted, NodeLost, Image, Start, Timeout, Network}
}

// Words names a class for people.
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

// End is the end of an attempt. Outcome and Class are written as in its row: how it
// ended, and what its launcher saw. ExitCode is nil when no command ended.
type End struct {
	Outcome  string
	Class    string
	ExitCode *int
	Message  string
}

// Exit codes that say more than that something failed: 128 and the signal.
const (
	exitKilled     = 137 // SIGKILL: the kernel takes the memory back
	exitTerminated = 143 // SIGTERM: the machine goes away
	exitUnknown    = 255 // what ssh and many wrappers make of any trouble
)

// Classify says what kind of failure e is. What the launcher saw comes first, then how
// the attempt ended, then the exit code and last the message.
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

// seen translates what a launcher saw; false when that says nothing.
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

// networkWords are what tasks say when something that they called is away or busy.
func networkWords() []string {
	return []string{
		"connection refused", "connection reset", "timeout", "timed out", "temporary failure", "resource temporarily unavailable",
		"too many requests", "service unavailable", "network is unreachable", "no route to host", "name or service not known",
	}
}

// busyAnswer finds the answers 429 and 503 of HTTP where the text says that they are some.
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

// Transient reports whether e may well go away by itself.
func Transient(e End) bool {
	switch Classify(e) {
	case OutOfMemory, Preempted, NodeLost, Timeout, Network:
		return true
	case UserError, Image, Start, "":
	}
	return e.Outcome == "FAILED" && e.exits(exitUnknown)
}
