package execution

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/execution/stored"
	"github.com/flowforge/flowforge/engine/memo"
)

// keyRow is a key in the statements of the cache.
type keyRow struct {
	Key   string     `json:"k"`
	Index int        `json:"i"`
	Node  string     `json:"node"`
	Parts memo.Parts `json:"parts"`
}

// claimResults finds for each key whether there is a result, and makes the first node of
// list with that key compute it unless another node does. The claim is written immediately,
// and only takes effect when that node itself has a result.
func (ch *cacheLookups) claimResults(ctx context.Context, list []*cacheLookup, refresh bool) (map[string]cacheEntry, error) {
	rows := map[string]keyRow{}
	for _, s := range list {
		if _, ok := rows[s.key]; !ok {
			rows[s.key] = keyRow{s.key, s.node, ch.loop.nodes[s.node].name, s.parts}
		}
	}
	bytes := storedBytes{found: present{}}
	for {
		found, unseen, err := ch.claimWith(ctx, rows, bytes, refresh)
		if err != nil {
			return nil, &readError{fmt.Errorf("claim results: %w", err)}
		}
		if unseen == nil {
			return found, nil
		}
		bytes.ids = unseen
		if bytes.found, err = ch.loop.driver.past.present(ctx, ch.loop.row.ProjectID, unseen); err != nil {
			return nil, &readError{err}
		}
	}
}

// storedBytes are the artifacts that were looked for, and those of them whose bytes are available.
type storedBytes struct {
	ids   map[uuid.UUID]struct{}
	found present
}

// errUnseen ends the transaction of claims that depend on artifacts that were not looked for.
var errUnseen = errors.New("artifacts of results were not looked for")

// claimWith claims results in one transaction. Looking for bytes takes long and requires another
// connection, so the transaction does not do it: it changes nothing and returns unseen artifacts.
func (ch *cacheLookups) claimWith(ctx context.Context, rows map[string]keyRow, bytes storedBytes, refresh bool) (found map[string]cacheEntry, unseen map[uuid.UUID]struct{}, err error) {
	ordered := slices.SortedFunc(maps.Values(rows), func(a, b keyRow) int { return strings.Compare(a.Key, b.Key) })
	found = make(map[string]cacheEntry, len(rows))
	now := ch.loop.driver.now()
	err = db.Tx(ctx, ch.loop.driver.pool, func(_ pgx.Tx, q *db.Queries) error {
		held, err := q.ClaimResults(ctx, db.ClaimResultsParams{
			Keys: mustJSON(ordered), ProjectID: ch.loop.row.ProjectID, WorkflowID: ch.loop.row.WorkflowID, ExecutionID: ch.loop.id, At: now,
		})
		if err != nil {
			return err
		}
		ids := artifactsOf(held)
		for id := range ids {
			if _, ok := bytes.ids[id]; !ok {
				unseen = ids
				return errUnseen
			}
		}
		var over []keyRow
		for _, h := range held {
			key := hex.EncodeToString(h.Key)
			f := ch.judge(h, rows[key], bytes.found, now, refresh)
			if f.stale != "" {
				f.holder = holder{ch.loop.id, rows[key].Index}
				over = append(over, rows[key])
			}
			found[key] = f
		}
		if len(over) == 0 {
			return nil
		}
		return q.TakeOverResults(ctx, db.TakeOverResultsParams{
			Keys: mustJSON(over), ProjectID: ch.loop.row.ProjectID, WorkflowID: ch.loop.row.WorkflowID, ExecutionID: ch.loop.id, At: now,
		})
	})
	if errors.Is(err, errUnseen) {
		return nil, unseen, nil
	}
	return found, nil, err
}

// artifactsOf returns the artifacts in the results of nodes that succeeded.
func artifactsOf(held []db.ClaimResultsRow) map[uuid.UUID]struct{} {
	ids := map[uuid.UUID]struct{}{}
	for _, h := range held {
		if h.State != nil && dag.State(*h.State) == dag.Succeeded {
			artifactsIn(stored.Object(h.Outputs), ids)
		}
	}
	return ids
}

// claimGrace is how long a claim is valid while its node is not visible yet: it is made just
// before the batch is written in which that node may begin.
const claimGrace = time.Minute

// judge decides how to use the entry of a key that mine needs.
func (ch *cacheLookups) judge(h db.ClaimResultsRow, mine keyRow, there present, now time.Time, refresh bool) cacheEntry {
	f := cacheEntry{row: h, holder: holder{h.ExecutionID, int(h.NodeIndex)}}
	own := f.holder.execution == ch.loop.id
	ttl := ch.loop.nodes[mine.Index].op.Cache.TTL
	switch state := stateOf(h.State); {
	case own && f.holder.node == mine.Index:
	case refresh && !own:
		f.stale = "This launch refreshes cached results."
	case state == dag.Succeeded && ttl > 0 && h.FinishedAt.Add(ttl).Before(now):
		f.stale = fmt.Sprintf("The earlier result has expired: it is older than %s.", ttl)
	case state == dag.Succeeded && there.lost(stored.Object(h.Outputs)):
		f.stale = "Files of the earlier result were deleted."
	case state == dag.Succeeded:
		if f.result = stored.Object(h.Outputs); f.result == nil {
			f.result = map[string]any{}
		}
	case own:
		f.stale = ch.localStaleReason(f.holder.node)
	case state.Ended():
		f.stale = "The node that computed it did not succeed."
	case state == "" || state == dag.Pending:
		if h.ExecutionStatus == nil || query.State(*h.ExecutionStatus).Ended() || h.ClaimedAt.Add(claimGrace).Before(now) {
			f.stale = "The earlier result was deleted."
		}
	case state == dag.Ready && query.State(*h.ExecutionStatus) == query.Paused:
		f.stale = "The execution that should compute it is paused."
	}
	return f
}

// localStaleReason explains why node i of this execution, which has no written result, will not
// produce one; "" when it is running.
func (ch *cacheLookups) localStaleReason(i int) string {
	if i < len(ch.loop.nodes) {
		state := ch.loop.progress.State(i)
		if state == dag.Succeeded || state != dag.Pending && !state.Ended() {
			return ""
		}
	}
	return "The node that should compute it did not succeed."
}

func stateOf(text *string) dag.State {
	if text == nil {
		return ""
	}
	return dag.State(*text)
}
