package execution

import (
	"context"
	"fmt"
	"slices"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/execution/stored"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/engine/workflow"
)

// loader builds a loop from the rows of its execution.
type loader struct {
	loop *loop
	rows []db.LoadNodesRow // in order
}

// load restores everything that the loop knows.
func (ld *loader) load(ctx context.Context) error {
	l := ld.loop
	if err := ld.loadNodes(); err != nil {
		return err
	}
	if l.conclusion.cancelled {
		l.progress.Halt(dag.Root, true)
	}
	l.conclusion.setTimeout()
	if err := l.restoreAll(ctx); err != nil {
		return err
	}
	if l.status == query.Pending {
		return nil
	}
	if err := l.ends.loadMemory(ctx); err != nil {
		return err
	}
	if err := ld.settleOperators(ctx); err != nil {
		return err
	}
	for i := range l.nodes {
		ld.restoreNode(i, l.progress.State(i))
		l.streams.restoreRecall(i)
	}
	return ld.loadAttempts(ctx)
}

// loadNodes builds the nodes and their progress.
func (ld *loader) loadNodes() error {
	l := ld.loop
	if len(ld.rows) < len(l.nodes) {
		return fmt.Errorf("the execution has %d nodes, its plan %d", len(ld.rows), len(l.nodes))
	}
	for k := len(l.nodes); k < len(ld.rows); {
		size, err := ld.loadChildren(ld.rows[k:])
		if err != nil {
			return err
		}
		k += size
	}
	for i, r := range ld.rows {
		ld.loadNode(i, r)
	}
	return nil
}

// loadChildren expands the parent of the first rows, and returns how many rows are its
// children.
func (ld *loader) loadChildren(rows []db.LoadNodesRow) (int, error) {
	l := ld.loop
	first := rows[0]
	if first.ParentIndex == nil || int(*first.ParentIndex) >= len(l.nodes) {
		return 0, fmt.Errorf("node %d has no parent", first.NodeIndex)
	}
	size := 1
	for size < len(rows) && rows[size].ParentIndex != nil && *rows[size].ParentIndex == *first.ParentIndex && rows[size].Expansion == first.Expansion {
		size++
	}
	i := int(*first.ParentIndex)
	n := &l.nodes[i]
	if l.groups.fansOut(i) {
		values := make([]any, size)
		for k := range values {
			item, err := stored.Value(string(rows[k].Item))
			if err != nil {
				return 0, fmt.Errorf("item of node %d: %w", rows[k].NodeIndex, err)
			}
			values[k] = item
		}
		l.progress.Expand(i, dag.Expansion{Items: size, Item: n.op.ItemTraits(), Limit: n.op.Foreach.Parallelism, Partial: n.op.Foreach.Partial})
		l.nodes = append(l.nodes, l.groups.items(i, values)...)
		return size, nil
	}
	g, ok := l.version.Definition.Graph(n.op.Graph)
	plan := l.version.Plans[n.op.Graph]
	if !ok || n.op.Graph == "" || len(plan.Nodes) != size {
		return 0, fmt.Errorf("node %d expanded into %d nodes, but its graph %q has others", i, size, n.op.Graph)
	}
	l.progress.Expand(i, dag.Expansion{Plan: plan, Limit: g.Parallelism})
	l.nodes = append(l.nodes, l.groups.members(g.Name, plan, n.name+"/")...)
	return size, nil
}

// loadNode sets node i from its row.
func (ld *loader) loadNode(i int, r db.LoadNodesRow) {
	l := ld.loop
	n := &l.nodes[i]
	n.attempt, n.retries, n.level = int(r.Attempt), int(r.Retries), int(r.Level)
	n.reason, n.failure = stored.Into[query.Reason](r.Reason), stored.Into[query.Failure](r.Error)
	n.readyAt, n.startedAt, n.finishedAt, n.retryAt = r.ReadyAt, r.StartedAt, r.FinishedAt, r.RetryAt
	n.polling = stored.Into[query.Polling](r.Polling)
	n.onHold = n.reason != nil && n.reason.Code == ReasonHeld
	if len(r.Inputs) > 0 {
		n.inputs = stored.Object(r.Inputs)
	}
	if r.FirstChild != nil {
		n.children = children{int(*r.FirstChild), int(r.ChildCount)}
		if r.ChildCount == 0 && l.progress.Inner(i) == dag.NoNode {
			l.progress.Expand(i, dag.Expansion{}) // a fan-out over an empty list
		}
	}
	if n.attempt > 0 {
		l.progress.Begin(i)
	}
	switch state := dag.State(r.State); {
	case state == dag.Skipped && (n.reason == nil || !skipsInTurn(n.reason.Code)):
		l.progress.Omit(i)
	case state == dag.Failed:
		l.progress.Fail(i, n.failure.IsError())
	default:
		l.progress.Set(i, state)
	}
}

// settleOperators computes the settings of nodes that another process let begin.
func (ld *loader) settleOperators(ctx context.Context) error {
	for i := range ld.loop.nodes {
		if state := ld.loop.progress.State(i); state == dag.Pending || state == dag.Skipped {
			continue
		}
		// These settings were computed before, so only unreadable outputs can fail now.
		if err := ld.loop.values.settleOperator(ctx, i); isUnreadable(err) {
			return err
		}
	}
	return nil
}

// restoreNode restores what a state requires besides the state itself.
func (ld *loader) restoreNode(i int, state dag.State) {
	l := ld.loop
	if state == dag.Ready || state == dag.Retrying || state.Active() {
		l.sensors.watch(i)
	}
	switch state {
	case dag.Ready:
		l.ready.requestCapacity(i)
	case dag.Retrying:
		l.timers.add(i, *l.nodes[i].retryAt)
		if l.nodes[i].overBudget() { // the budget may have changed since
			l.timers.add(i, l.driver.now())
		}
	case dag.Failed:
		l.conclusion.restoreFailure(i)
	case dag.Queued:
		l.launches.markUncertain(i)
	case dag.Running:
		if l.operator(i).Type == workflow.TypeApproval && !l.groups.fansOut(i) {
			l.commands.open[i] = struct{}{}
			l.commands.setDeadline(i)
		}
		if l.operator(i).Awaits() && !l.groups.fansOut(i) {
			l.timers.add(i, l.driver.now())
		}
	case dag.Pending, dag.Succeeded, dag.Skipped, dag.Cancelled:
	}
}

// loadAttempts finds which queued attempts have begun while no loop drove, and the capacity
// that the live attempts use.
func (ld *loader) loadAttempts(ctx context.Context) error {
	l := ld.loop
	held, err := l.driver.queries.ReservationsOf(ctx, l.id)
	if err != nil {
		return fmt.Errorf("load reservations: %w", err)
	}
	foreign := map[int]bool{}
	for _, r := range held {
		if r.NodeIndex == fair.ExecutionItself {
			l.admission.admitted = true
			continue
		}
		i := int(r.NodeIndex)
		n := &l.nodes[i]
		n.reserved = fair.Amount{
			CPUMillis: int(r.CpuMillis), MemoryMiB: int(r.MemoryMib), GPUs: int(r.Gpus), GPUType: r.GpuType, Pods: int(r.Pods),
		}
		n.machine, n.devices = r.Machine, make([]int, len(r.Devices))
		for k, d := range r.Devices {
			n.devices[k] = int(d)
		}
		foreign[i] = r.Launcher != l.driver.config.LauncherName
	}
	started, err := l.driver.queries.StartedAttempts(ctx, l.id)
	if err != nil {
		return fmt.Errorf("load attempts: %w", err)
	}
	for _, a := range started {
		l.ends.applyStarted(message{node: int(a.NodeIndex), attempt: int(a.Attempt), begun: &startedRow{At: *a.StartedAt, Host: a.Host}})
		foreign[int(a.NodeIndex)] = true
	}
	l.launches.uncertain = slices.DeleteFunc(l.launches.uncertain, func(i int) bool { return foreign[i] })
	return nil
}
