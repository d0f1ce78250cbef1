package execution

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
)

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// phase is the Argo phase of a node.
func (vs *nodeValues) phase(i int) string {
	switch vs.loop.progress.State(i) {
	case dag.Succeeded:
		return "Succeeded"
	case dag.Failed:
		return failurePhase(vs.loop.nodes[i].failure.IsError())
	case dag.Cancelled:
		return "Failed"
	case dag.Skipped:
		if vs.loop.progress.Omitted(i) {
			return "Omitted"
		}
		return "Skipped"
	case dag.Running, dag.Queued, dag.Retrying:
		return "Running"
	case dag.Pending, dag.Ready:
	}
	return "Pending"
}

func failurePhase(errored bool) string {
	if errored {
		return "Error"
	}
	return "Failed"
}

// taskTag resolves values of another node: tasks.<name>.<of>.
func (p *tagScope) taskTag(name, of string) (any, bool) {
	l := p.loop
	i, ok := p.task(name)
	if !ok {
		return nil, false
	}
	n := &l.nodes[i]
	switch of {
	case "status":
		if l.groups.fansOut(i) {
			return l.values.loopPhase(i), true
		}
		return l.values.phase(i), true
	case "id":
		return l.id.String() + "." + strconv.Itoa(i), true
	case "name":
		return n.name, true
	case "startedAt":
		return timeTag(n.startedAt)
	case "finishedAt":
		return timeTag(n.finishedAt)
	case "ip":
		if err := l.values.loadOutputs(p.ctx, []int{i}); err != nil {
			p.broken = err
			return nil, false
		}
		address, ok := l.values.outputs[i][AddressPort]
		return address, ok && n.op.Serves
	case "exitCode", "outputs.exitCode":
		if l.progress.State(i) == dag.Succeeded && n.op.Runs() {
			return "0", true
		}
		code, ok := exitCodeOf(n.failure)
		return code, ok
	}
	if of, ok = strings.CutPrefix(of, "outputs."); !ok || !l.progress.State(i).Ended() {
		return nil, false
	}
	if err := l.values.loadOutputs(p.ctx, []int{i}); err != nil {
		p.broken = err
		return nil, false
	}
	return p.outputTag(i, of)
}

func timeTag(t *time.Time) (any, bool) {
	if t == nil {
		return nil, false
	}
	return t.UTC().Format(time.RFC3339), true
}

// outputTag resolves "result", "parameters", "parameters.<name>" or "artifacts.<name>" of
// node i, whose outputs are loaded. For a fan-out it is the list of its items' outputs.
func (p *tagScope) outputTag(i int, of string) (any, bool) {
	outputs, fans := p.outputsOf(i)
	if !fans {
		if p.loop.nodes[i].op.KeepsAll() {
			if v, ok := outputs[of]; ok && v != nil {
				return v, true
			}
		}
		if of == "result" {
			v, ok := outputs[ResultPort]
			return v, ok && v != nil
		}
		return parametersTag(p.loop.values.withDefaults(i, outputs), of)
	}
	if of == "parameters" {
		return p.loop.values.loopParameters(i, outputs), p.loop.progress.State(i) == dag.Succeeded || len(outputs) > 0
	}
	port, isParameter := strings.CutPrefix(of, "parameters.")
	if of == "result" {
		port, isParameter = ResultPort, true
	}
	list, ok := outputs[port].([]any)
	if !ok || !isParameter {
		return nil, false
	}
	return p.loop.values.loopOutput(i, port, list), true
}

// withDefaults adds the defaults of node i's output parameters when it did not run.
func (vs *nodeValues) withDefaults(i int, outputs map[string]any) map[string]any {
	if vs.loop.progress.State(i) != dag.Skipped {
		return outputs
	}
	all := map[string]any{}
	for _, o := range vs.loop.nodes[i].op.Outputs {
		if o.Default != nil {
			all[o.Name] = *o.Default
		}
	}
	maps.Copy(all, outputs)
	return all
}

// workflowTag resolves values of the execution: workflow.<of>.
func (p *tagScope) workflowTag(of string) (any, bool) {
	l := p.loop
	switch of {
	case "name":
		return l.values.tagName(), true
	case "namespace":
		return "default", true // unless the document sets another one
	case "uid":
		return l.id.String(), true
	case "status":
		return l.values.workflowPhase(), true
	case "failures":
		return l.values.failuresTag(), true
	case "priority":
		return strconv.Itoa(int(l.row.Priority)), true
	case "duration":
		return l.values.durationTag()
	case "scheduledTime": // a manually launched CronWorkflow is scheduled for now
		if at := l.row.ScheduledAt; at != nil {
			return at.UTC().Format(time.RFC3339), true
		}
		return l.row.CreatedAt.UTC().Format(time.RFC3339), true
	case "creationTimestamp", "creationTimestamp.RFC3339":
		return l.row.CreatedAt.UTC().Format(time.RFC3339), true
	case "parameters":
		return parametersTag(l.inputs, of)
	case "parameters.json":
		if _, own := l.inputs["json"]; !own {
			return parametersTag(l.inputs, "parameters")
		}
	}
	switch first, rest, _ := strings.Cut(of, "."); first {
	case "parameters":
		return parametersTag(l.inputs, of)
	case "creationTimestamp":
		return timeFormat(l.row.CreatedAt.UTC(), rest)
	case "outputs":
		return p.globalTag(rest)
	}
	return nil, false
}

// tagName is the unique name of the execution, as Argo creates one for each workflow.
func (vs *nodeValues) tagName() string {
	id := vs.loop.id.String()
	return vs.loop.row.WorkflowName + "-" + id[len(id)-8:]
}

// workflowPhase is the current result of the execution; before its end it is Running.
func (vs *nodeValues) workflowPhase() string {
	if base, size := vs.loop.progress.Members(dag.Root); !vs.allButFinal(base, size) {
		return "Running"
	}
	switch vs.loop.conclusion.state() {
	case query.Succeeded:
		return "Succeeded"
	case query.Cancelled:
		return "Failed"
	case query.Pending, query.Running, query.Paused, query.Failed:
	}
	return failurePhase(vs.loop.groups.rootErrs())
}

func (vs *nodeValues) allButFinal(base, size int) bool {
	for i := base; i < base+size; i++ {
		if !vs.loop.nodes[i].op.Final && !vs.loop.progress.State(i).Ended() {
			return false
		}
	}
	return true
}

func (vs *nodeValues) durationTag() (any, bool) {
	if vs.loop.row.StartedAt == nil {
		return "0.000000", true
	}
	return strconv.FormatFloat(vs.loop.driver.now().Sub(*vs.loop.row.StartedAt).Seconds(), 'f', 6, 64), true
}

// failuresTag lists the failed tasks in the format of Argo's exit handlers.
func (vs *nodeValues) failuresTag() []any {
	list := []any{}
	for i := range vs.loop.nodes {
		n := &vs.loop.nodes[i]
		if vs.loop.progress.State(i) != dag.Failed || !n.op.Runs() || vs.loop.groups.fansOut(i) || len(list) == maxFailures {
			continue
		}
		f := map[string]any{
			"displayName": n.name, "templateName": n.op.TemplateName(), "phase": vs.phase(i), "message": "",
			"podName": attemptName(vs.loop.id, i, n.attempt),
		}
		if n.failure != nil {
			f["message"] = n.failure.Message
		}
		if at, ok := timeTag(n.finishedAt); ok {
			f["finishedAt"] = at
		}
		list = append(list, f)
	}
	return list
}

// globalTag resolves a global output of a node that succeeded or failed; of several the
// latest to end.
func (p *tagScope) globalTag(rest string) (any, bool) {
	l := p.loop
	var at *time.Time
	var found any
	for i := range l.nodes {
		n := &l.nodes[i]
		if !l.values.hasOwnOutputs(i) {
			continue
		}
		for _, o := range n.op.Outputs {
			if o.Global == "" {
				continue
			}
			name, err := l.values.globalName(p.ctx, i, o.Global)
			if err == nil && name != rest {
				continue
			}
			if err == nil {
				err = l.values.loadOutputs(p.ctx, []int{i})
			}
			if err != nil {
				p.broken = err
				return nil, false
			}
			if v, ok := l.values.outputs[i][o.Name]; ok && v != nil && (at == nil || n.finishedAt.After(*at)) {
				found, at = v, n.finishedAt
			}
		}
	}
	return found, at != nil
}

// hasOwnOutputs reports whether node i can have outputs that it wrote itself: a task that
// failed keeps those that it had written.
func (vs *nodeValues) hasOwnOutputs(i int) bool {
	state := vs.loop.progress.State(i)
	return (state == dag.Succeeded || state == dag.Failed) && !vs.loop.groups.fansOut(i)
}

// globalName is the global name of an output of node i with its tags replaced. It fails only with a
// readError.
func (vs *nodeValues) globalName(ctx context.Context, i int, name string) (string, error) {
	if !strings.Contains(name, "{{") || vs.naming {
		return name, nil // the inputs of a node may read global outputs themselves
	}
	vs.naming = true
	defer func() { vs.naming = false }()
	inputs, err := vs.inputValues(ctx, i)
	if err != nil {
		return "", err
	}
	text, err := vs.within(ctx, i, inputs).text(name, false)
	switch {
	case isUnreadable(err):
		return "", err
	case err != nil:
		return name, nil // its tags have no value
	}
	return text, nil
}

// timeFormat formats one part of a time by a letter of strftime.
func timeFormat(t time.Time, letter string) (any, bool) {
	layout := map[string]string{
		"Y": "2006", "m": "01", "d": "02", "H": "15", "M": "04", "S": "05", "y": "06", "B": "January", "b": "Jan",
		"A": "Monday", "a": "Mon", "I": "03", "p": "PM", "Z": "MST", "j": "002", "L": ".000",
	}[letter]
	switch {
	case letter == "s":
		return strconv.FormatInt(t.Unix(), 10), true
	case layout == "":
		return nil, false
	}
	return strings.TrimPrefix(t.Format(layout), "."), true
}
