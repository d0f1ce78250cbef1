package execution

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/execution/stored"
	"github.com/flowforge/flowforge/engine/memo"
	"github.com/flowforge/flowforge/engine/workflow"
)

// ReasonCache is the code of a node that waits for the result of an equal node.
const ReasonCache = "CACHE"

// cacheLookups searches the cache for results before nodes run.
type cacheLookups struct {
	feature
	noPart
	noWrite

	use          *CacheUse                       // of the launch, loaded when first needed
	lookups      []int                           // ready nodes that need a cache lookup
	awaiting     map[int]struct{}                // nodes that wait for a result
	repeated     map[int]struct{}                // nodes that repeated their lookup while they wait
	fingerprints map[*workflow.Operator][32]byte // of operators with a cache
}

// cacheState is the state of a node's cache lookup.
type cacheState int

const (
	cacheNotRequested cacheState = iota
	cacheAnswered                // it runs, or reuses a result
	cacheAwaiting                // an equal node is computing the result
)

// requestLookup requests a cache lookup for node i, which is READY, before anything else.
func (ch *cacheLookups) requestLookup(i int) { ch.lookups = append(ch.lookups, i) }

// committed notifies the nodes that wait for results of the nodes of a flush: a result
// exists now, or there will be none.
func (ch *cacheLookups) committed(_ context.Context, nodes map[int]*nodeRow) { ch.notifyWaiters(nodes) }

// needs reports whether node i needs a cache lookup before it may run. Nodes that have
// already begun, or that a user retries, need none.
func (ch *cacheLookups) needs(i int) bool {
	n := &ch.loop.nodes[i]
	return n.op.Cache != nil && n.cacheState != cacheAnswered && n.attempt == 0 && (ch.loop.ready.needsCapacity(i) || ch.remembersGraph(i))
}

// remembersGraph reports whether node i is a graph whose outputs may be cached.
func (ch *cacheLookups) remembersGraph(i int) bool {
	return ch.loop.nodes[i].op.Cache != nil && ch.loop.operator(i).Type == workflow.TypeGraph && !ch.loop.groups.fansOut(i)
}

// succeededHere reports whether a node of this execution has a result that is about to be
// written.
func (ch *cacheLookups) succeededHere(h holder) bool {
	return h.execution == ch.loop.id && h.node < len(ch.loop.nodes) && ch.loop.progress.State(h.node) == dag.Succeeded
}

// lookUp searches the cache for all waiting nodes at once: nodes with a result succeed with
// it, nodes whose result another node is computing wait for it, and the others run.
func (ch *cacheLookups) lookUp(ctx context.Context) {
	nodes := ch.lookups
	ch.lookups = nil
	slices.Sort(nodes)
	nodes = slices.DeleteFunc(slices.Compact(nodes), func(i int) bool { return ch.loop.progress.State(i) != dag.Ready || !ch.needs(i) })
	var requested, fresh []int
	for _, i := range nodes {
		switch ch.launchUse().of(ch.loop.operator(i).Name) {
		case CacheOff:
			ch.runs(i, query.CacheNote{Found: query.CacheIgnored, Why: "The cache is off for this launch."})
		case CacheRefresh:
			fresh = append(fresh, i)
		default:
			requested = append(requested, i)
		}
	}
	for _, look := range []func() error{
		func() error { return ch.look(ctx, requested, false) },
		func() error { return ch.look(ctx, fresh, true) },
	} {
		if err := look(); err != nil {
			ch.loop.readFailure = err // the next loop retries it
			return
		}
	}
}

// launchUse returns the cache options of the launch.
func (ch *cacheLookups) launchUse() CacheUse {
	if ch.use == nil {
		ch.use = &CacheUse{}
		if requested := stored.Into[CacheUse](ch.loop.row.Cache); requested != nil {
			ch.use = requested
		}
	}
	return *ch.use
}

// runs lets node i run, and records why.
func (ch *cacheLookups) runs(i int, note query.CacheNote) {
	n := &ch.loop.nodes[i]
	if n.cacheState = cacheAnswered; note.Found != "" {
		ch.note(i, note)
	}
	if n.reason != nil && n.reason.Code == ReasonCache {
		ch.loop.batch.touch(i)
		n.reason = nil
	}
	ch.loop.ready.requestCapacity(i)
}

func (ch *cacheLookups) note(i int, note query.CacheNote) {
	ch.loop.origins.noteCache(i, note)
}

// look searches for nodes; refresh reuses no results.
func (ch *cacheLookups) look(ctx context.Context, nodes []int, refresh bool) error {
	if len(nodes) == 0 {
		return nil
	}
	list, err := ch.keys(ctx, nodes)
	if err != nil {
		return err
	}
	known := map[int]bool{}
	for _, s := range list {
		known[s.node] = true
	}
	for _, i := range nodes {
		if !known[i] {
			ch.runs(i, query.CacheNote{}) // its start reports the missing value
		}
	}
	before, err := ch.latest(ctx, list)
	if err != nil {
		return err
	}
	found, err := ch.claimResults(ctx, list, refresh)
	if err != nil {
		return err
	}
	ch.loop.driver.config.Crash("cache.claimed")
	now := ch.loop.driver.now()
	for _, s := range list {
		switch f := found[s.key]; {
		case f.result != nil:
			ch.takeCached(s, f, now)
		case f.waitsFor(ch.loop.id, s.node) && ch.remembersGraph(s.node) && !ch.succeededHere(f.holder):
			ch.runs(s.node, query.CacheNote{Found: query.CacheMiss, Why: "The result is still being computed, and graphs do not wait for it."})
		case f.waitsFor(ch.loop.id, s.node):
			ch.awaitResult(s, f, now)
		default:
			ch.runs(s.node, ch.missNote(s, f, before[ch.loop.nodes[s.node].name], refresh))
		}
	}
	return nil
}

// cacheEntry is the entry of a key.
type cacheEntry struct {
	row    db.ClaimResultsRow
	result map[string]any // nil: there is no usable result
	holder holder
	stale  string // why an earlier result is not reused
}

// holder is the node that computes or computed the result of a key.
type holder struct {
	execution uuid.UUID
	node      int
}

// waitsFor reports whether node i of an execution has to wait for another one.
func (f cacheEntry) waitsFor(execution uuid.UUID, i int) bool {
	return f.holder != holder{execution, i}
}

// latest returns, for each node of list, the inputs of the latest result of its name.
func (ch *cacheLookups) latest(ctx context.Context, list []*cacheLookup) (map[string]db.LatestResultsRow, error) {
	names := make([]string, len(list))
	for k, s := range list {
		names[k] = ch.loop.nodes[s.node].name
	}
	rows, err := ch.loop.driver.queries.LatestResults(ctx, names, ch.loop.row.WorkflowID, ch.loop.driver.now())
	if err != nil {
		return nil, &readError{fmt.Errorf("find earlier results: %w", err)}
	}
	before := make(map[string]db.LatestResultsRow, len(rows))
	for _, r := range rows {
		before[r.Node] = r
	}
	return before, nil
}

// takeCached gives node s the result of another node.
func (ch *cacheLookups) takeCached(s *cacheLookup, f cacheEntry, now time.Time) {
	i := s.node
	n := ch.loop.move(i, dag.Succeeded)
	n.finishedAt, n.reason, n.failure, n.cacheState = &now, nil, nil, cacheAnswered
	ch.loop.values.outputs[i] = f.result
	if len(f.result) > 0 {
		ch.loop.batch.touch(i).Outputs = f.result
	}
	name := ch.nameOf(f)
	ch.loop.origins.carryOverFrom(i, origin{f.holder.execution, f.holder.node, useCached})
	why := fmt.Sprintf("The result of %s, with the same code and inputs, was reused.", name)
	if n.op.Cache.Key != "" {
		why = fmt.Sprintf("The result of %s, with the same key, was reused.", name)
	}
	ch.note(i, query.CacheNote{Found: query.CacheHit, Why: why, Execution: &f.holder.execution, Node: name})
	ch.loop.batch.nodeEvent(i, now, query.EventNodeSucceeded, fmt.Sprintf("The cached result of %s in execution %s was reused.", name, f.holder.execution), nil)
}

// nameOf returns the name of the node that computes the result of a key.
func (ch *cacheLookups) nameOf(f cacheEntry) string {
	switch {
	case f.holder.execution == ch.loop.id && f.holder.node < len(ch.loop.nodes):
		return ch.loop.nodes[f.holder.node].name
	case f.row.Name != nil:
		return *f.row.Name
	}
	return "another node"
}

// awaitResult makes node s wait for the node that computes its result.
func (ch *cacheLookups) awaitResult(s *cacheLookup, f cacheEntry, now time.Time) {
	n := &ch.loop.nodes[s.node]
	n.cacheState = cacheAwaiting
	if ch.awaiting == nil {
		ch.awaiting = map[int]struct{}{}
	}
	ch.awaiting[s.node] = struct{}{}
	ch.loop.driver.results.wait(f.holder, ch.loop.id)
	if n.reason != nil && n.reason.Code == ReasonCache {
		return
	}
	ch.loop.batch.touch(s.node)
	where := "this execution"
	if f.holder.execution != ch.loop.id {
		where = fmt.Sprintf("execution %s", f.holder.execution)
	}
	n.reason = &query.Reason{Code: ReasonCache, Message: fmt.Sprintf("%s of %s is computing the same result; this node reuses it.", ch.nameOf(f), where)}
	ch.loop.batch.nodeEvent(s.node, now, query.EventNodeWaiting, n.reason.Message, map[string]any{"code": ReasonCache})
	ch.lookUpAgain(s.node) // it may have ended between the lookup and the wait
}

// missNote explains why node s runs.
func (ch *cacheLookups) missNote(s *cacheLookup, f cacheEntry, before db.LatestResultsRow, refresh bool) query.CacheNote {
	note := query.CacheNote{Found: query.CacheMiss, Why: "No result of this node is cached yet."}
	if before.Node != "" && before.ExecutionID != ch.loop.id {
		note.Execution, note.Node = &before.ExecutionID, before.Node
		if parts := stored.Into[memo.Parts](before.Parts); parts != nil {
			note.Changes = memo.Changes(*parts, s.parts)
		}
		if len(note.Changes) > 0 {
			note.Why = "Changed since the latest run: " + strings.Join(note.Changes, ", ") + "."
		}
	}
	if f.stale != "" {
		note.Why, note.Changes = f.stale, nil
	}
	if refresh {
		note.Found = query.CacheIgnored
	}
	return note
}
