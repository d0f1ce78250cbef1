package protect

import (
	"slices"
	"strings"
)

// Policy specifies which failures are retried while retries are left.
type Policy string

// The policies.
const (
	Always      Policy = "Always"      // any
	OnError     Policy = "OnError"     // the command ended with an exit code other than 0
	OnTransient Policy = "OnTransient" // failures that a retry may resolve
	Never       Policy = "Never"       // none
)

// Policies returns all policies.
func Policies() []Policy { return []Policy{Always, OnError, OnTransient, Never} }

// ParsePolicy reads the name of a policy in any case, with or without _ and -.
func ParsePolicy(text string) (Policy, bool) {
	plain := strings.NewReplacer("_", "", "-", "").Replace(text)
	i := slices.IndexFunc(Policies(), func(p Policy) bool { return strings.EqualFold(plain, string(p)) })
	if i < 0 {
		return "", false
	}
	return Policies()[i], true
}

// Allows reports whether p retries an attempt that ended with e; "" is Always.
func (p Policy) Allows(e End) bool {
	switch p {
	case Never:
		return false
	case OnTransient:
		return Transient(e)
	case OnError:
		switch Classify(e) {
		case Image, Start, "":
			return false
		case UserError, OutOfMemory, Preempted, NodeLost, Timeout, Network:
		}
		return !e.exits(0)
	case Always:
	}
	return true
}

// Declines explains why p does not retry e.
func (p Policy) Declines(e End) string {
	switch p {
	case Never:
		return "The retry policy Never does not retry failures."
	case OnTransient:
		return "The retry policy OnTransient does not retry failures of class " + Classify(e).Words() + "."
	case OnError:
		return "The retry policy OnError retries only commands that exit with a code other than 0."
	case Always:
	}
	return ""
}
