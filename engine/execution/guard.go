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
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/protect"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/engine/workflow"
)

// breakers reports the outcomes of attempts to circuit breakers, and withholds the nodes
// that they block.
type breakers struct {
	feature

	operators    map[int]struct{} // ready nodes with a breaker that request capacity
	withheld     map[int]struct{} // ready nodes that a breaker blocks
	freed        bool             // a breaker has closed, so the withheld nodes request capacity again
	fingerprints map[*workflow.Operator][32]byte

	part breakersPart
}

type breakersPart struct {
	notes []breakerNote // outcomes of attempts of operators with a breaker
}

func (br *breakers) pending() bool { return len(br.part.notes) > 0 }

// write does nothing: guard, which runs earlier, writes the breakers.
func (br *breakers) write(context.Context, *db.Queries) error { return nil }

func (br *breakers) reset() { br.part = breakersPart{} }

func (br *breakers) committed(ctx context.Context, _ map[int]*nodeRow) {
	if br.freed {
		br.releaseWithheld(ctx)
	}
}

// guard reports the outcomes of attempts to the breakers, and withholds the nodes that they
// block from requesting or awaiting capacity. It is part of the transaction that ends and
// admits attempts: every failure counts once, and a half-open breaker admits a single
// attempt of all executions. It runs before the quotas are locked and locks all its breakers
// at once, in one order, so that two such transactions never wait for each other.
func (br *breakers) guard(ctx context.Context, q *db.Queries) error {
	notes, operators := br.part.notes, br.guarded()
	if len(notes) == 0 && len(operators) == 0 {
		return nil
	}
	nodes := slices.Clone(operators)
	for _, n := range notes {
		nodes = append(nodes, n.node)
	}
	b, err := br.readBreakers(ctx, q, nodes, false)
	if err != nil {
		return err
	}
	closed := func(i int) bool { return cmp.Or(b.now[br.breakerOf(i)].State, protect.Closed) == protect.Closed }
	if !br.breakersMove(b, notes) && !slices.ContainsFunc(operators, func(i int) bool { return !closed(i) }) {
		return nil
	}
	if err := br.makeBreakers(ctx, q, b, notes); err != nil {
		return err
	}
	if b, err = br.readBreakers(ctx, q, nodes, true); err != nil {
		return err
	}
	for _, n := range notes {
		br.applyNote(b, n)
	}
	now, withheld := br.loop.driver.now(), map[int]bool{}
	for _, i := range operators {
		pass, err := br.checkBreaker(ctx, q, b, i, now)
		if err != nil {
			return err
		}
		withheld[i] = !pass
	}
	br.loop.admission.dropRequests(func(r fair.Request) bool { return withheld[r.Key.Node] })
	return br.saveBreakers(ctx, q, b)
}

// guarded returns the nodes with a breaker that request capacity now, or requested it before
// and wait, in order; none when this transaction admits nothing.
func (br *breakers) guarded() []int {
	if br.operators == nil {
		br.operators = map[int]struct{}{}
	}
	seen := map[int]bool{}
	br.loop.admission.dropRequests(func(r fair.Request) bool {
		if !br.loop.operator(r.Key.Node).Breaker.On() {
			return false
		}
		again := seen[r.Key.Node]
		seen[r.Key.Node] = true
		br.operators[r.Key.Node] = struct{}{}
		return again // once is enough
	})
	nodes := make([]int, 0, len(br.operators))
	for i := range br.operators {
		if br.loop.progress.State(i) != dag.Ready || br.loop.commands.paused || br.loop.nodes[i].onHold {
			delete(br.operators, i)
			continue
		}
		nodes = append(nodes, i)
	}
	if !br.loop.admission.pending() {
		return nil
	}
	slices.Sort(nodes)
	return nodes
}

// checkBreaker checks whether node i may start, and withholds it if not.
func (br *breakers) checkBreaker(ctx context.Context, q *db.Queries, b *breakerRows, i int, now time.Time) (bool, error) {
	key := br.breakerOf(i)
	state, row := b.now[key], b.rows[key]
	if row == nil {
		return true, nil
	}
	gone, err := br.trialExpired(ctx, q, row, state, now)
	if err != nil {
		return false, err
	}
	next, pass, until := state.Check(now, br.holder(i), gone)
	if next.State != state.State || next.Trial != state.Trial {
		b.now[key], b.changed[key] = next, i
		br.loop.batch.nodeEvent(i, now, query.EventBreakerTrial, key.operator+" runs as a trial of its circuit breaker.", map[string]any{"breaker": row.ID})
	}
	if !pass {
		br.withhold(i, row, until, now)
	}
	return pass, nil
}

// trialExpired reports whether the trial attempt will have no outcome: it has ended in
// another way, or has not begun for as long as the breaker was open.
func (br *breakers) trialExpired(ctx context.Context, q *db.Queries, row *db.CircuitBreaker, state protect.Breaker, now time.Time) (bool, error) {
	id, ok := parseTaskHolder(state.Trial)
	if !ok || state.State != protect.HalfOpen {
		return false, nil
	}
	if id.execution == br.loop.id { // this transaction may end it
		of := br.loop.progress.State(id.Node)
		return of.Ended() || of == dag.Ready && now.Sub(row.ChangedAt) > breakerRule(row).OpenFor, nil
	}
	ended, err := q.TrialEnded(ctx, id.execution, int32(id.Node), row.ID, now.Add(-breakerRule(row).OpenFor)) //nolint:gosec // at most maxNodes
	if err != nil {
		return false, fmt.Errorf("read a trial: %w", err)
	}
	return ended, nil
}

// breakerRule is the rule of the latest change of a row.
func breakerRule(row *db.CircuitBreaker) protect.BreakerRule {
	return protect.BreakerRule{Failures: int(row.RuleFailures), Window: seconds(row.RuleWindow), OpenFor: seconds(row.RuleOpenFor)}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// withhold keeps node i, which is READY, from starting until its next check.
func (br *breakers) withhold(i int, row *db.CircuitBreaker, until, now time.Time) {
	text := fmt.Sprintf("%s failed repeatedly; no further attempt starts until %s.", row.Operator, until.UTC().Format("15:04:05 MST"))
	again := until
	if until.IsZero() {
		text, again = row.Operator+" failed repeatedly. A trial attempt is running, and the others wait for its outcome.", now.Add(trialCheckInterval)
	}
	reason := &query.Reason{Code: ReasonBreaker, Message: text, Level: &fair.LevelRef{ID: row.ID, Kind: "breaker", Name: row.Operator}}
	br.loop.driver.quota.Withdraw(br.loop.id, []int{i})
	delete(br.operators, i)
	br.requestLater(i, earlier(again, now.Add(readyRecheck)))
	if before := br.loop.nodes[i].reason; before != nil && before.Code == reason.Code {
		if before.Message != text {
			br.loop.batch.touch(i)
			br.loop.nodes[i].reason = reason
		}
		return
	}
	br.loop.batch.touch(i)
	br.loop.nodes[i].reason = reason
	br.loop.driver.config.Meter.Count(MeterRefusal, reason.Code, 1)
	br.loop.batch.nodeEvent(i, now, query.EventNodeWaiting, text, map[string]any{"code": reason.Code})
}

// requestLater makes node i, which is READY, request capacity at a time.
func (br *breakers) requestLater(i int, at time.Time) {
	if br.withheld == nil {
		br.withheld = map[int]struct{}{}
	}
	br.withheld[i] = struct{}{}
	br.loop.timers.add(i, at)
}

// requestAgain makes node i request capacity again, and reports false when no breaker blocks it.
func (br *breakers) requestAgain(i int) bool {
	if _, withheld := br.withheld[i]; !withheld || br.loop.progress.State(i) != dag.Ready {
		return false
	}
	delete(br.withheld, i)
	br.loop.ready.requestCapacity(i)
	return true
}

// requestWithheld makes the withheld nodes request capacity again.
func (br *breakers) requestWithheld() {
	for i := range br.withheld {
		delete(br.withheld, i)
		if br.loop.progress.State(i) == dag.Ready {
			br.loop.ready.requestCapacity(i)
		}
	}
}

// releaseWithheld makes the withheld nodes of this workflow request capacity again, here and
// in the other executions: one of their breakers has closed. Nodes that are not notified
// check the breaker themselves soon.
func (br *breakers) releaseWithheld(ctx context.Context) {
	br.freed = false
	br.requestWithheld()
	ids, err := br.loop.driver.queries.LiveOfWorkflow(ctx, br.loop.row.WorkflowID)
	if err != nil {
		br.loop.driver.config.Logger.Warn("wake withheld nodes", "execution", br.loop.id, "error", err)
		return
	}
	br.loop.driver.wakeAll(slices.DeleteFunc(ids, func(id uuid.UUID) bool { return id == br.loop.id }))
}
