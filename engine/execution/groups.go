package execution

import (
	"context"
	"fmt"
	"time"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/execution/stored"
)

// Codes of a Reason of nodes that wait because of a limit or were left out.
const (
	ReasonCondition   = "CONDITION"   // its condition is false
	ReasonParallelism = "PARALLELISM" // the maximum number of nodes or items is running
)

// children are the nodes into which a node last expanded.
type children struct{ first, count int }

// nodeGroups expands fan-outs and graphs into nodes, and ends them.
type nodeGroups struct{ loop *loop }

// fansOut reports whether node i expands into the items of a fan-out.
func (gs *nodeGroups) fansOut(i int) bool {
	return gs.loop.nodes[i].op.Foreach != nil && gs.loop.nodes[i].index < 0
}

// members returns the nodes of a graph with this plan; in is the name of the enclosing node.
func (gs *nodeGroups) members(graph string, plan *dag.Plan, in string) []nodeState {
	g, _ := gs.loop.version.Definition.Graph(graph)
	nodes := make([]nodeState, len(plan.Nodes))
	for k := range nodes {
		nodes[k] = nodeState{op: &g.Operators[k], graph: graph, name: in + g.Operators[k].Name, index: -1, level: plan.Nodes[k].Level}
	}
	return nodes
}

// items returns the nodes of a fan-out of node i.
func (gs *nodeGroups) items(i int, values []any) []nodeState {
	of := &gs.loop.nodes[i]
	nodes := make([]nodeState, len(values))
	for k, v := range values {
		nodes[k] = nodeState{op: of.op, graph: of.graph, name: fmt.Sprintf("%s[%d]", of.name, k), index: k, item: v, level: of.level}
	}
	return nodes
}

// expand expands node i, whose attempt has just begun, into other nodes.
func (gs *nodeGroups) expand(ctx context.Context, i int, now time.Time) {
	expansion, nodes, err := gs.expansion(ctx, i)
	if gs.loop.cannotRead(err) {
		return
	}
	if err != nil {
		gs.loop.ends.failNode(i, now, &query.Failure{Code: "expand", Message: sentence(err), Node: gs.loop.nodes[i].name, Attempt: gs.loop.nodes[i].attempt})
		return
	}
	if len(nodes) == 0 && gs.fansOut(i) && gs.loop.nodes[i].op.Tags != nil {
		gs.skipEmpty(i, now)
		return
	}
	first := gs.loop.progress.Expand(i, expansion)
	level := gs.loop.nodes[i].level
	for k := range nodes {
		nodes[k].level = level
		gs.loop.unseen.add(first + k)
		gs.loop.batch.added = append(gs.loop.batch.added, first+k)
	}
	gs.loop.nodes = append(gs.loop.nodes, nodes...)
	n := gs.loop.move(i, dag.Running)
	n.children = children{first, len(nodes)}
	if err := gs.loop.origins.carryOver(ctx, i, first, now); err != nil {
		gs.loop.readFailure = err // the next loop retries it
		return
	}
	gs.loop.batch.nodeEvent(i, now, query.EventNodeExpanded, fmt.Sprintf("Nodes created: %d.", len(nodes)), map[string]any{"first": first, "count": len(nodes)})
}

// expansion computes the nodes into which node i expands.
func (gs *nodeGroups) expansion(ctx context.Context, i int) (dag.Expansion, []nodeState, error) {
	n := &gs.loop.nodes[i]
	if gs.fansOut(i) {
		values, err := gs.itemsOf(ctx, i)
		if err != nil {
			return dag.Expansion{}, nil, err
		}
		f := n.op.Foreach
		return dag.Expansion{Items: len(values), Item: n.op.ItemTraits(), Limit: f.Parallelism, Partial: f.Partial}, gs.items(i, values), nil
	}
	if depth, most := gs.depth(i), gs.loop.version.Definition.Depth(); depth >= most {
		return dag.Expansion{}, nil, fmt.Errorf("graphs are nested %d levels deep, which exceeds the definition's max_depth", most)
	}
	g, ok := gs.loop.version.Definition.Graph(n.op.Graph)
	if !ok || n.op.Graph == "" {
		return dag.Expansion{}, nil, fmt.Errorf("there is no graph called %q", n.op.Graph)
	}
	if room := maxNodes - len(gs.loop.nodes); len(g.Operators) > room {
		return dag.Expansion{}, nil, tooManyNodes()
	}
	inputs, err := gs.loop.values.graphInputs(ctx, i, g)
	if err != nil {
		return dag.Expansion{}, nil, err
	}
	n.inputs = inputs
	return dag.Expansion{Plan: gs.loop.version.Plans[g.Name], Limit: g.Parallelism}, gs.members(g.Name, gs.loop.version.Plans[g.Name], n.name+"/"), nil
}

const maxNodes = query.MaxNodes

func tooManyNodes() error {
	return fmt.Errorf("the execution would have more than %d nodes", maxNodes)
}

// depth is the number of graphs that enclose node i.
func (gs *nodeGroups) depth(i int) int {
	depth := 0
	for p := gs.loop.progress.Parent(i); p != dag.NoNode; p = gs.loop.progress.Parent(p) {
		if !gs.fansOut(p) {
			depth++
		}
	}
	return depth
}

// itemsOf returns the items of the fan-out of node i.
func (gs *nodeGroups) itemsOf(ctx context.Context, i int) ([]any, error) {
	f := gs.loop.nodes[i].op.Foreach
	if of, ok := gs.siblingFanOut(i); ok && gs.loop.nodes[of].children.count > 0 {
		return gs.siblingItems(of), nil
	}
	value, ok, err := gs.loop.values.of(ctx, i, f.Items)
	if err != nil {
		return nil, err
	}
	if err := stored.Check(value); err != nil {
		return nil, fmt.Errorf("the fan-out list: %w", err)
	}
	list, isList := value.([]any)
	switch {
	case !ok || value == nil:
		return nil, fmt.Errorf("the fan-out list has no value")
	case !isList:
		return nil, fmt.Errorf("the fan-out value is not a list")
	case len(list) > f.Limit:
		return nil, fmt.Errorf("there are %d items; at most %d are allowed (foreach.limit)", len(list), f.Limit)
	case len(list) > maxNodes-len(gs.loop.nodes):
		return nil, tooManyNodes()
	}
	return list, nil
}

// evaluate evaluates the condition of node i.
func (l *loop) evaluate(ctx context.Context, i int, now time.Time) {
	n := &l.nodes[i]
	holds, text, err := l.values.condition(ctx, i)
	code, problem := "condition", "The condition could not be evaluated: "
	if err == nil && holds {
		code, problem = "settings", "A setting could not be evaluated: "
		err = l.values.settleOperator(ctx, i)
	}
	switch {
	case l.cannotRead(err):
	case err != nil:
		l.batch.touch(i)
		n.attempt++
		l.ends.failNode(i, now, &query.Failure{Code: code, Message: problem + sentence(err), Node: n.name, Attempt: n.attempt})
	case holds:
		l.progress.Pass(i)
		l.unseen.add(i)
	default:
		l.endWithout(i, dag.Skipped, now, &query.Reason{Code: ReasonCondition, Message: "Its condition is false: " + text})
	}
}

// hold makes a node wait because of a limit, and adds an event.
func (gs *nodeGroups) hold(a dag.Action) {
	gs.loop.progress.Hold(a.Node, a.InScope)
	n := &gs.loop.nodes[a.Node]
	if n.reason != nil && n.reason.Code == ReasonParallelism {
		return
	}
	gs.loop.batch.touch(a.Node)
	n.reason = &query.Reason{Code: ReasonParallelism, Message: gs.parallelismText(a)}
}

func (gs *nodeGroups) parallelismText(a dag.Action) string {
	parent := gs.loop.progress.Parent(a.Node)
	switch {
	case !a.InScope:
		return fmt.Sprintf("The execution has reached its limit of concurrent nodes (%d).", gs.loop.version.Definition.Parallelism)
	case parent != dag.NoNode && gs.fansOut(parent) && gs.loop.nodes[parent].op.Tags == nil:
		return fmt.Sprintf("%s has reached its limit of concurrent items (%d).", gs.loop.nodes[parent].name, gs.loop.nodes[parent].op.Foreach.Parallelism)
	}
	g, _ := gs.loop.version.Definition.Graph(gs.loop.nodes[a.Node].graph)
	return fmt.Sprintf("The graph %s has reached its limit of concurrent nodes (%d).", g.Name, g.Parallelism)
}

// omitReason explains why a node can never run.
func (gs *nodeGroups) omitReason(a dag.Action) *query.Reason {
	reason := &query.Reason{Code: ReasonUpstream, Message: "A dependency did not succeed."}
	home := gs.loop.home(a.Node)
	if rule := gs.loop.progress.Depends(home); rule != "" {
		reason.Message = fmt.Sprintf("Its condition %s was not met.", rule)
	} else if a.Cause >= 0 {
		reason.Message = gs.loop.nodes[a.Cause].name + " did not succeed."
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
		l.unseen.add(l.progress.Drain(a.Scope)...)
	} else {
		l.unseen.add(l.progress.Halt(a.Scope, outside)...)
	}
	if outside {
		return
	}
	kind, about := query.EventExecutionHalted, a.Node
	if a.Scope != dag.Root {
		kind, about = query.EventNodeHalted, l.progress.Parent(a.Node)
	}
	l.batch.event(eventRow{At: now, Kind: kind, Node: &about, Message: fmt.Sprintf("%s failed %s.", l.nodes[a.Node].name, why)})
}

// end ends node i as state; all nodes of its group have ended.
func (gs *nodeGroups) end(ctx context.Context, a dag.Action, now time.Time) {
	i := a.Node
	n := &gs.loop.nodes[i]
	if n.endCommand != nil && a.State != dag.Succeeded {
		gs.loop.commands.done(n.endCommand.Seq)
		gs.loop.commands.endByCommand(i, *n.endCommand)
		return
	}
	switch a.State {
	case dag.Succeeded:
		values, err := gs.outputs(ctx, i)
		if gs.loop.cannotRead(err) {
			return
		}
		if err != nil {
			gs.failed(i, now, &query.Failure{Code: "output", Message: sentence(err), Node: n.name, Attempt: n.attempt})
			return
		}
		gs.loop.ends.succeed(i, ending{FinishedAt: now, StartedAt: n.startedAt}, values)
	case dag.Cancelled:
		gs.loop.ends.cancelNode(i, ending{FinishedAt: now, StartedAt: n.startedAt})
	default:
		gs.failed(i, now, gs.failure(i))
	}
}

// failed ends node i as failed, or retries it.
func (gs *nodeGroups) failed(i int, now time.Time, failure *query.Failure) {
	n := &gs.loop.nodes[i]
	if gs.fansOut(i) {
		gs.loop.ends.failNode(i, now, failure)
		return
	}
	e, cause := gs.ending(i, now, failure)
	if again, why := gs.loop.ends.shouldRetry(i, e, cause); !again {
		gs.loop.ends.failNode(i, now, concluded(failure, why))
		return
	}
	gs.loop.batch.touch(i)
	n.retries++
	n.failure = failure
	gs.loop.ends.repeat(i, now, gs.loop.ends.delay(i), &query.Reason{
		Code: ReasonBackoff, Message: retryText(n.attempt, n.retries, n.op.Retry.Limit, "") + failure.Message,
	})
}

// failure describes the failure of a group by the failures of its nodes.
func (gs *nodeGroups) failure(i int) *query.Failure {
	n := &gs.loop.nodes[i]
	base, size := n.children.first, n.children.count
	var first *nodeState
	failed := 0
	for k := base; k < base+size; k++ {
		if gs.loop.progress.State(k) != dag.Failed {
			continue
		}
		failed++
		if first == nil || gs.loop.nodes[k].finishedAt.Before(*first.finishedAt) {
			first = &gs.loop.nodes[k]
		}
	}
	f := &query.Failure{Code: "children", Message: "A nested node failed.", Node: n.name, Attempt: n.attempt}
	f.Errored = gs.errs(i)
	if first == nil || first.failure == nil {
		return f
	}
	f.Message = fmt.Sprintf("%s failed: %s", first.name, first.failure.Message)
	if gs.fansOut(i) {
		f.Message = fmt.Sprintf("%d of %d items failed; first %s: %s", failed, size, first.name, first.failure.Message)
	}
	return f
}

// outputs collects the outputs of node i: of a fan-out the lists of the outputs of its
// items, of a graph its outputs.
func (gs *nodeGroups) outputs(ctx context.Context, i int) (map[string]any, error) {
	n := &gs.loop.nodes[i]
	if !gs.fansOut(i) {
		g, _ := gs.loop.version.Definition.Graph(n.op.Graph)
		return gs.loop.values.scopeOutputs(ctx, gs.loop.progress.Inner(i), g.Outputs)
	}
	if len(n.op.Outputs) == 0 && !n.op.KeepsAll() {
		return nil, nil
	}
	all := make([]int, n.children.count)
	for k := range all {
		all[k] = n.children.first + k
	}
	if err := gs.loop.values.loadOutputs(ctx, all); err != nil {
		return nil, err
	}
	values := map[string]any{}
	for _, name := range gs.loop.values.outputNames(n.op, all) {
		list := make([]any, len(all))
		for k, child := range all {
			list[k] = gs.loop.values.outputs[child][name]
		}
		values[name] = list
	}
	return values, nil
}
