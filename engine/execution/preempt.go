package execution

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/stored"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// preempt asks attempts to end that block work with a higher precedence. The request is
// first stored in a row, so that it survives this process.
func (s *Service) preempt(ctx context.Context) {
	for _, v := range s.quota.Victims() {
		marked := false
		err := db.Tx(ctx, s.pool, func(tx pgx.Tx, q *db.Queries) error {
			// The lock orders this before or after the idle check of a loop, which reads
			// such requests under the same lock.
			if _, err := q.LockExecution(ctx, v.Execution); err != nil {
				return err
			}
			var err error
			if err = s.holdsTerm(ctx, q); err != nil {
				return err
			}
			if marked, err = s.quota.MarkPreempted(ctx, q, v); err != nil || !marked {
				return err
			}
			return s.requestDrive(ctx, tx, q, v.Execution)
		})
		if err != nil {
			s.config.Logger.Warn("preempt an attempt", "execution", v.Execution, "node", v.Node, "error", err)
		}
		if err != nil || !marked { // not committed yet, or gone: the next pass decides again
			s.quota.Spare([]fair.Key{v.Key})
			continue
		}
		s.config.Crash("preempt.marked")
		s.live.post(v.Execution, message{reports: true})
	}
}

// preemption asks attempts to end for the benefit of others.
type preemption struct {
	feature

	part  preemptionPart
	stops []int // attempts to ask once the flush is committed
}

type preemptionPart struct {
	asked []attemptKey // attempts whose preemption request was applied
}

func (pr *preemption) pending() bool { return len(pr.part.asked) > 0 }

func (pr *preemption) reset() { pr.part = preemptionPart{} }

func (pr *preemption) committed(context.Context, map[int]*nodeRow) {
	if len(pr.stops) > 0 {
		pr.stop(pr.stops)
		pr.stops = nil
	}
}

// news loads which attempts are to be preempted.
func (pr *preemption) news(ctx context.Context) error {
	rows, err := pr.service.queries.PreemptedOf(ctx, pr.id)
	if err != nil {
		return fmt.Errorf("load preempted attempts: %w", err)
	}
	now := pr.service.now()
	for _, r := range rows {
		i := int(r.NodeIndex)
		if i < 0 || i >= len(pr.nodes) {
			continue
		}
		n := &pr.nodes[i]
		if n.attempt != int(r.Attempt) || !pr.progress.State(i).Active() || n.preempted != nil || n.stopSent {
			continue
		}
		pr.touch(i)
		n.preempted = stored.Into[Reason](r.PreemptedFor)
		if n.preempted == nil {
			n.preempted = &Reason{Code: fair.Preempted, Message: "The attempt was preempted."}
		}
		grace := pr.operator(i).Grace()
		n.reason = &Reason{Code: fair.Preempted, Message: fmt.Sprintf("Being preempted: the task has %s to save a checkpoint. %s", grace, n.preempted.Message)}
		pr.stops = append(pr.stops, i)
		pr.part.asked = append(pr.part.asked, attemptKey{i, n.attempt})
		pr.nodeEvent(i, now, "node.preempting", n.preempted.Message, map[string]any{"grace_seconds": grace.Seconds()})
	}
	return nil
}

// stop asks the launcher to let attempts save a checkpoint and end. The answers to their
// heartbeats say the same, for runners that the launcher cannot reach.
func (pr *preemption) stop(nodes []int) {
	refs := make([]launcher.Ref, len(nodes))
	for k, i := range nodes {
		refs[k] = launcher.Ref{TaskID: TaskID(pr.id, i, pr.nodes[i].attempt), ProjectID: pr.row.ProjectID.String(), Preempt: true}
	}
	pr.service.config.Crash("preempt.begin")
	pr.launches.starter.stop(refs)
}

// madeRoom reports whether the attempt of node i ended because it was preempted.
func (pr *preemption) madeRoom(i int, e ending) bool {
	n := &pr.nodes[i]
	if n.stopSent || pr.progress.Halted(i) {
		return false
	}
	switch e.Outcome {
	case preempted:
		return true
	case cancelled, interrupted, lost:
		return n.preempted != nil
	default:
		return false
	}
}

// yield returns node i to the queue. Its attempt spends no retry.
func (pr *preemption) yield(i int, e ending) {
	at := pr.endTime(e)
	n := pr.move(i, dag.Ready)
	reason := n.preempted
	if reason == nil {
		reason = &Reason{Code: fair.Preempted, Message: "The attempt was preempted."}
	}
	n.readyAt, n.reason, n.preempted = &at, reason, nil
	pr.nodeEvent(i, at, "node.preempted", reason.Message, nil)
	pr.ask(i)
}

// write records which attempts were asked to end.
func (pr *preemption) write(ctx context.Context, q *db.Queries) error {
	if len(pr.part.asked) == 0 {
		return nil
	}
	if err := q.TakePreempted(ctx, pr.service.now(), pr.id, mustJSON(pr.part.asked)); err != nil {
		return fmt.Errorf("record preempted attempts: %w", err)
	}
	return nil
}
