package execution

import (
	"context"
	"fmt"
	"slices"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/engine/protect"
	"github.com/flowforge/flowforge/engine/workflow"
)

// classOf returns the class that a runner reported, "" for an unknown one.
func classOf(text string) string {
	known := []launcher.Class{
		launcher.ClassError, launcher.ClassOutOfMemory, launcher.ClassDeadline, launcher.ClassImage, launcher.ClassInit, launcher.ClassRefused,
		launcher.ClassStart, launcher.ClassToken, launcher.ClassEvicted, launcher.ClassPreempted, launcher.ClassMachineLost, launcher.ClassDeleted,
		launcher.ClassNamespace, launcher.ClassGang, launcher.ClassWithdrawn,
	}
	if slices.Contains(known, launcher.Class(text)) {
		return text
	}
	return ""
}

// outcomeOfClass returns the outcome of an attempt that ended with class c.
func outcomeOfClass(c launcher.Class) outcome {
	switch c {
	case launcher.ClassError, launcher.ClassOutOfMemory:
		return failed
	case launcher.ClassDeadline:
		return timedOut
	case launcher.ClassImage, launcher.ClassInit, launcher.ClassRefused, launcher.ClassStart:
		return startFailed
	case launcher.ClassToken, launcher.ClassEvicted, launcher.ClassPreempted, launcher.ClassMachineLost, launcher.ClassDeleted,
		launcher.ClassNamespace, launcher.ClassGang, launcher.ClassWithdrawn:
	}
	return lost
}

// classText describes a class when the report has no message.
func classText(c launcher.Class) string {
	switch c {
	case launcher.ClassOutOfMemory:
		return "The task used more memory than its limit."
	case launcher.ClassDeadline:
		return "The task ran longer than its timeout."
	case launcher.ClassImage:
		return "The image of the task is not available."
	case launcher.ClassInit:
		return "An init container of the task's pod failed."
	case launcher.ClassRefused:
		return "The cluster rejected the task's pod."
	case launcher.ClassStart:
		return "The containers of the task's pod could not be started."
	case launcher.ClassToken:
		return "The task's credentials are no longer accepted."
	case launcher.ClassEvicted:
		return "The task's pod was evicted: its machine ran out of memory or disk."
	case launcher.ClassPreempted:
		return "The cluster preempted the task's pod for another pod."
	case launcher.ClassMachineLost:
		return "The machine of the task's pod was removed or does not respond."
	case launcher.ClassDeleted:
		return "The task's pod was deleted."
	case launcher.ClassNamespace:
		return "The namespace of the task's pod is being deleted."
	case launcher.ClassWithdrawn:
		return "The task was stopped before a worker of its pool took it."
	case launcher.ClassGang:
		return "Not all pods of the task started in time, or one of them was lost."
	case launcher.ClassError:
	}
	return ""
}

// growMemory raises the memory of the next attempt of node i when this attempt ran out of
// memory and the operator allows it. It returns the text to follow "attempt 2 of 4". It
// never requests more than a level of the tenancy tree allows.
func (es *attemptEnds) growMemory(i int, e ending) string {
	if classify(e) != protect.OutOfMemory || es.loop.progress.State(i).Ended() {
		return ""
	}
	pods := max(es.loop.nodes[i].reserved.Pods, 1)
	before := es.loop.nodes[i].reserved.MemoryMiB / pods
	if es.loop.operator(i).Pool != "" {
		before = max(es.loop.admission.amount(i).MemoryMiB, es.loop.nodes[i].memory)
	}
	if !es.growBeyond(i, before, pods) {
		return ""
	}
	return fmt.Sprintf(", with %s of memory, because %s were not enough", memoryText(es.loop.nodes[i].memory), memoryText(before))
}

// growBeyond raises the request of node i, in MiB of each of its pods. It reports false when
// the definition does not allow it or no level has as much.
func (es *attemptEnds) growBeyond(i, before, pods int) bool {
	after := es.loop.operator(i).Retry.Memory.After(before)
	if after <= before {
		return false
	}
	request := es.loop.driver.requestOf(es.loop.operator(i), es.loop.row.ProjectID)
	if request.Amount.MemoryMiB = pods * after; es.loop.operator(i).Pool == "" && es.loop.driver.quota.NeverFits(request) != nil {
		return false
	}
	es.loop.nodes[i].memory = after
	return true
}

// memoryText formats an amount as "32 GiB" or "1500 MiB".
func memoryText(mib int) string {
	const gib = 1 << 10
	if mib >= gib && mib%gib == 0 {
		return fmt.Sprintf("%d GiB", mib/gib)
	}
	return fmt.Sprintf("%d MiB", mib)
}

// loadMemory loads which nodes request more memory because an attempt ran out of it.
func (es *attemptEnds) loadMemory(ctx context.Context) error {
	if !growing(es.loop.version.Definition) {
		return nil
	}
	rows, err := es.loop.driver.queries.OutOfMemory(ctx, es.loop.id)
	if err != nil {
		return fmt.Errorf("load attempts without memory: %w", err)
	}
	for _, r := range rows {
		i := int(r.NodeIndex)
		es.growBeyond(i, int(r.MemoryMib), max(es.loop.operator(i).Resources.Pods, 1))
	}
	return nil
}

// growing reports whether an operator requests more memory after running out of it.
func growing(d *workflow.Definition) bool {
	for _, op := range d.EveryOperator() {
		if op.Retry.Memory.Factor > 0 {
			return true
		}
	}
	return false
}
