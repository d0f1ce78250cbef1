package execution

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/stored"
	"github.com/flowforge/flowforge/engine/memo"
	"github.com/flowforge/flowforge/engine/workflow"
)

// ReasonCache is the code of a node that waits for the result of an equal one.
const ReasonCache = "CACHE"

// cacheLooks is what a loop knows of the cache.
type cacheLooks struct {
	cacheAsked *CacheUse                       // of the launch, once something asked
	lookups    []int                           // ready nodes for which the cache is to be asked
	awaiting   map[int]struct{}                // those that wait for a result
	relooked   map[int]struct{}                // those that asked once more since they wait
	works      map[*workflow.Operator][32]byte // fingerprints of what operators with a cache do
}

// caching is where a node stands with the cache.
type caching int

const (
	unlooked caching = iota // nobody looked yet
	looked                  // it runs
	awaits                  // an equal node works the result out
)

// needsLookup reports whether the cache has to be asked before node i may run. What has begun
// once, or is tried again by somebody, runs.
func (l *loop) needsLookup(i int) bool {
	n := &l.nodes[i]
	return n.op.Cache != nil && n.caching != looked && n.attempt == 0 && l.needsCapacity(i)
}

// lookUp asks the cache for all nodes that want to begin, at once: those of which there
// is a result succeed with it, those whose result another works out wait for that, and
// the others run.
func (l *loop) lookUp(ctx context.Context) {
	nodes := l.lookups
	l.lookups = nil
	slices.Sort(nodes)
	nodes = slices.DeleteFunc(slices.Compact(nodes), func(i int) bool { return l.progress.State(i) != dag.Ready || !l.needsLookup(i) })
	var asked, fresh []int
	for _, i := range nodes {
		switch l.cacheUse().of(l.operator(i).Name) {
		case CacheOff:
			l.runs(i, CacheNote{Found: CacheIgnored, Why: "This launch takes no results from the cache and leaves none."})
		case CacheRefresh:
			fresh = append(fresh, i)
		default:
			asked = append(asked, i)
		}
	}
	for _, look := range []func() error{
		func() error { return l.look(ctx, asked, false) },
		func() error { return l.look(ctx, fresh, true) },
	} {
		if err := look(); err != nil {
			l.broken = err // whoever drives next asks again
			return
		}
	}
}

// cacheUse is what the launch asked of the cache.
func (l *loop) cacheUse() CacheUse {
	if l.cacheAsked == nil {
		l.cacheAsked = &CacheUse{}
		if asked := stored.Into[CacheUse](l.row.Cache); asked != nil {
			l.cacheAsked = asked
		}
	}
	return *l.cacheAsked
}

// runs lets node i run, and notes why.
func (l *loop) runs(i int, note CacheNote) {
	n := &l.nodes[i]
	if n.caching = looked; note.Found != "" {
		l.note(i, note)
	}
	if n.reason != nil && n.reason.Code == ReasonCache {
		l.touch(i)
		n.reason = nil
	}
	l.ask(i)
}

func (l *loop) note(i int, note CacheNote) {
	l.batch.origins = append(l.batch.origins, originRow{Index: i, Cache: mustJSON(note)})
}

// look asks for nodes; refresh takes no results.
func (l *loop) look(ctx context.Context, nodes []int, refresh bool) error {
	if len(nodes) == 0 {
		return nil
	}
	list, err := l.keys(ctx, nodes)
	if err != nil {
		return err
	}
	known := map[int]bool{}
	for _, s := range list {
		known[s.node] = true
	}
	for _, i := range nodes {
		if !known[i] {
			l.runs(i, CacheNote{}) // its start says which value is missing
		}
	}
	before, err := l.latest(ctx, list)
	if err != nil {
		return err
	}
	found, err := l.claimResults(ctx, list, refresh)
	if err != nil {
		return err
	}
	l.service.config.Crash("cache.claimed")
	now := l.service.now()
	for _, s := range list {
		switch f := found[s.key]; {
		case f.result != nil:
			l.takeCached(s, f, now)
		case f.waitsFor(l.id, s.node):
			l.awaitResult(s, f, now)
		default:
			l.runs(s.node, l.missNote(s, f, before[l.nodes[s.node].name], refresh))
		}
	}
	return nil
}

// cacheEntry is what there is under a key.
type cacheEntry struct {
	row    db.ClaimResultsRow
	result map[string]any // nil: there is none to take
	holder holder
	stale  string // why a former result is not taken
}

// holder is the node that works a key out, or did.
type holder struct {
	execution uuid.UUID
	node      int
}

// waitsFor reports whether node i of an execution has to wait for another one.
func (f cacheEntry) waitsFor(execution uuid.UUID, i int) bool {
	return f.holder != holder{execution, i}
}

// latest is of each node of list what the latest result of its name was made of.
func (l *loop) latest(ctx context.Context, list []*cacheLookup) (map[string]db.LatestResultsRow, error) {
	names := make([]string, len(list))
	for k, s := range list {
		names[k] = l.nodes[s.node].name
	}
	rows, err := l.service.queries.LatestResults(ctx, names, l.row.WorkflowID, l.service.now())
	if err != nil {
		return nil, &readError{fmt.Errorf("look for earlier results: %w", err)}
	}
	before := make(map[string]db.LatestResultsRow, len(rows))
	for _, r := range rows {
		before[r.Node] = r
	}
	return before, nil
}

// keyRow is a key in the statements of the cache.
type keyRow struct {
	Key   string     `json:"k"`
	Index int        `json:"i"`
	Node  string     `json:"node"`
	Parts memo.Parts `json:"parts"`
}

// claimResults finds out of each key whether there is a result, and makes the first node
// of list that has it the one to work it out when nobody else does. It is written at
// once, and means nothing until that node itself has a result.
func (l *loop) claimResults(ctx context.Context, list []*cacheLookup, refresh bool) (map[string]cacheEntry, error) {
	rows := map[string]keyRow{}
	for _, s := range list {
		if _, ok := rows[s.key]; !ok {
			rows[s.key] = keyRow{s.key, s.node, l.nodes[s.node].name, s.parts}
		}
	}
	ordered := slices.SortedFunc(maps.Values(rows), func(a, b keyRow) int { return strings.Compare(a.Key, b.Key) })
	found := make(map[string]cacheEntry, len(rows))
	now := l.service.now()
	err := db.Tx(ctx, l.service.pool, func(_ pgx.Tx, q *db.Queries) error {
		held, err := q.ClaimResults(ctx, db.ClaimResultsParams{
			Keys: mustJSON(ordered), ProjectID: l.row.ProjectID, WorkflowID: l.row.WorkflowID, ExecutionID: l.id, At: now,
		})
		if err != nil {
			return err
		}
		there, err := l.service.presentIn(ctx, l.row.ProjectID, held)
		if err != nil {
			return err
		}
		var over []keyRow
		for _, h := range held {
			key := hex.EncodeToString(h.Key)
			f := l.judge(h, rows[key], there, now, refresh)
			if f.stale != "" {
				f.holder = holder{l.id, rows[key].Index}
				over = append(over, rows[key])
			}
			found[key] = f
		}
		if len(over) == 0 {
			return nil
		}
		return q.TakeOverResults(ctx, db.TakeOverResultsParams{
			Keys: mustJSON(over), ProjectID: l.row.ProjectID, WorkflowID: l.row.WorkflowID, ExecutionID: l.id, At: now,
		})
	})
	if err != nil {
		return nil, &readError{fmt.Errorf("claim results: %w", err)}
	}
	return found, nil
}

// presentIn finds out which bytes of results are there.
func (s *Service) presentIn(ctx context.Context, project uuid.UUID, held []db.ClaimResultsRow) (present, error) {
	ids := map[uuid.UUID]struct{}{}
	for _, h := range held {
		if h.State != nil && dag.State(*h.State) == dag.Succeeded {
			artifactsIn(stored.Object(h.Outputs), ids)
		}
	}
	return s.present(ctx, project, ids)
}

// claimGrace is how long a claim counts whose node is not to be seen yet: it is made
// just before the batch is written in which that node may begin.
const claimGrace = time.Minute

// judge says what is to be made of what stands under a key that mine asks for.
func (l *loop) judge(h db.ClaimResultsRow, mine keyRow, there present, now time.Time, refresh bool) cacheEntry {
	f := cacheEntry{row: h, holder: holder{h.ExecutionID, int(h.NodeIndex)}}
	own := f.holder.execution == l.id
	ttl := l.nodes[mine.Index].op.Cache.TTL
	switch state := stateOf(h.State); {
	case own && f.holder.node == mine.Index:
	case refresh && !own:
		f.stale = "This launch works results out anew."
	case state == dag.Succeeded && ttl > 0 && h.FinishedAt.Add(ttl).Before(now):
		f.stale = fmt.Sprintf("The earlier result has expired: it is older than %s.", ttl)
	case state == dag.Succeeded && there.lost(stored.Object(h.Outputs)):
		f.stale = "Files of the earlier result were deleted."
	case state == dag.Succeeded:
		if f.result = stored.Object(h.Outputs); f.result == nil {
			f.result = map[string]any{}
		}
	case own:
		f.stale = l.staleHere(f.holder.node)
	case state.Ended():
		f.stale = "The node that worked it out before did not succeed."
	case state == "" || state == dag.Pending:
		if h.ExecutionStatus == nil || State(*h.ExecutionStatus).Ended() || h.ClaimedAt.Add(claimGrace).Before(now) {
			f.stale = "The earlier result is not there any more."
		}
	case state == dag.Ready && State(*h.ExecutionStatus) == Paused:
		f.stale = "The execution that was to work it out is paused."
	}
	return f
}

// staleHere says why nothing comes of node i of this execution, which has no result
// that is written; "" when it is at work.
func (l *loop) staleHere(i int) string {
	if i < len(l.nodes) {
		state := l.progress.State(i)
		if state == dag.Succeeded || state != dag.Pending && !state.Ended() {
			return ""
		}
	}
	return "The node that was to work it out did not succeed."
}

func stateOf(text *string) dag.State {
	if text == nil {
		return ""
	}
	return dag.State(*text)
}

// takeCached gives node s the result of another.
func (l *loop) takeCached(s *cacheLookup, f cacheEntry, now time.Time) {
	i := s.node
	n := l.move(i, dag.Succeeded)
	n.finishedAt, n.reason, n.failure, n.caching = &now, nil, nil, looked
	l.outputs[i] = f.result
	if len(f.result) > 0 {
		l.touch(i).Outputs = f.result
	}
	name := l.nameOf(f)
	l.carryOverFrom(i, origin{f.holder.execution, f.holder.node, useCached})
	why := fmt.Sprintf("The same code has worked on the same inputs: its result is that of %s.", name)
	l.note(i, CacheNote{Found: CacheHit, Why: why, Execution: &f.holder.execution, Node: name})
	l.nodeEvent(i, now, "node.succeeded", fmt.Sprintf("Its result is that of %s in execution %s.", name, f.holder.execution), nil)
}

// nameOf is the name of the node that works a key out.
func (l *loop) nameOf(f cacheEntry) string {
	switch {
	case f.holder.execution == l.id && f.holder.node < len(l.nodes):
		return l.nodes[f.holder.node].name
	case f.row.Name != nil:
		return *f.row.Name
	}
	return "another node"
}

// awaitResult lets node s wait for a node that works its result out.
func (l *loop) awaitResult(s *cacheLookup, f cacheEntry, now time.Time) {
	n := &l.nodes[s.node]
	n.caching = awaits
	if l.awaiting == nil {
		l.awaiting = map[int]struct{}{}
	}
	l.awaiting[s.node] = struct{}{}
	l.service.results.wait(f.holder, l.id)
	if n.reason != nil && n.reason.Code == ReasonCache {
		return
	}
	l.touch(s.node)
	where := "this execution"
	if f.holder.execution != l.id {
		where = fmt.Sprintf("execution %s", f.holder.execution)
	}
	n.reason = &Reason{Code: ReasonCache, Message: fmt.Sprintf("%s of %s does the same work; this node takes its result.", l.nameOf(f), where)}
	l.nodeEvent(s.node, now, "node.waiting", n.reason.Message, map[string]any{"code": ReasonCache})
	l.retryLookup(s.node) // it may have ended between the look and the wait
}

// missNote says why node s runs.
func (l *loop) missNote(s *cacheLookup, f cacheEntry, before db.LatestResultsRow, refresh bool) CacheNote {
	note := CacheNote{Found: CacheMiss, Why: "It is the first run: nothing is kept of this node yet."}
	if before.Node != "" && before.ExecutionID != l.id {
		note.Execution, note.Node = &before.ExecutionID, before.Node
		if parts := stored.Into[memo.Parts](before.Parts); parts != nil {
			note.Changes = memo.Changes(*parts, s.parts)
		}
		if len(note.Changes) > 0 {
			note.Why = "Something is other than in the latest run: " + strings.Join(note.Changes, ", ") + "."
		}
	}
	if f.stale != "" {
		note.Why, note.Changes = f.stale, nil
	}
	if refresh {
		note.Found = CacheIgnored
	}
	return note
}
