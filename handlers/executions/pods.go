package executions

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

const (
	podsShown      = 10 // attempts of a node whose pods are on its page
	podEventsShown = 20 // of one attempt
)

// pods are where the attempts of a node ran, the latest first: none where attempts are
// local processes.
func (x *executionView) pods(ctx context.Context, d execution.NodeDetail) (views.AttemptPods, error) {
	var list []execution.Attempt
	for _, a := range d.Attempts {
		if a.Pod != "" || a.Class == "refused" || a.Class == "namespace" { // those never had one
			list = append(list, a)
		}
	}
	if len(list) == 0 {
		return views.AttemptPods{}, nil
	}
	slices.SortFunc(list, func(a, b execution.Attempt) int { return b.Number - a.Number })
	var m views.AttemptPods
	if more := len(list) - podsShown; more > 0 {
		list, m.More = list[:podsShown], ui.Plural(more, "earlier one is not shown", "earlier ones are not shown")
	}
	events, err := x.h.Executions.PodEvents(ctx, x.ID, d.Name, 0)
	if err != nil {
		return views.AttemptPods{}, err
	}
	for _, a := range list {
		m.Pods = append(m.Pods, x.pod(a, d, events))
	}
	return m, nil
}

// pod is the pod of one attempt, or the pods of a gang.
func (x *executionView) pod(a execution.Attempt, d execution.NodeDetail, events []execution.PodEvent) views.AttemptPod {
	p := views.AttemptPod{Attempt: strconv.Itoa(a.Number), State: attemptState(a, d), Class: podClass(a, d), Facts: podFacts(a, d)}
	if a.Number == d.Attempt && d.State == dag.Queued && a.StartedAt == nil && d.Reason != nil {
		p.Waiting = label.ReasonText(d.Reason)
	}
	p.Events, p.More = x.podEvents(a, events)
	p.NoEvent = "The cluster has said nothing of it yet."
	if a.FinishedAt != nil {
		p.NoEvent = "The cluster said nothing of it, or has forgotten it: events are kept for an hour there, and here from when they were seen."
	}
	return p
}

func podFacts(a execution.Attempt, d execution.NodeDetail) []ui.Fact {
	var facts []ui.Fact
	add := func(f ui.Fact) {
		if f.Value != "" {
			facts = append(facts, f)
		}
	}
	if pods := podsOf(d); pods > 1 {
		facts = append(facts, ui.Fact{Name: "Pods", Value: strconv.Itoa(pods), Note: "that begin together"})
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

// memoryHint is what to do about an attempt that ran out of memory.
func memoryHint(a execution.Attempt, d execution.NodeDetail) string {
	for _, next := range d.Attempts {
		if next.Number == a.Number+1 && next.MemoryMiB > a.MemoryMiB {
			return "The next attempt got " + ui.Memory(next.MemoryMiB) + "."
		}
	}
	if d.Operator != nil && d.Operator.Retry.Memory.Factor > 1 {
		return "Ask for more memory, or let retry.memory grow further."
	}
	return "Ask for more memory. With retry.memory the next attempt gets more by itself."
}

func podsOf(d execution.NodeDetail) int {
	if d.Operator == nil {
		return 1
	}
	return max(d.Operator.Resources.Pods, 1)
}

// podEvents are the events of an attempt, those that say the same as one: warnings
// first while they matter, which is until it has begun, and then the latest first.
func (x *executionView) podEvents(attempt execution.Attempt, all []execution.PodEvent) (events []views.PodEvent, more string) {
	own := sameEvents(attempt.Number, all)
	began := attempt.StartedAt != nil && attempt.Class == ""
	slices.SortStableFunc(own, func(a, b execution.PodEvent) int {
		if a.Warning != b.Warning && !began {
			if a.Warning {
				return -1
			}
			return 1
		}
		return b.At.Compare(a.At)
	})
	if rest := len(own) - podEventsShown; rest > 0 {
		own, more = own[:podEventsShown], fmt.Sprintf("%s not shown.", ui.Plural(rest, "more event is", "more events are"))
	}
	for _, e := range own {
		line := views.PodEvent{Warning: e.Warning, Reason: e.Reason, Message: e.Message, At: x.clock.Exactly(e.At)}
		if e.Count > 1 {
			line.Count = "× " + ui.Number(int64(e.Count))
		}
		events = append(events, line)
	}
	return events, more
}

// sameEvents are the events of an attempt; those of its containers and of the pods of
// a gang that say the same are one with their number, at its last time.
func sameEvents(attempt int, all []execution.PodEvent) []execution.PodEvent {
	type said struct{ reason, message string }
	at := map[said]int{}
	var own []execution.PodEvent
	for _, e := range all {
		if e.Attempt != attempt {
			continue
		}
		i, ok := at[said{e.Reason, e.Message}]
		if !ok {
			at[said{e.Reason, e.Message}] = len(own)
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

// podClass says in words what kind of end an attempt came to, nil when its outcome
// says it all. The codes are those of package launcher.
func podClass(a execution.Attempt, d execution.NodeDetail) *views.PodClass {
	class := func(word, hint string) *views.PodClass {
		return &views.PodClass{Code: a.Class, Word: word, Hint: hint}
	}
	again := func(word, hint string) *views.PodClass {
		c := class(word, hint)
		if c.Outside = a.Number < d.Attempt || !d.State.Ended(); c.Outside {
			c.Hint += " It is tried again, and costs no retry."
		}
		return c
	}
	switch a.Class {
	case "out_of_memory":
		return class("Out of memory", memoryHint(a, d))
	case "timeout":
		return class("Too long", "It ran into its timeout, or the deadline of its pod.")
	case "image":
		return class("Image not available", "Is the name right, tag and all, and may the cluster pull it? Private registries need imagePullSecrets.")
	case "init_failed":
		return class("Init container failed", "Its own log says why: the events name the container.")
	case "refused":
		return class("Refused by the cluster", "An admission rule or a quota of the cluster does not take this pod. Change what the message names.")
	case "start_failed":
		return class("Could not be started", "The events say what the machine tried.")
	case "token_expired":
		return again("Credentials ran out", "The server did not take its token any more.")
	case "evicted":
		return again("Evicted", "Its machine ran out of memory or disk. Asking for what it uses keeps it in place.")
	case "preempted":
		return again("Displaced", "The cluster's scheduler gave its place to pods of higher priority.")
	case "node_lost":
		return again("Machine lost", "Its machine is gone, or silent.")
	case "deleted":
		return again("Pod deleted", "Somebody deleted its pod.")
	case "namespace":
		return again("Namespace going away", "The namespace of its project is being deleted.")
	case "gang":
		return again("Gang broken", "Not all its pods began in time, or one of them was lost.")
	}
	return nil
}
