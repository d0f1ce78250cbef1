package protect

import (
	"slices"
	"strings"
)

// Policy says which failures are tried again, as long as retries are left.
type Policy string

// The policies.
const (
	Always      Policy = "Always"      // any
	OnError     Policy = "OnError"     // the command ran, and did not end with 0
	OnTransient Policy = "OnTransient" // what may go away by itself
	Never       Policy = "Never"       // none
)

// Policies are all of them.
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

// Allows reports whether p tries again what ended with e; "" is Always.
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

// Declines says in words why p does not try e again.
func (p Policy) Declines(e End) string {
	switch p {
	case Never:
		return "The policy Never tries nothing again."
	case OnTransient:
		return "The policy OnTransient does not try a failure of the class " + Classify(e).Words() + " again."
	case OnError:
		return "The policy OnError tries only what ended with an exit code other than 0 again."
	case Always:
	}
	return ""
}
