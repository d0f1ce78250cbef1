package execution

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/engine/workflow"
)

// begin moves the execution from PENDING to RUNNING.
func (l *loop) begin(now time.Time) {
	l.status, l.admission.admitted, l.admission.waitReason = query.Running, true, nil
	l.row.StartedAt = &now
	l.progress.Pause(l.commands.paused)
	l.unseen.addAll()
	l.conclusion.setTimeout()
	l.batch.event(eventRow{At: now, Kind: query.EventExecutionStarted})
}

// move changes the state of node i, and records it for the batch and for dag.Next.
func (l *loop) move(i int, to dag.State) *nodeState {
	l.batch.touch(i)
	l.progress.Set(i, to)
	l.unseen.add(i)
	return &l.nodes[i]
}

// unseenNodes are the nodes whose changes dag.Next has not seen.
type unseenNodes struct {
	nodes []int
	all   bool // dag.Next has to check every node
}

func (un *unseenNodes) add(nodes ...int) { un.nodes = append(un.nodes, nodes...) }

// addAll makes dag.Next check every node.
func (un *unseenNodes) addAll() { un.all = true }

func (un *unseenNodes) any() bool { return un.all || len(un.nodes) > 0 }

// take returns the nodes for dag.Next, for which nil are all nodes, and empties un.
func (un *unseenNodes) take() []int {
	nodes := un.nodes
	switch {
	case un.all:
		nodes = nil
	case nodes == nil:
		nodes = []int{}
	}
	*un = unseenNodes{}
	return nodes
}

// settle calls dag.Next and carries out its actions until there are none, or the batch is
// full.
func (l *loop) settle(ctx context.Context) error {
	for l.undecided() && !l.batch.full() && !l.batch.finished {
		if !l.unseen.any() && !l.ready.any() {
			l.cache.lookUp(ctx)
		}
		l.ready.begin(ctx)
		for _, a := range dag.Next(l.progress, l.unseen.take()) {
			if err := l.carryOut(ctx, a); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *loop) carryOut(ctx context.Context, a dag.Action) error {
	now := l.driver.now()
	switch a.Kind {
	case dag.MakeReady:
		l.ready.makeReady(ctx, a.Node, now)
	case dag.Evaluate:
		l.evaluate(ctx, a.Node, now)
	case dag.HoldNode:
		l.groups.hold(a)
	case dag.OmitNode:
		l.endWithout(a.Node, dag.Skipped, now, l.groups.omitReason(a))
	case dag.EndGroup:
		l.groups.end(ctx, a, now)
	case dag.CancelNode:
		l.endWithout(a.Node, dag.Cancelled, now, l.conclusion.causeReason(a.Cause))
	case dag.StopNode:
		l.stop(a.Node, now)
	case dag.DismissNode:
		l.serving.dismiss(a.Node, now)
	case dag.RecallNode:
		l.streams.recall(a, now)
	case dag.HaltScope, dag.DrainScope:
		l.halt(a, now)
	case dag.FinishRun:
		return l.conclusion.finish(ctx, now)
	}
	return nil
}

// requestOf returns the request of an attempt of op in a project.
//
// The work of a pool requests nothing: it runs on machines that no quota counts, and the workers
// of the pool decide when it starts.
func (s *core) requestOf(op *workflow.Operator, project uuid.UUID) fair.Request {
	if op.Pool != "" {
		return fair.Request{Project: project, Operator: op.Name}
	}
	return fair.Request{
		Project: project, Amount: s.amountOf(op, project), Preemptible: !op.NeverPreempt, Spread: op.Resources.Spread, Operator: op.Name,
	}
}

// DefaultRequests returns the requests of each pod of a task in project whose definition
// sets no CPU (in millicores) or no memory (in MiB).
func (s *LaunchService) DefaultRequests(project uuid.UUID) (cpuMillis, memoryMiB int) {
	return s.quota.Levels.Requests(project)
}

// amountOf returns the amount of one attempt of an operator in a project, which sets the
// defaults of CPU and memory.
func (s *core) amountOf(o *workflow.Operator, project uuid.UUID) fair.Amount {
	r, pods := o.Resources, max(o.Resources.Pods, 1)
	cpu, memory := s.quota.Levels.Requests(project)
	return fair.Amount{CPUMillis: pods * cmp.Or(r.CPUMillis, cpu), MemoryMiB: pods * cmp.Or(r.MemoryMiB, memory), GPUs: pods * r.GPUs, GPUType: r.GPUType, Pods: pods}
}

// endWithout ends a node without a live attempt.
func (l *loop) endWithout(i int, state dag.State, now time.Time, reason *query.Reason) {
	if l.progress.State(i) == dag.Ready {
		l.driver.quota.Withdraw(l.id, []int{i})
	}
	l.batch.touch(i)
	if state == dag.Skipped && !skipsInTurn(reason.Code) {
		l.progress.Omit(i)
	}
	n := l.move(i, state)
	n.finishedAt, n.retryAt, n.reason = &now, nil, reason
	kind := query.EventNodeSkipped
	if state == dag.Cancelled {
		kind = query.EventNodeCancelled
	}
	l.batch.nodeEvent(i, now, kind, reason.Message, nil)
}

// stop ends the attempt of node i; repeated calls have no effect.
func (l *loop) stop(i int, now time.Time) {
	l.stopAs(i, now, &query.Reason{Code: ReasonStopping, Message: "The task was asked to stop."}, l.conclusion.stopReason(i).Message)
}

// stopAs is stop with the given reason of the node and message of its event.
func (l *loop) stopAs(i int, now time.Time, reason *query.Reason, message string) {
	n := &l.nodes[i]
	if n.stopSent {
		return
	}
	l.batch.touch(i)
	n.stopSent, n.reason = true, reason
	l.launches.requestStop(i)
	l.batch.nodeEvent(i, now, query.EventNodeStopping, message, nil)
}

func withReason(text, reason string) string {
	if reason == "" {
		return text + "."
	}
	return text + ": " + reason
}
