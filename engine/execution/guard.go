package execution

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/protect"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/engine/workflow"
)

// breakerStates is what a loop knows of breakers.
type breakerStates struct {
	asking       map[int]struct{} // ready nodes with a breaker that ask for capacity
	withheld     map[int]struct{} // ready nodes that a breaker keeps back
	freed        bool             // a breaker has closed, so those withheld ask again
	fingerprints map[*workflow.Operator][32]byte
}

// guard tells breakers how attempts came out, and keeps back what they withhold of what
// asks for capacity or waits for it already. It is part of the transaction that ends and
// admits attempts: every failure counts once, and of all executions one attempt alone is
// let through a breaker that is half open. It comes before the quotas are locked and
// locks all its breakers at once, in one order, so that no two such transactions wait
// for each other.
func (l *loop) guard(ctx context.Context, q *db.Queries) error {
	notes, asking := l.batch.breakers, l.guarded()
	if len(notes) == 0 && len(asking) == 0 {
		return nil
	}
	nodes := slices.Clone(asking)
	for _, n := range notes {
		nodes = append(nodes, n.node)
	}
	b, err := l.readBreakers(ctx, q, nodes, false)
	if err != nil {
		return err
	}
	closed := func(i int) bool { return cmp.Or(b.now[l.breakerOf(i)].State, protect.Closed) == protect.Closed }
	if !l.breakersMove(b, notes) && !slices.ContainsFunc(asking, func(i int) bool { return !closed(i) }) {
		return nil
	}
	if err := l.makeBreakers(ctx, q, b, notes); err != nil {
		return err
	}
	if b, err = l.readBreakers(ctx, q, nodes, true); err != nil {
		return err
	}
	for _, n := range notes {
		l.applyNote(b, n)
	}
	now, withheld := l.service.now(), map[int]bool{}
	for _, i := range asking {
		pass, err := l.askBreaker(ctx, q, b, i, now)
		if err != nil {
			return err
		}
		withheld[i] = !pass
	}
	l.batch.want = slices.DeleteFunc(l.batch.want, func(r fair.Request) bool { return withheld[r.Key.Node] })
	return l.saveBreakers(ctx, q, b)
}

// guarded are the nodes with a breaker that ask now, or asked before and wait, in order;
// none when this transaction admits nothing.
func (l *loop) guarded() []int {
	if l.asking == nil {
		l.asking = map[int]struct{}{}
	}
	seen := map[int]bool{}
	l.batch.want = slices.DeleteFunc(l.batch.want, func(r fair.Request) bool {
		if !l.operator(r.Key.Node).Breaker.On() {
			return false
		}
		again := seen[r.Key.Node]
		seen[r.Key.Node] = true
		l.asking[r.Key.Node] = struct{}{}
		return again // once is enough
	})
	nodes := make([]int, 0, len(l.asking))
	for i := range l.asking {
		if l.progress.State(i) != dag.Ready || l.paused || l.nodes[i].kept {
			delete(l.asking, i)
			continue
		}
		nodes = append(nodes, i)
	}
	if len(l.batch.want) == 0 && len(l.batch.release) == 0 && !l.batch.offers {
		return nil
	}
	slices.Sort(nodes)
	return nodes
}

// askBreaker asks whether node i may start, and keeps it back if not.
func (l *loop) askBreaker(ctx context.Context, q *db.Queries, b *breakers, i int, now time.Time) (bool, error) {
	key := l.breakerOf(i)
	state, row := b.now[key], b.rows[key]
	if row == nil {
		return true, nil
	}
	gone, err := l.trialExpired(ctx, q, row, state, now)
	if err != nil {
		return false, err
	}
	next, pass, until := state.Ask(now, l.holder(i), gone)
	if next.State != state.State || next.Trial != state.Trial {
		b.now[key], b.changed[key] = next, i
		l.nodeEvent(i, now, "breaker.trial", key.operator+" is let through to see whether it works again.", map[string]any{"breaker": row.ID})
	}
	if !pass {
		l.withhold(i, row, until, now)
	}
	return pass, nil
}

// trialExpired reports whether whoever was let through will not say how it went: it has
// ended some other way, or has not begun for as long as the breaker was open.
func (l *loop) trialExpired(ctx context.Context, q *db.Queries, row *db.CircuitBreaker, state protect.Breaker, now time.Time) (bool, error) {
	id, ok := parseTaskHolder(state.Trial)
	if !ok || state.State != protect.HalfOpen {
		return false, nil
	}
	if id.execution == l.id { // this transaction may be what ends it
		of := l.progress.State(id.Node)
		return of.Ended() || of == dag.Ready && now.Sub(row.ChangedAt) > breakerRule(row).OpenFor, nil
	}
	ended, err := q.TrialEnded(ctx, id.execution, int32(id.Node), row.ID, now.Add(-breakerRule(row).OpenFor)) //nolint:gosec // at most maxNodes
	if err != nil {
		return false, fmt.Errorf("look at a trial: %w", err)
	}
	return ended, nil
}

// breakerRule is the rule that a row was changed by last.
func breakerRule(row *db.CircuitBreaker) protect.BreakerRule {
	return protect.BreakerRule{Failures: int(row.RuleFailures), Window: seconds(row.RuleWindow), OpenFor: seconds(row.RuleOpenFor)}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// withhold keeps node i, which is READY, from starting until it asks again.
func (l *loop) withhold(i int, row *db.CircuitBreaker, until, now time.Time) {
	text := fmt.Sprintf("%s fails time and again, so nothing of it starts until %s.", row.Operator, until.UTC().Format("15:04:05 MST"))
	again := until
	if until.IsZero() {
		text, again = row.Operator+" failed time and again; one attempt was let through, and the others wait for how it goes.", now.Add(trialLook)
	}
	reason := &Reason{Code: ReasonBreaker, Message: text, Level: &fair.LevelRef{ID: row.ID, Kind: "breaker", Name: row.Operator}}
	l.service.quota.Withdraw(l.id, []int{i})
	delete(l.asking, i)
	l.askLater(i, earlier(again, now.Add(readyRecheck)))
	if before := l.nodes[i].reason; before != nil && before.Code == reason.Code {
		if before.Message != text {
			l.touch(i)
			l.nodes[i].reason = reason
		}
		return
	}
	l.touch(i)
	l.nodes[i].reason = reason
	l.service.config.Meter.Count(MeterRefusal, reason.Code, 1)
	l.nodeEvent(i, now, "node.waiting", text, map[string]any{"code": reason.Code})
}

// askLater lets node i, which is READY, ask for capacity at a time.
func (l *loop) askLater(i int, at time.Time) {
	if l.withheld == nil {
		l.withheld = map[int]struct{}{}
	}
	l.withheld[i] = struct{}{}
	l.timers.add(i, at)
}

// askWithheld lets those that breakers kept back ask again.
func (l *loop) askWithheld() {
	for i := range l.withheld {
		delete(l.withheld, i)
		if l.progress.State(i) == dag.Ready {
			l.ask(i)
		}
	}
}

// releaseWithheld lets what the breakers of this workflow kept back ask again, here and in
// the other executions: one of them has closed. Those that are not told look by
// themselves soon.
func (l *loop) releaseWithheld(ctx context.Context) {
	l.freed = false
	l.askWithheld()
	ids, err := l.service.queries.LiveOfWorkflow(ctx, l.row.WorkflowID)
	if err != nil {
		l.service.config.Logger.Warn("wake what a breaker kept back", "execution", l.id, "error", err)
		return
	}
	l.service.wakeAll(slices.DeleteFunc(ids, func(id uuid.UUID) bool { return id == l.id }))
}
