package execution

import (
	"context"
	"fmt"
	"time"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// Codes of a Reason of nodes that wait because of a limit or were left out.
const (
	ReasonCondition   = "CONDITION"   // its condition is false
	ReasonParallelism = "PARALLELISM" // the maximum number of nodes or items is running
)

// children are the nodes into which a node last expanded.
type children struct{ first, count int }

// fansOut reports whether node i expands into the items of a fan-out.
func (l *loop) fansOut(i int) bool { return l.nodes[i].op.Foreach != nil && l.nodes[i].index < 0 }

// members returns the nodes of a graph with this plan; in is the name of the enclosing node.
func (l *loop) members(graph string, plan *dag.Plan, in string) []nodeState {
	g, _ := l.version.Definition.Graph(graph)
	nodes := make([]nodeState, len(plan.Nodes))
	for k := range nodes {
		nodes[k] = nodeState{op: &g.Operators[k], graph: graph, name: in + g.Operators[k].Name, index: -1, level: plan.Nodes[k].Level}
	}
	return nodes
}

// items returns the nodes of a fan-out of node i.
func (l *loop) items(i int, values []any) []nodeState {
	of := &l.nodes[i]
	nodes := make([]nodeState, len(values))
	for k, v := range values {
		nodes[k] = nodeState{op: of.op, graph: of.graph, name: fmt.Sprintf("%s[%d]", of.name, k), index: k, item: v, level: of.level}
	}
	return nodes
}

// expand expands node i, whose attempt has just begun, into other nodes.
func (l *loop) expand(ctx context.Context, i int, now time.Time) {
	expansion, nodes, err := l.expansion(ctx, i)
	if l.cannotRead(err) {
		return
	}
	if err != nil {
		l.failNode(i, now, &query.Failure{Code: "expand", Message: sentence(err), Node: l.nodes[i].name, Attempt: l.nodes[i].attempt})
		return
	}
	if len(nodes) == 0 && l.fansOut(i) && l.nodes[i].op.Tags != nil {
		l.skipEmpty(i, now)
		return
	}
	first := l.progress.Expand(i, expansion)
	level := l.nodes[i].level
	for k := range nodes {
		nodes[k].level = level
		l.changed = append(l.changed, first+k)
		l.batch.added = append(l.batch.added, first+k)
	}
	l.nodes = append(l.nodes, nodes...)
	n := l.move(i, dag.Running)
	n.children = children{first, len(nodes)}
	if err := l.origins.carryOver(ctx, i, first, now); err != nil {
		l.readFailure = err // the next loop retries it
		return
	}
	l.nodeEvent(i, now, query.EventNodeExpanded, fmt.Sprintf("Nodes created: %d.", len(nodes)), map[string]any{"first": first, "count": len(nodes)})
}

// expansion computes the nodes into which node i expands.
func (l *loop) expansion(ctx context.Context, i int) (dag.Expansion, []nodeState, error) {
	n := &l.nodes[i]
	if l.fansOut(i) {
		values, err := l.itemsOf(ctx, i)
		if err != nil {
			return dag.Expansion{}, nil, err
		}
		f := n.op.Foreach
		return dag.Expansion{Items: len(values), Item: n.op.ItemTraits(), Limit: f.Parallelism, Partial: f.Partial}, l.items(i, values), nil
	}
	if depth, most := l.depth(i), l.version.Definition.Depth(); depth >= most {
		return dag.Expansion{}, nil, fmt.Errorf("graphs are nested %d levels deep, which exceeds the definition's max_depth", most)
	}
	g, ok := l.version.Definition.Graph(n.op.Graph)
	if !ok || n.op.Graph == "" {
		return dag.Expansion{}, nil, fmt.Errorf("there is no graph called %q", n.op.Graph)
	}
	if room := maxNodes - len(l.nodes); len(g.Operators) > room {
		return dag.Expansion{}, nil, tooManyNodes()
	}
	inputs, err := l.graphInputs(ctx, i, g)
	if err != nil {
		return dag.Expansion{}, nil, err
	}
	n.inputs = inputs
	return dag.Expansion{Plan: l.version.Plans[g.Name], Limit: g.Parallelism}, l.members(g.Name, l.version.Plans[g.Name], n.name+"/"), nil
}

const maxNodes = query.MaxNodes

func tooManyNodes() error {
	return fmt.Errorf("the execution would have more than %d nodes", maxNodes)
}

// depth is the number of graphs that enclose node i.
func (l *loop) depth(i int) int {
	depth := 0
	for p := l.progress.Parent(i); p != dag.NoNode; p = l.progress.Parent(p) {
		if !l.fansOut(p) {
			depth++
		}
	}
	return depth
}

// itemsOf returns the items of the fan-out of node i.
func (l *loop) itemsOf(ctx context.Context, i int) ([]any, error) {
	f := l.nodes[i].op.Foreach
	if of, ok := l.siblingFanOut(i); ok && l.nodes[of].children.count > 0 {
		return l.itemsBeside(of), nil
	}
	value, ok, err := l.value(ctx, i, f.Items)
	if err != nil {
		return nil, err
	}
	list, isList := value.([]any)
	switch {
	case !ok || value == nil:
		return nil, fmt.Errorf("the fan-out list has no value")
	case !isList:
		return nil, fmt.Errorf("the fan-out value is not a list")
	case len(list) > f.Limit:
		return nil, fmt.Errorf("there are %d items; at most %d are allowed (foreach.limit)", len(list), f.Limit)
	case len(list) > maxNodes-len(l.nodes):
		return nil, tooManyNodes()
	}
	return list, nil
}

// evaluate evaluates the condition of node i.
func (l *loop) evaluate(ctx context.Context, i int, now time.Time) {
	n := &l.nodes[i]
	holds, text, err := l.condition(ctx, i)
	code, problem := "condition", "The condition could not be evaluated: "
	if err == nil && holds {
		code, problem = "settings", "A setting could not be evaluated: "
		err = l.settleOperator(ctx, i)
	}
	switch {
	case l.cannotRead(err):
	case err != nil:
		l.touch(i)
		n.attempt++
		l.failNode(i, now, &query.Failure{Code: code, Message: problem + sentence(err), Node: n.name, Attempt: n.attempt})
	case holds:
		l.progress.Pass(i)
		l.changed = append(l.changed, i)
	default:
		l.endWithout(i, dag.Skipped, now, &query.Reason{Code: ReasonCondition, Message: "Its condition is false: " + text})
	}
}

// condition evaluates whether node i runs, and returns the evaluated text.
func (l *loop) condition(ctx context.Context, i int) (bool, string, error) {
	n := &l.nodes[i]
	if n.op.Tags != nil {
		return l.taggedCondition(ctx, i)
	}
	env, err := l.env(ctx, i, n.op.Condition())
	if err != nil {
		return false, n.op.When, err
	}
	holds, err := n.op.Condition().Bool(env)
	return holds, n.op.When, err
}

// hold makes a node wait because of a limit, and adds an event.
func (l *loop) hold(a dag.Action) {
	l.progress.Hold(a.Node, a.InScope)
	n := &l.nodes[a.Node]
	if n.reason != nil && n.reason.Code == ReasonParallelism {
		return
	}
	l.touch(a.Node)
	n.reason = &query.Reason{Code: ReasonParallelism, Message: l.parallelismText(a)}
}

func (l *loop) parallelismText(a dag.Action) string {
	parent := l.progress.Parent(a.Node)
	switch {
	case !a.InScope:
		return fmt.Sprintf("The execution has reached its limit of concurrent nodes (%d).", l.version.Definition.Parallelism)
	case parent != dag.NoNode && l.fansOut(parent) && l.nodes[parent].op.Tags == nil:
		return fmt.Sprintf("%s has reached its limit of concurrent items (%d).", l.nodes[parent].name, l.nodes[parent].op.Foreach.Parallelism)
	}
	g, _ := l.version.Definition.Graph(l.nodes[a.Node].graph)
	return fmt.Sprintf("The graph %s has reached its limit of concurrent nodes (%d).", g.Name, g.Parallelism)
}

// omitReason explains why a node can never run.
func (l *loop) omitReason(a dag.Action) *query.Reason {
	reason := &query.Reason{Code: ReasonUpstream, Message: "A dependency did not succeed."}
	home := l.home(a.Node)
	if rule := l.progress.Depends(home); rule != "" {
		reason.Message = fmt.Sprintf("Its condition %s was not met.", rule)
	} else if a.Cause >= 0 {
		reason.Message = l.nodes[a.Cause].name + " did not succeed."
	}
	return reason
}

// halt stops or drains a scope because a node failed, or because the enclosing scope was
// stopped.
func (l *loop) halt(a dag.Action, now time.Time) {
	outside := l.progress.ScopeOf(a.Node) != a.Scope
	if !outside {
		l.progress.RecordCause(a.Scope, a.Node)
	}
	why := "(fail-fast is on)"
	if a.Kind == dag.DrainScope {
		why = "(running nodes finish; no further nodes start)"
		l.changed = append(l.changed, l.progress.Drain(a.Scope)...)
	} else {
		l.changed = append(l.changed, l.progress.Halt(a.Scope, outside)...)
	}
	if outside {
		return
	}
	kind, about := query.EventExecutionHalted, a.Node
	if a.Scope != dag.Root {
		kind, about = query.EventNodeHalted, l.progress.Parent(a.Node)
	}
	l.event(eventRow{At: now, Kind: kind, Node: &about, Message: fmt.Sprintf("%s failed %s.", l.nodes[a.Node].name, why)})
}

// beginReady begins the nodes that were ready before the execution was admitted.
func (l *loop) beginReady(ctx context.Context) {
	nodes := l.withoutAttempt
	l.withoutAttempt = nil
	for _, i := range nodes {
		if l.progress.State(i) == dag.Ready && l.canStart(i) {
			l.beginAlone(ctx, i, l.driver.now())
		}
	}
}

// endGroup ends node i as state; all nodes of its group have ended.
func (l *loop) endGroup(ctx context.Context, a dag.Action, now time.Time) {
	i := a.Node
	n := &l.nodes[i]
	if n.endCommand != nil && a.State != dag.Succeeded {
		l.commands.done(n.endCommand.Seq)
		l.commands.endByCommand(i, *n.endCommand)
		return
	}
	switch a.State {
	case dag.Succeeded:
		values, err := l.groupOutputs(ctx, i)
		if l.cannotRead(err) {
			return
		}
		if err != nil {
			l.groupFailed(i, now, &query.Failure{Code: "output", Message: sentence(err), Node: n.name, Attempt: n.attempt})
			return
		}
		l.succeed(i, ending{FinishedAt: now, StartedAt: n.startedAt}, values)
	case dag.Cancelled:
		l.cancelNode(i, ending{FinishedAt: now, StartedAt: n.startedAt})
	default:
		l.groupFailed(i, now, l.groupFailure(i))
	}
}

// groupFailed ends node i as failed, or retries it.
func (l *loop) groupFailed(i int, now time.Time, failure *query.Failure) {
	n := &l.nodes[i]
	if l.fansOut(i) {
		l.failNode(i, now, failure)
		return
	}
	e, cause := l.groupEnding(i, now, failure)
	if again, why := l.shouldRetry(i, e, cause); !again {
		l.failNode(i, now, concluded(failure, why))
		return
	}
	l.touch(i)
	n.retries++
	n.failure = failure
	l.repeat(i, now, l.delay(i), &query.Reason{
		Code: ReasonBackoff, Message: retryText(n.attempt, n.retries, n.op.Retry.Limit, "") + failure.Message,
	})
}

// groupFailure describes the failure of a group by the failures of its nodes.
func (l *loop) groupFailure(i int) *query.Failure {
	n := &l.nodes[i]
	base, size := n.children.first, n.children.count
	var first *nodeState
	failed := 0
	for k := base; k < base+size; k++ {
		if l.progress.State(k) != dag.Failed {
			continue
		}
		failed++
		if first == nil || l.nodes[k].finishedAt.Before(*first.finishedAt) {
			first = &l.nodes[k]
		}
	}
	f := &query.Failure{Code: "children", Message: "A nested node failed.", Node: n.name, Attempt: n.attempt}
	f.Errored = l.errs(i)
	if first == nil || first.failure == nil {
		return f
	}
	f.Message = fmt.Sprintf("%s failed: %s", first.name, first.failure.Message)
	if l.fansOut(i) {
		f.Message = fmt.Sprintf("%d of %d items failed; first %s: %s", failed, size, first.name, first.failure.Message)
	}
	return f
}

// groupOutputs collects the outputs of node i: of a fan-out the lists of the outputs of its
// items, of a graph its outputs.
func (l *loop) groupOutputs(ctx context.Context, i int) (map[string]any, error) {
	n := &l.nodes[i]
	if !l.fansOut(i) {
		g, _ := l.version.Definition.Graph(n.op.Graph)
		return l.scopeOutputs(ctx, l.progress.Inner(i), g.Outputs)
	}
	if len(n.op.Outputs) == 0 && !n.op.KeepsAll() {
		return nil, nil
	}
	all := make([]int, n.children.count)
	for k := range all {
		all[k] = n.children.first + k
	}
	if err := l.loadOutputs(ctx, all); err != nil {
		return nil, err
	}
	values := map[string]any{}
	for _, name := range l.outputNames(n.op, all) {
		list := make([]any, len(all))
		for k, child := range all {
			list[k] = l.outputs[child][name]
		}
		values[name] = list
	}
	return values, nil
}
