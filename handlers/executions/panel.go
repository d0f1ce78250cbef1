package executions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/planview"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// panel shows the selected node next to the graph.
func (x *executionView) panel(ctx context.Context) (views.NodePanel, error) {
	if x.selected() < 0 {
		return views.NodePanel{}, nil
	}
	d, err := x.h.Executions.Nodes.Get(ctx, x.ID, x.query.Get("node"))
	if apperr.Is(err, apperr.NotFound) {
		return views.NodePanel{}, nil
	}
	if err != nil {
		return views.NodePanel{}, err
	}
	node, id := &nodeView{snapshot: x.snapshot, node: d}, x.ID.String()
	p := views.NodePanel{
		Name: d.Name, State: shownState(d.Node), URL: views.NodeURL(id, d.Name), CloseURL: views.ExecutionURL(id) + "#graph",
		LogURL: views.NodeLogsURL(id, d.Name, 0), Facts: node.facts(), Attempts: node.attempts(),
		Inputs: x.names.resolve(ctx, operatorInputs(d)), Outputs: x.names.resolve(ctx, operatorOutputs(d)),
	}
	if p.Wait, err = node.wait(ctx); err != nil {
		return views.NodePanel{}, err
	}
	p.Wait = p.Wait.Short()
	if d.Progress != nil && d.State == dag.Running {
		bar := ui.ProgressBar("RUNNING", d.Progress.Percent, fmt.Sprintf("%d %%: %s", d.Progress.Percent, d.Progress.Message))
		p.Progress, p.ProgressTo = &bar, d.Progress.Message
	}
	return p, nil
}

// facts are the key facts of a node.
func (x *nodeView) facts() []ui.Fact {
	var facts []ui.Fact
	add := func(name, value, note string) {
		if value != "" {
			facts = append(facts, ui.Fact{Name: name, Value: value, Note: note})
		}
	}
	if x.becomes(x.node.Node) {
		add("Fan-out", childCountText(x.node), "")
	} else if x.node.Attempt > 0 {
		add("Attempt", x.attemptOf(x.node.Node), "")
	}
	waited := ""
	if x.node.ReadyAt != nil && x.node.StartedAt != nil {
		if w := x.node.StartedAt.Sub(*x.node.ReadyAt); w > 0 {
			waited = "(waited " + units.Duration(w) + ")"
		}
	}
	switch {
	case x.node.StartedAt != nil && x.node.FinishedAt == nil && x.node.State == dag.Running:
		facts = append(facts, ui.Fact{Name: "Running for", Value: units.Duration(nodeTook(x.clock.Now, x.node.Node)), Since: x.node.StartedAt.Format(time.RFC3339), Note: waited})
	case x.node.StartedAt != nil && x.node.FinishedAt != nil:
		add("Took", units.Duration(nodeTook(x.clock.Now, x.node.Node)), waited)
	}
	if x.node.Reason != nil && x.node.State != dag.Ready { // a waiting node has its own panel
		add("Why", label.ReasonText(x.node.Reason), "")
	}
	if x.node.RetryAt != nil {
		moment := x.clock.Exactly(*x.node.RetryAt)
		name := "Next attempt"
		if x.node.Reason != nil && x.node.Reason.Code == execution.ReasonSensor {
			name = "Next poll"
		}
		facts = append(facts, ui.Fact{Name: name, Moment: &moment})
	}
	facts = append(facts, x.pollFacts()...)
	if x.node.Error != nil {
		add("Failed with", x.node.Error.Message, "")
	}
	if x.node.Operator != nil && !x.becomes(x.node.Node) {
		add("Requests", planview.ResourceText(x.node.Operator.Resources), "")
	}
	if a := lastAttempt(x.node); a != nil {
		if a.CPUSeconds != nil && a.StartedAt != nil {
			add("CPU used", units.Duration(time.Duration(*a.CPUSeconds*float64(time.Second))), "")
		}
		if a.PeakRSSBytes != nil && *a.PeakRSSBytes > 0 {
			add("Memory, peak", units.Bytes(*a.PeakRSSBytes), "")
		}
	}
	return facts
}

func lastAttempt(d query.NodeDetail) *query.Attempt {
	var last *query.Attempt
	for i := range d.Attempts {
		if last == nil || d.Attempts[i].Number > last.Number {
			last = &d.Attempts[i]
		}
	}
	return last
}

// attempts describes each attempt in a sentence, in order.
func (x *nodeView) attempts() []views.AttemptLine {
	list := slices.Clone(x.node.Attempts)
	slices.SortFunc(list, func(a, b query.Attempt) int { return a.Number - b.Number })
	if x.node.Polling != nil && len(list) > shownPolls {
		list = list[len(list)-shownPolls:]
	}
	var lines []views.AttemptLine
	for _, a := range list {
		line := views.AttemptLine{
			Number: strconv.Itoa(a.Number), State: attemptState(a, x.node), LogURL: views.NodeLogsURL(x.ID.String(), x.node.Name, a.Number),
			Sentence: attemptSentence(a, x.node),
		}
		if c := podClass(a, x.node); c != nil {
			line.Class = c.Word
		} else if a.ErrorClass != "" {
			line.Class = label.SentenceCase(a.ErrorClass.Words())
		}
		if a.StartedAt != nil {
			line.Started = x.clock.Exactly(*a.StartedAt)
			if a.FinishedAt != nil {
				line.Took = units.Duration(a.FinishedAt.Sub(*a.StartedAt))
			} else {
				line.Took, line.Since = units.Duration(x.clock.Now.Sub(*a.StartedAt)), a.StartedAt.Format(time.RFC3339)
			}
		}
		line.Facts = attemptFacts(a)
		lines = append(lines, line)
	}
	return lines
}

func attemptFacts(a query.Attempt) []ui.Fact {
	var facts []ui.Fact
	if a.Host != "" {
		facts = append(facts, ui.Fact{Name: "On", Value: a.Host})
	}
	if a.PID != nil {
		facts = append(facts, ui.Fact{Name: "Process", Value: strconv.Itoa(*a.PID), Mono: true})
	}
	if a.ExitCode != nil {
		facts = append(facts, ui.Fact{Name: "Exit code", Value: strconv.Itoa(*a.ExitCode), Mono: true})
	}
	if a.CPUSeconds != nil && a.StartedAt != nil {
		facts = append(facts, ui.Fact{Name: "CPU used", Value: units.Duration(time.Duration(*a.CPUSeconds * float64(time.Second)))})
	}
	if a.PeakRSSBytes != nil && *a.PeakRSSBytes > 0 {
		facts = append(facts, ui.Fact{Name: "Memory, peak", Value: units.Bytes(*a.PeakRSSBytes)})
	}
	if a.Pod != "" && a.MemoryMiB > 0 {
		facts = append(facts, ui.Fact{Name: "Memory limit", Value: ui.Memory(a.MemoryMiB)})
	}
	return facts
}

// attemptState is the displayed state of an attempt.
func attemptState(a query.Attempt, d query.NodeDetail) string {
	if a.Outcome != "" {
		if s := outcomeState(a.Outcome); s != "" {
			return s
		}
		return string(dag.Failed)
	}
	if a.StartedAt == nil {
		return string(dag.Queued)
	}
	if d.State.Ended() {
		return string(d.State)
	}
	return string(dag.Running)
}

// attemptSentence describes the result of an attempt.
func attemptSentence(a query.Attempt, d query.NodeDetail) string {
	switch {
	case a.Message != "":
		return a.Message
	case a.Outcome == "" && a.StartedAt == nil && a.Pod != "":
		return "Waiting for its pod."
	case a.Outcome == "" && a.StartedAt == nil:
		return "Queued."
	case a.Outcome == "":
		if d.Progress != nil && d.Progress.Message != "" {
			return "Running: " + d.Progress.Message
		}
		return "Running."
	case a.ExitCode != nil && *a.ExitCode != 0:
		return fmt.Sprintf("Exited with code %d.", *a.ExitCode)
	}
	return ui.Word(outcomeState(a.Outcome)) + "."
}

// operatorInputs are the inputs of a node with the types that its operator declares.
func operatorInputs(d query.NodeDetail) []views.Value {
	if d.Operator == nil {
		return nil
	}
	var values []views.Value
	for _, in := range d.Operator.Inputs {
		if v, ok := d.Inputs[in.Name]; ok {
			values = append(values, valueOf(in.Name, in.Type, v))
			continue
		}
		values = append(values, views.Value{Name: in.Name, Type: in.Type.Name(), Missing: sourceText(in)})
	}
	return values
}

// sourceText describes the source of a value.
func sourceText(in workflow.Input) string {
	switch in.Source.Kind {
	case workflow.SourceFuture:
		return "from " + in.Source.Future.String()
	case workflow.SourceInput:
		return "the input " + in.Source.Input
	case workflow.SourceLiteral:
		return in.Type.Render(in.Source.Value)
	case workflow.SourceItem, workflow.SourceIndex:
		return "the " + planview.SourceSummary(in.Source) + " of each"
	case workflow.SourceFormula:
		return "= " + in.Source.Formula.String()
	}
	return "none"
}

func operatorOutputs(d query.NodeDetail) []views.Value {
	if d.Operator == nil {
		return nil
	}
	var values []views.Value
	for _, out := range d.Operator.Outputs {
		if d.FansOut(d.Operator) {
			out, _ = d.Operator.Produces(out.Name)
		}
		if v, ok := d.Outputs[out.Name]; ok {
			values = append(values, valueOf(out.Name, out.Type, v))
			continue
		}
		missing := "when it succeeds"
		if d.State.Ended() {
			missing = "not produced"
		}
		if out.Type.Kind == typeregistry.KindOptional {
			missing = "optional"
		}
		values = append(values, views.Value{Name: out.Name, Type: out.Type.Name(), Missing: missing})
	}
	for _, name := range slices.Sorted(maps.Keys(d.Outputs)) {
		declared := slices.ContainsFunc(d.Operator.Outputs, func(o workflow.OperatorOutput) bool { return o.Name == name })
		if d.Operator.KeepsAll() && !declared {
			values = append(values, valueOf(name, typeregistry.Plainly(typeregistry.KindJSON), d.Outputs[name]))
		}
	}
	return values
}

// shownPolls is the number of attempts of a sensor that pages list.
const shownPolls = 50

// pollFacts are the polls of a sensor.
func (x *nodeView) pollFacts() []ui.Fact {
	p := x.node.Polling
	if p == nil {
		return nil
	}
	moment := x.clock.Exactly(p.Since)
	facts := []ui.Fact{{Name: "Waiting since", Moment: &moment}}
	if x.node.State.Ended() {
		facts[0].Name = "Waited since"
	}
	if p.Polls > 0 {
		note := ""
		if len(x.node.Attempts) > shownPolls {
			note = fmt.Sprintf("(the last %d attempts are listed)", shownPolls)
		}
		facts = append(facts, ui.Fact{Name: "Polls", Value: units.Number(int64(p.Polls)), Note: note})
	}
	if p.At != nil {
		at := x.clock.Exactly(*p.At)
		facts = append(facts, ui.Fact{Name: "Last poll", Moment: &at})
	}
	if p.Last != "" {
		facts = append(facts, ui.Fact{Name: "Last result", Value: p.Last})
	}
	if p.Next != nil && x.node.RetryAt == nil && !x.node.State.Ended() {
		next := x.clock.Exactly(*p.Next)
		facts = append(facts, ui.Fact{Name: "Next poll", Moment: &next})
	}
	return facts
}
