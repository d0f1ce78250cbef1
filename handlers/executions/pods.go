package executions

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

const (
	podsShown      = 10 // attempts of a node whose pods are on its page
	podEventsShown = 20 // of one attempt
)

// pods are the pods of the attempts of a node, newest first. Attempts that are local
// processes have none.
func (x *nodeView) pods(ctx context.Context) (views.AttemptPods, error) {
	var list []query.Attempt
	for _, a := range x.node.Attempts {
		if a.Pod != "" || a.Class == "refused" || a.Class == "namespace" { // those attempts never had a pod
			list = append(list, a)
		}
	}
	if len(list) == 0 {
		return views.AttemptPods{}, nil
	}
	slices.SortFunc(list, func(a, b query.Attempt) int { return b.Number - a.Number })
	var m views.AttemptPods
	if more := len(list) - podsShown; more > 0 {
		list, m.More = list[:podsShown], units.Plural(more, "earlier pod is not shown", "earlier pods are not shown")
	}
	events, err := x.h.Executions.Nodes.PodEvents(ctx, x.ID, x.node.Name, 0)
	if err != nil {
		return views.AttemptPods{}, err
	}
	for _, a := range list {
		m.Pods = append(m.Pods, x.pod(a, events))
	}
	return m, nil
}

// pod is the pod of one attempt, or the pods of a gang.
func (x *nodeView) pod(a query.Attempt, events []query.PodEvent) views.AttemptPod {
	p := views.AttemptPod{Attempt: strconv.Itoa(a.Number), State: attemptState(a, x.node), Class: podClass(a, x.node), Facts: podFacts(a, x.node)}
	if a.Number == x.node.Attempt && x.node.State == dag.Queued && a.StartedAt == nil && x.node.Reason != nil {
		p.Waiting = label.ReasonText(x.node.Reason)
	}
	p.Events, p.More = podEventLines(x.clock, a, events)
	p.NoEvent = "The cluster has not reported any events yet."
	if a.FinishedAt != nil {
		p.NoEvent = "The cluster reported no events for this pod, or they expired before FlowForge read them. The cluster keeps events for an hour."
	}
	return p
}

func podFacts(a query.Attempt, d query.NodeDetail) []ui.Fact {
	var facts []ui.Fact
	add := func(f ui.Fact) {
		if f.Value != "" {
			facts = append(facts, f)
		}
	}
	if pods := podsOf(d); pods > 1 {
		facts = append(facts, ui.Fact{Name: "Pods", Value: strconv.Itoa(pods), Note: "gang-scheduled"})
	}
	add(ui.Fact{Name: "Pod", Value: a.Pod, Mono: true})
	add(ui.Fact{Name: "Namespace", Value: a.Namespace, Mono: true})
	machine := ui.Fact{Name: "Machine", Value: a.Machine}
	if a.Pod != "" && a.Machine == "" && a.FinishedAt == nil {
		machine.Value = "none yet"
	}
	add(machine)
	if op := d.Operator; op != nil && a.Pod != "" {
		add(ui.Fact{Name: "Image", Value: cmp.Or(op.Code.Image, "the installation's default"), Mono: op.Code.Image != ""})
	}
	each := ""
	if podsOf(d) > 1 {
		each = "each"
	}
	if a.MemoryMiB > 0 {
		add(ui.Fact{Name: "Memory", Value: ui.Memory(a.MemoryMiB), Note: each})
	}
	if a.GPUs > 0 {
		add(ui.Fact{Name: "GPUs", Value: strconv.Itoa(a.GPUs), Note: strings.TrimSpace(a.GPUType + " " + each)})
	}
	return facts
}

// memoryHint is the advice for an attempt that ran out of memory.
func memoryHint(a query.Attempt, d query.NodeDetail) string {
	for _, next := range d.Attempts {
		if next.Number == a.Number+1 && next.MemoryMiB > a.MemoryMiB {
			return "The next attempt received " + ui.Memory(next.MemoryMiB) + "."
		}
	}
	if d.Operator != nil && d.Operator.Retry.Memory.Factor > 1 {
		return "Request more memory, or raise the limit of retry.memory."
	}
	return "Request more memory, or set retry.memory to give the next attempt more memory automatically."
}

func podsOf(d query.NodeDetail) int {
	if d.Operator == nil {
		return 1
	}
	return max(d.Operator.Resources.Pods, 1)
}

// podEventLines are the events of an attempt, with equal ones merged. Until the attempt has
// started, warnings come first; then the latest events.
func podEventLines(clock ui.Clock, attempt query.Attempt, all []query.PodEvent) (events []views.PodEvent, more string) {
	own := sameEvents(attempt.Number, all)
	began := attempt.StartedAt != nil && attempt.Class == ""
	slices.SortStableFunc(own, func(a, b query.PodEvent) int {
		if a.Warning != b.Warning && !began {
			if a.Warning {
				return -1
			}
			return 1
		}
		return b.At.Compare(a.At)
	})
	if rest := len(own) - podEventsShown; rest > 0 {
		own, more = own[:podEventsShown], fmt.Sprintf("%s not shown.", units.Plural(rest, "more event is", "more events are"))
	}
	for _, e := range own {
		line := views.PodEvent{Warning: e.Warning, Reason: e.Reason, Message: e.Message, At: clock.Exactly(e.At)}
		if e.Count > 1 {
			line.Count = "× " + units.Number(int64(e.Count))
		}
		events = append(events, line)
	}
	return events, more
}

// sameEvents are the events of an attempt. It merges equal events of its containers and of
// the pods of a gang into one, with their number and the latest time.
func sameEvents(attempt int, all []query.PodEvent) []query.PodEvent {
	type content struct{ reason, message string }
	at := map[content]int{}
	var own []query.PodEvent
	for _, e := range all {
		if e.Attempt != attempt {
			continue
		}
		i, ok := at[content{e.Reason, e.Message}]
		if !ok {
			at[content{e.Reason, e.Message}] = len(own)
			own = append(own, e)
			continue
		}
		own[i].Count += max(e.Count, 1)
		if e.At.After(own[i].At) {
			own[i].At = e.At
		}
	}
	return own
}

// podClass describes the class of an attempt's end, or is nil if the outcome is sufficient.
// The codes are those of package launcher.
func podClass(a query.Attempt, d query.NodeDetail) *views.PodClass {
	class := func(word, hint string) *views.PodClass {
		return &views.PodClass{Code: a.Class, Word: word, Hint: hint}
	}
	again := func(word, hint string) *views.PodClass {
		c := class(word, hint)
		if c.Outside = a.Number < d.Attempt || !d.State.Ended(); c.Outside {
			c.Hint += " FlowForge retries the attempt, and the retry limit does not apply."
		}
		return c
	}
	switch a.Class {
	case "out_of_memory":
		return class("Out of memory", memoryHint(a, d))
	case "timeout":
		return class("Timed out", "The attempt reached its timeout, or the deadline of its pod.")
	case "image":
		return class("Image not available", "Check the name and tag of the image, and that the cluster can pull it. Private registries need imagePullSecrets.")
	case "init_failed":
		return class("Init container failed", "See the log of the init container. The events name the container.")
	case "refused":
		return class("Rejected by the cluster", "An admission rule or a quota of the cluster rejected the pod. Change the field that the message names.")
	case "start_failed":
		return class("Could not be started", "The events show which step failed on the machine.")
	case "token_expired":
		return again("Credentials expired", "The server no longer accepted its token.")
	case "evicted":
		return again("Evicted", "The machine ran out of memory or disk. To prevent this, request as much as the task uses.")
	case "preempted":
		return again("Preempted by the cluster", "The cluster's scheduler removed the pod to place pods of higher priority.")
	case "node_lost":
		return again("Machine lost", "The machine failed or stopped responding.")
	case "deleted":
		return again("Pod deleted", "A user or controller deleted the pod.")
	case "namespace":
		return again("Namespace being deleted", "The namespace of the project is being deleted.")
	case "gang":
		return again("Gang incomplete", "Not all pods of the gang started in time, or one was lost.")
	}
	return nil
}
