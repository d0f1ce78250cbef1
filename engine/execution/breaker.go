package execution

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/protect"
	"github.com/flowforge/flowforge/engine/workflow"
)

// ReasonBreaker is the code of a node that is ready and not started because its operator
// failed repeatedly.
const ReasonBreaker = "BREAKER_OPEN"

// trialCheckInterval is how often a node checks the trial of another node.
const trialCheckInterval = 5 * time.Second

// breakerKey identifies a breaker: an operator of a workflow, and the code it runs.
type breakerKey struct {
	operator    string // "graph/operator" inside a graph
	fingerprint [32]byte
}

// breakerNote is the outcome of an attempt of an operator with a breaker.
type breakerNote struct {
	node    int
	failed  bool
	at      time.Time
	message string
}

// breakerOf returns the key of the breaker of node i.
func (br *breakers) breakerOf(i int) breakerKey {
	op, name := br.loop.nodes[i].op, br.loop.nodes[i].op.Name
	if graph := br.loop.nodes[i].graph; graph != "" {
		name = graph + "/" + name
	}
	known, ok := br.fingerprints[op]
	if !ok {
		known = op.Fingerprint()
		if br.fingerprints == nil {
			br.fingerprints = map[*workflow.Operator][32]byte{}
		}
		br.fingerprints[op] = known
	}
	return breakerKey{name, known}
}

// holder identifies node i in the row of a breaker.
func (br *breakers) holder(i int) string { return fmt.Sprintf("%s.%d", br.loop.id, i) }

// note records the outcome of an attempt for the breaker of node i. Failures caused by the
// machine or by a user say nothing about the operator.
func (br *breakers) note(i int, e ending, failure *query.Failure) {
	if !br.loop.operator(i).Breaker.On() || failure != nil && (br.loop.nodes[i].stopSent || e.Outcome.outside() || !classify(e).Counts()) {
		return
	}
	n := breakerNote{node: i, failed: failure != nil, at: br.loop.ends.endTime(e)}
	if failure != nil {
		n.message = failure.Message
	}
	br.part.notes = append(br.part.notes, n)
}

// breakerRows are the rows of the breakers that a transaction uses.
type breakerRows struct {
	rows    map[breakerKey]*db.CircuitBreaker
	before  map[breakerKey]protect.Breaker
	now     map[breakerKey]protect.Breaker
	changed map[breakerKey]int // the node that changed it last
}

// readBreakers reads the breakers of some nodes; with lock no other transaction changes them
// until this one ends.
func (br *breakers) readBreakers(ctx context.Context, q *db.Queries, nodes []int, lock bool) (*breakerRows, error) {
	names := map[string]struct{}{}
	for _, i := range nodes {
		names[br.breakerOf(i).operator] = struct{}{}
	}
	read := q.BreakersOf
	if lock {
		read = q.LockBreakers
	}
	rows, err := read(ctx, br.loop.row.WorkflowID, slices.Sorted(maps.Keys(names)))
	if err != nil {
		return nil, fmt.Errorf("read breakers: %w", err)
	}
	b := &breakerRows{
		rows: map[breakerKey]*db.CircuitBreaker{}, before: map[breakerKey]protect.Breaker{}, now: map[breakerKey]protect.Breaker{},
		changed: map[breakerKey]int{},
	}
	for k := range rows {
		key := breakerKey{operator: rows[k].Operator}
		copy(key.fingerprint[:], rows[k].Fingerprint)
		b.rows[key], b.before[key] = &rows[k], breakerState(rows[k])
		b.now[key] = b.before[key]
	}
	return b, nil
}

// breakerState converts a row for the rules of package protect.
func breakerState(r db.CircuitBreaker) protect.Breaker {
	b := protect.Breaker{State: protect.BreakerState(r.State), Failures: r.Failures, Opened: int(r.Opened)}
	if r.OpenedAt != nil {
		b.OpenedAt = r.OpenedAt.UTC()
	}
	if r.OpenUntil != nil {
		b.Until = r.OpenUntil.UTC()
	}
	if r.TrialExecution != nil && r.TrialNode != nil {
		b.Trial = fmt.Sprintf("%s.%d", *r.TrialExecution, *r.TrialNode)
	}
	return b
}

// breakersMove reports whether notes can change a breaker: the success of an operator
// without failures cannot.
func (br *breakers) breakersMove(b *breakerRows, notes []breakerNote) bool {
	return slices.ContainsFunc(notes, func(n breakerNote) bool {
		state := b.now[br.breakerOf(n.node)]
		return n.failed || state.State == protect.HalfOpen || len(state.Failures) > 0
	})
}

// makeBreakers creates the rows of operators that failed for the first time, in one order.
func (br *breakers) makeBreakers(ctx context.Context, q *db.Queries, b *breakerRows, notes []breakerNote) error {
	missing := map[breakerKey]int{}
	for _, n := range notes {
		if key := br.breakerOf(n.node); n.failed && b.rows[key] == nil {
			missing[key] = n.node
		}
	}
	keys := slices.SortedFunc(maps.Keys(missing), func(a, b breakerKey) int {
		return cmp.Or(cmp.Compare(a.operator, b.operator), bytes.Compare(a.fingerprint[:], b.fingerprint[:]))
	})
	for _, key := range keys {
		if err := br.makeBreaker(ctx, q, missing[key], key); err != nil {
			return err
		}
	}
	return nil
}

// makeBreaker ensures that a breaker has a row.
func (br *breakers) makeBreaker(ctx context.Context, q *db.Queries, i int, key breakerKey) error {
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("make id of breaker: %w", err)
	}
	rule := br.loop.operator(i).Breaker
	err = q.MakeBreaker(ctx, db.MakeBreakerParams{
		ID: id, TenantID: br.loop.row.TenantID, ProjectID: br.loop.row.ProjectID, WorkflowID: br.loop.row.WorkflowID, WorkflowName: br.loop.row.WorkflowName,
		Operator: key.operator, Fingerprint: key.fingerprint[:], Version: br.loop.row.Version, ChangedAt: br.loop.driver.now(),
		RuleFailures: int32(rule.Failures), RuleWindow: rule.Window.Seconds(), RuleOpenFor: rule.OpenFor.Seconds(), //nolint:gosec // at most 100
	})
	if err != nil {
		return fmt.Errorf("make breaker of %s: %w", key.operator, err)
	}
	return nil
}

func (br *breakers) applyNote(b *breakerRows, n breakerNote) {
	key := br.breakerOf(n.node)
	row := b.rows[key]
	if row == nil {
		return // no row: closed, and nothing failed
	}
	state := b.now[key]
	next := state.Succeeded(br.holder(n.node))
	if n.failed {
		next = state.Failed(br.loop.operator(n.node).Breaker, n.at, br.holder(n.node))
	}
	switch {
	case next.State == protect.Open && state.State != protect.Open:
		br.loop.driver.config.Meter.Count(MeterBreaker, string(protect.Open), 1)
		br.loop.batch.nodeEvent(n.node, n.at, query.EventBreakerOpened, fmt.Sprintf("%s failed %s; no further attempt starts until %s.",
			key.operator, timesWithout(len(next.Failures), next.Opened), next.Until.UTC().Format(time.RFC3339)), map[string]any{"breaker": row.ID})
	case next.State == protect.Closed && state.State == protect.HalfOpen:
		br.loop.driver.config.Meter.Count(MeterBreaker, string(protect.Closed), 1)
		br.loop.batch.nodeEvent(n.node, n.at, query.EventBreakerClosed, key.operator+" succeeded; attempts can start again.", map[string]any{"breaker": row.ID})
		br.freed = true
	}
	if n.failed {
		row.LastError, row.LastExecution, row.LastNode = clean(n.message, maxMessage), &br.loop.id, br.loop.nodes[n.node].name
	}
	b.now[key], b.changed[key] = next, n.node
}

func timesWithout(failures, opened int) string {
	if opened > 1 {
		return "again in its trial attempt"
	}
	return fmt.Sprintf("%d times in a row", failures)
}

// saveBreakers writes the breakers that changed.
func (br *breakers) saveBreakers(ctx context.Context, q *db.Queries, b *breakerRows) error {
	for key, i := range b.changed {
		row, state, rule := b.rows[key], b.now[key], br.loop.operator(i).Breaker
		if err := q.SaveBreaker(ctx, saveBreaker(row, state, rule, br.loop.row.Version, br.loop.driver.now())); err != nil {
			return fmt.Errorf("save breaker of %s: %w", key.operator, err)
		}
	}
	return nil
}

// saveBreaker returns the parameters that store a breaker in state.
func saveBreaker(row *db.CircuitBreaker, state protect.Breaker, rule protect.BreakerRule, version string, now time.Time) db.SaveBreakerParams {
	p := db.SaveBreakerParams{
		ID: row.ID, Version: version, State: string(cmp.Or(state.State, protect.Closed)), Failures: state.Failures, Opened: int32(state.Opened), //nolint:gosec // small
		RuleFailures: int32(rule.Failures), RuleWindow: rule.Window.Seconds(), RuleOpenFor: rule.OpenFor.Seconds(), //nolint:gosec // at most 100
		LastError: row.LastError, LastExecution: row.LastExecution, LastNode: row.LastNode, ChangedAt: now,
	}
	if p.Failures == nil {
		p.Failures = []time.Time{}
	}
	if !state.OpenedAt.IsZero() {
		p.OpenedAt = &state.OpenedAt
	}
	if state.State == protect.Open {
		p.OpenUntil = &state.Until
	}
	if id, ok := parseTaskHolder(state.Trial); ok && state.State == protect.HalfOpen {
		p.TrialExecution, p.TrialNode = &id.execution, new(int32(id.Node)) //nolint:gosec // at most maxNodes
	}
	return p
}

// parseTaskHolder parses the text that holder returned.
func parseTaskHolder(text string) (attemptID, bool) {
	ref, ok := parseTaskRef(text)
	if !ok || ref.Attempt != 0 {
		return attemptID{}, false
	}
	return attemptID{ref.Execution, attemptKey{Node: ref.Node}}, true
}
