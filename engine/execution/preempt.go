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

// preempt asks the attempts to make room that stand in the way of work with a
// better right. The wish is a row first, so that it outlives this process.
func (s *Service) preempt(ctx context.Context) {
	for _, v := range s.quota.Victims() {
		marked := false
		err := db.Tx(ctx, s.pool, func(tx pgx.Tx, q *db.Queries) error {
			// The lock orders this before or after the rest of a loop, which looks
			// for such wishes under the same lock.
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
		if err != nil || !marked { // it is not committed yet, or gone: the next look decides anew
			s.quota.Spare([]fair.Key{v.Key})
			continue
		}
		s.config.Crash("preempt.marked")
		s.live.post(v.Execution, message{reports: true})
	}
}

// loadPreempted takes up which attempts have to make room.
func (l *loop) loadPreempted(ctx context.Context) error {
	rows, err := l.service.queries.PreemptedOf(ctx, l.id)
	if err != nil {
		return fmt.Errorf("load preempted attempts: %w", err)
	}
	now := l.service.now()
	for _, r := range rows {
		i := int(r.NodeIndex)
		if i < 0 || i >= len(l.nodes) {
			continue
		}
		n := &l.nodes[i]
		if n.attempt != int(r.Attempt) || !l.progress.State(i).Active() || n.preempted != nil || n.stopSent {
			continue
		}
		l.touch(i)
		n.preempted = stored.Into[Reason](r.PreemptedFor)
		if n.preempted == nil {
			n.preempted = &Reason{Code: fair.Preempted, Message: "The attempt made room for others."}
		}
		grace := l.operator(i).Grace()
		n.reason = &Reason{Code: fair.Preempted, Message: fmt.Sprintf("Has %s to save a checkpoint and end. %s", grace, n.preempted.Message)}
		l.batch.preempts = append(l.batch.preempts, i)
		l.batch.yielding = append(l.batch.yielding, attemptKey{i, n.attempt})
		l.nodeEvent(i, now, "node.preempting", n.preempted.Message, map[string]any{"grace_seconds": grace.Seconds()})
	}
	return nil
}

// preemptAttempts asks the launcher to let attempts save a checkpoint and end.
// The answers to their heartbeats say the same, for a runner out of reach.
func (l *loop) preemptAttempts(nodes []int) {
	refs := make([]launcher.Ref, len(nodes))
	for k, i := range nodes {
		refs[k] = launcher.Ref{TaskID: TaskID(l.id, i, l.nodes[i].attempt), ProjectID: l.row.ProjectID.String(), Preempt: true}
	}
	l.service.config.Crash("preempt.begin")
	l.starter.stop(refs)
}

// madeRoom reports whether the attempt of node i ended because it had to make room.
func (l *loop) madeRoom(i int, e ending) bool {
	n := &l.nodes[i]
	if n.stopSent || l.progress.Halted(i) {
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

// yield puts node i back in the queue. Its attempt spends no retry.
func (l *loop) yield(i int, e ending) {
	at := l.endTime(e)
	n := l.move(i, dag.Ready)
	reason := n.preempted
	if reason == nil {
		reason = &Reason{Code: fair.Preempted, Message: "The attempt made room for others."}
	}
	n.readyAt, n.reason, n.preempted = &at, reason, nil
	l.nodeEvent(i, at, "node.preempted", reason.Message, nil)
	l.ask(i)
}
