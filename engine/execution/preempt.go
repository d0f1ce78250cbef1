package execution

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/execution/stored"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// preempt asks attempts to end that block work with a higher precedence. The request is
// first stored in a row, so that it survives this process.
func (s *Driver) preempt(ctx context.Context) {
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
			s.quota.CancelPreemption([]fair.Key{v.Key})
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
	requested []attemptKey // attempts whose preemption request was applied
}

func (pr *preemption) pending() bool { return len(pr.part.requested) > 0 }

func (pr *preemption) reset() { pr.part = preemptionPart{} }

func (pr *preemption) committed(context.Context, map[int]*nodeRow) {
	if len(pr.stops) > 0 {
		pr.stopPreempted(pr.stops)
		pr.stops = nil
	}
}

// loadUpdates loads which attempts are to be preempted.
func (pr *preemption) loadUpdates(ctx context.Context) error {
	rows, err := pr.loop.driver.queries.PreemptedOf(ctx, pr.loop.id)
	if err != nil {
		return fmt.Errorf("load preempted attempts: %w", err)
	}
	now := pr.loop.driver.now()
	for _, r := range rows {
		i := int(r.NodeIndex)
		if i < 0 || i >= len(pr.loop.nodes) {
			continue
		}
		n := &pr.loop.nodes[i]
		if n.attempt != int(r.Attempt) || !pr.loop.progress.State(i).Active() || n.preempted != nil || n.stopSent {
			continue
		}
		pr.loop.batch.touch(i)
		n.preempted = stored.Into[query.Reason](r.PreemptedFor)
		if n.preempted == nil {
			n.preempted = &query.Reason{Code: fair.Preempted, Message: "The attempt was preempted."}
		}
		grace := pr.loop.operator(i).Grace()
		n.reason = &query.Reason{Code: fair.Preempted, Message: fmt.Sprintf("Being preempted: the task has %s to save a checkpoint. %s", grace, n.preempted.Message)}
		pr.stops = append(pr.stops, i)
		pr.part.requested = append(pr.part.requested, attemptKey{i, n.attempt})
		pr.loop.batch.nodeEvent(i, now, query.EventNodePreempting, n.preempted.Message, map[string]any{"grace_seconds": grace.Seconds()})
	}
	return nil
}

// stopPreempted asks the launcher to let attempts save a checkpoint and end. The answers to their
// heartbeats say the same, for runners that the launcher cannot reach.
func (pr *preemption) stopPreempted(nodes []int) {
	refs := make([]launcher.Ref, len(nodes))
	for k, i := range nodes {
		refs[k] = launcher.Ref{TaskID: query.TaskID(pr.loop.id, i, pr.loop.nodes[i].attempt), ProjectID: pr.loop.row.ProjectID.String(), Preempt: true}
	}
	pr.loop.driver.config.Crash("preempt.begin")
	pr.loop.launches.starter.stop(refs)
}

// wasPreempted reports whether the attempt of node i ended because it was preempted.
func (pr *preemption) wasPreempted(i int, e ending) bool {
	n := &pr.loop.nodes[i]
	if n.stopSent || pr.loop.progress.Halted(i) {
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
	at := pr.loop.ends.endTime(e)
	n := pr.loop.move(i, dag.Ready)
	reason := n.preempted
	if reason == nil {
		reason = &query.Reason{Code: fair.Preempted, Message: "The attempt was preempted."}
	}
	n.readyAt, n.reason, n.preempted = &at, reason, nil
	pr.loop.batch.nodeEvent(i, at, query.EventNodePreempted, reason.Message, nil)
	pr.loop.ready.requestCapacity(i)
}

// write records which attempts were asked to end.
func (pr *preemption) write(ctx context.Context, q *db.Queries) error {
	if len(pr.part.requested) == 0 {
		return nil
	}
	if err := q.TakePreempted(ctx, pr.loop.driver.now(), pr.loop.id, mustJSON(pr.part.requested)); err != nil {
		return fmt.Errorf("record preempted attempts: %w", err)
	}
	return nil
}
