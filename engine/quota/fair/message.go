package fair

import (
	"fmt"
	"strconv"
)

// bare formats n of r without the noun that the sentence already has.
func bare(r Resource, n int64) string {
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
func (b *Book) reason(s shortage) Reason {
	n, r := &b.tree.levels[s.level], b.axes.names[s.axis]
	ref := n.Ref()
	message := fmt.Sprintf("Waits for %s: needs %s, and %s has %s left of %s", r.Title(), r.Format(s.asked), ref, bare(r, s.free), bare(r, s.capacity))
	switch borrow := n.borrowOn(s.axis); {
	case s.limitedByItself:
		message += "; it is not preemptible, so it may use only the guarantee"
	case borrow > 0:
		message += fmt.Sprintf(" (%s of its own, %s borrowed)", bare(r, n.limitOn(s.axis)), bare(r, borrow))
	}
	if s.kept > 0 {
		message += fmt.Sprintf("; %s are guaranteed to others and not lent", bare(r, s.kept))
	}
	if taken := b.taken(s.level, s.axis); taken > 0 {
		message += fmt.Sprintf("; other workloads use %s", bare(r, taken))
	}
	return Reason{
		Code: code(r, n.parent < 0), Message: message + ".", Resource: r, Unit: r.Unit(),
		Asked: s.asked, Free: s.free, Capacity: s.capacity, Missing: s.asked - s.free, Level: &ref,
	}
}

// never describes s as permanent.
func (b *Book) never(s shortage) Reason {
	reason := b.reason(s)
	r, n := b.axes.names[s.axis], &b.tree.levels[s.level]
	what := "limit"
	if n.parent < 0 {
		what = "size"
	}
	reason.Message = fmt.Sprintf("Cannot run here: needs %s, the %s of %s is %s", r.Format(s.asked), what, n.Ref(), bare(r, s.capacity))
	switch borrow := n.borrowOn(s.axis); {
	case s.limitedByItself:
		reason.Message += ", and it may not borrow because it is not preemptible"
	case borrow > 0:
		reason.Message += ", borrowing included"
	}
	if s.kept > 0 {
		reason.Message += fmt.Sprintf(", of which %s are reserved for others", bare(r, s.kept))
	}
	reason.Message += "."
	return reason
}

func unknownProject() *Reason {
	return &Reason{Code: QuotaExceeded, Message: "The scheduler does not know the project yet."}
}
