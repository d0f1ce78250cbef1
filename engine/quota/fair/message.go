package fair

import (
	"fmt"
	"strconv"
)

// formatWithoutNoun formats n of r without the noun that the sentence already has.
func formatWithoutNoun(r Resource, n int64) string {
	switch r {
	case CPU, Memory, Storage:
		return r.Format(n)
	default:
		return strconv.FormatInt(n, 10)
	}
}

// code returns the code of a shortage of r: in the cluster, or in a level below.
func code(r Resource, cluster bool) string {
	switch {
	case r == Executions:
		return ExecutionsLimit
	case r == Storage:
		return StorageLimit
	case !cluster:
		return QuotaExceeded
	case r == CPU:
		return CPUUnavailable
	case r == Memory:
		return MemoryUnavailable
	case r == Pods:
		return PodsUnavailable
	default:
		return GPUUnavailable
	}
}

// reason describes s.
func (b *Ledger) reason(s shortage) Reason {
	n, r := &b.tree.levels[s.level], b.axes.names[s.axis]
	ref := n.Ref()
	message := fmt.Sprintf("Waiting for %s: requests %s; %s has %s left of %s", r.Title(), r.Format(s.requested), ref, formatWithoutNoun(r, s.free), formatWithoutNoun(r, s.capacity))
	switch borrow := n.borrowOn(s.axis); {
	case s.limitedByItself:
		message += "; it is not preemptible, so it can use only guaranteed capacity"
	case borrow > 0:
		message += fmt.Sprintf(" (%s of its own, %s borrowed)", formatWithoutNoun(r, n.limitOn(s.axis)), formatWithoutNoun(r, borrow))
	}
	if s.kept > 0 {
		message += fmt.Sprintf("; %s are guaranteed to others and not lent", formatWithoutNoun(r, s.kept))
	}
	if taken := b.taken(s.level, s.axis); taken > 0 {
		message += fmt.Sprintf("; other workloads use %s", formatWithoutNoun(r, taken))
	}
	return Reason{
		Code: code(r, n.parent < 0), Message: message + ".", Resource: r, Unit: r.Unit(),
		Requested: s.requested, Free: s.free, Capacity: s.capacity, Missing: s.requested - s.free, Level: &ref,
	}
}

// never describes s as permanent.
func (b *Ledger) never(s shortage) Reason {
	reason := b.reason(s)
	r, n := b.axes.names[s.axis], &b.tree.levels[s.level]
	limit := fmt.Sprintf("the limit of %s is", n.Ref())
	if n.parent < 0 {
		limit = "the cluster has"
	}
	reason.Message = fmt.Sprintf("Cannot run here: requests %s; %s %s", r.Format(s.requested), limit, formatWithoutNoun(r, s.capacity))
	switch borrow := n.borrowOn(s.axis); {
	case s.limitedByItself:
		reason.Message += ", and it cannot borrow because it is not preemptible"
	case borrow > 0:
		reason.Message += ", including borrowing"
	}
	if s.kept > 0 {
		reason.Message += fmt.Sprintf(", of which %s are reserved for others", formatWithoutNoun(r, s.kept))
	}
	reason.Message += "."
	return reason
}

func unknownProject() *Reason {
	return &Reason{Code: QuotaExceeded, Message: "The scheduler has not loaded the project yet."}
}
