package execution

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// flush writes the batch in one transaction and then runs the work that waits for the
// commit. It writes nothing if the loop decided without a required read. After an error the loop is
// unusable: memory is ahead of the rows.
func (l *loop) flush(ctx context.Context) error {
	if l.readFailure != nil {
		return l.readFailure
	}
	crash := l.driver.config.Crash
	crash("flush.begin")
	began := time.Now()
	l.locks.readLimits(ctx)
	if err := l.metrics.gather(ctx); err != nil {
		return err
	}
	// A stop drains the loops first, and ends ctx when their time is over. A flush that this interrupts
	// has written everything or nothing, and its loop ends.
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	if err := l.commit(ctx); err != nil {
		return err
	}
	crash("flush.committed")
	l.driver.config.Meter.ObserveDuration(MeterTransition, time.Since(began))
	nodes := l.batch.nodes
	l.resetAll()
	l.allCommitted(ctx, nodes)
	crash("flush.effects")
	l.driver.changed(l.id)
	l.locks.wakeWaiters()
	return nil
}

// commit claims the capacity that the batch requests and writes the batch, in one
// transaction.
func (l *loop) commit(ctx context.Context) error {
	var round quotaRound
	err := runFlush(ctx, l.driver.pool, func(t *flushTx) error {
		var err error
		q := db.New(t)
		if err = l.locks.take(ctx, q); err != nil {
			return err
		}
		if err = l.breakers.guard(ctx, q); err != nil {
			return err
		}
		if round, err = l.admission.admit(ctx, q); err != nil {
			return err
		}
		l.launches.prepare(ctx)
		l.batch.flush = t
		if err := l.writeAll(ctx, q); err != nil {
			return err
		}
		if l.batch.finished {
			if err := t.enqueue(ctx, l.driver.enqueuer, FinishedArgs{ExecutionID: l.id}); err != nil {
				return fmt.Errorf("enqueue the finished event: %w", err)
			}
		}
		l.driver.config.Crash("flush.written")
		return nil
	})
	if err != nil {
		l.admission.undo(round)
	}
	return err
}

// flushTimeout limits one flush; a loop whose database takes longer loses its lease anyway.
const flushTimeout = 30 * time.Second

// writeTransition moves the nodes in one statement, which fails for a loop without its
// lease, and inserts the nodes of expanded ones.
func (b *batch) writeTransition(ctx context.Context, q *db.Queries) error {
	added, params := b.addedRows(), b.flushParams()
	params.Expected = int32(len(b.nodes)) //nolint:gosec // at most maxNodes
	if len(added) == 0 {
		return b.flush.last(func(q *db.Queries) error {
			_, err := flushExecution(ctx, q, params)
			return err
		})
	}
	seq, err := flushExecution(ctx, q, params)
	if err != nil {
		return err
	}
	for k := range added {
		added[k].ChangedSeq = seq
	}
	if _, err := q.InsertChildren(ctx, added); err != nil {
		return fmt.Errorf("insert nodes: %w", err)
	}
	return nil
}

// flushExecution writes the transition and returns the sequence number of its last event.
func flushExecution(ctx context.Context, q *db.Queries, params db.FlushExecutionParams) (seq int64, err error) {
	result, err := q.FlushExecution(ctx, params)
	if err != nil {
		return 0, fmt.Errorf("flush: %w", err)
	}
	if result.Fenced == 0 {
		return 0, errFenced
	}
	return result.Seq, nil
}

// indexes returns the node indexes of rows.
func indexes[T any](rows []T, node func(T) int) []int32 {
	list := make([]int32, len(rows))
	for k, r := range rows {
		list[k] = int32(node(r)) //nolint:gosec // at most workflow.MaxOperators
	}
	return list
}

func (b *batch) flushParams() db.FlushExecutionParams {
	p := b.loop.progress
	nodes := b.nodeRows()
	count := func(s dag.State) int32 { return int32(p.Count(s)) } //nolint:gosec // at most maxNodes
	params := db.FlushExecutionParams{
		ID: b.loop.id, Owner: b.loop.driver.owner, Epoch: b.loop.lease.epoch, LeaseSeconds: b.loop.driver.config.Timing.Lease.Seconds(),
		Launcher: b.loop.driver.config.LauncherName,
		Status:   string(b.shown()), StartedAt: b.loop.row.StartedAt, FinishedAt: b.loop.row.FinishedAt, Outputs: b.loop.row.Outputs,
		Total:   int32(p.Size()), //nolint:gosec // at most maxNodes
		Pending: count(dag.Pending), Ready: count(dag.Ready), Queued: count(dag.Queued), Running: count(dag.Running),
		AwaitingApproval: int32(b.loop.commands.awaiting()), //nolint:gosec // at most maxNodes
		OnlyAwaits:       b.shown() == query.Running && b.loop.commands.onlyAwaits(),
		Retrying:         count(dag.Retrying), Succeeded: count(dag.Succeeded), Failed: count(dag.Failed),
		Skipped: count(dag.Skipped), Cancelled: count(dag.Cancelled),
		LevelsDone: int32(p.LevelsDone()), //nolint:gosec // at most the number of nodes
		Nodes:      recordSet(nodes),
		Ended:      recordSet(b.ended), Stopped: indexes(b.ended, func(r endedRow) int { return r.Node }),
		Claims: recordSet(b.claims), Events: recordSet(b.events),
	}
	if b.loop.status == query.Pending && b.loop.admission.waitReason != nil {
		params.Reason = mustJSON(b.loop.admission.waitReason)
	}
	if b.loop.conclusion.failure != nil {
		params.Error = mustJSON(b.loop.conclusion.failure)
	}
	return params
}

// shown is the status for readers.
func (b *batch) shown() query.State {
	if b.loop.commands.paused && !b.loop.status.Ended() {
		return query.Paused
	}
	return b.loop.status
}

// recordSet encodes rows; no rows are an empty set and not null.
func recordSet[T any](rows []T) []byte {
	if len(rows) == 0 {
		return []byte("[]")
	}
	return mustJSON(rows)
}

// nodeRows fills the rows of the batch with the current state of the nodes.
func (b *batch) nodeRows() []*nodeRow {
	rows := make([]*nodeRow, 0, len(b.nodes))
	for i, row := range b.nodes {
		n := &b.loop.nodes[i]
		row.State, row.Pending, row.Attempt, row.Retries = b.loop.progress.State(i), b.loop.progress.Pending(i), n.attempt, n.retries
		row.Reason, row.Error = n.reason, n.failure
		row.ReadyAt, row.StartedAt, row.FinishedAt, row.RetryAt = n.readyAt, n.startedAt, n.finishedAt, n.retryAt
		row.Polling = n.polling
		if n.children.first > 0 {
			row.FirstChild, row.ChildCount = &n.children.first, &n.children.count
			if n.inputs != nil {
				row.Inputs = n.inputs
			}
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(x, y *nodeRow) int { return x.Index - y.Index })
	return rows
}

// addedRows returns the nodes that the execution did not have before, in their state at the
// end of this batch; the batch's rows of changes no longer contain them.
func (b *batch) addedRows() []db.InsertChildrenParams {
	rows := make([]db.InsertChildrenParams, 0, len(b.added))
	for _, i := range b.added {
		change := b.nodes[i]
		delete(b.nodes, i)
		rows = append(rows, b.addedRow(i, change))
	}
	return rows
}

func (b *batch) addedRow(i int, change *nodeRow) db.InsertChildrenParams {
	n, p := &b.loop.nodes[i], b.loop.progress
	number := func(n int) int32 { return int32(n) } //nolint:gosec // indexes and counts below maxNodes
	parent := p.Parent(i)
	row := db.InsertChildrenParams{
		ExecutionID: b.loop.id, NodeIndex: number(i), Name: n.name, Level: number(n.level), State: string(p.State(i)),
		PendingDependencies: number(p.Pending(i)), Attempt: number(n.attempt), Retries: number(n.retries),
		ReadyAt: n.readyAt, StartedAt: n.startedAt, FinishedAt: n.finishedAt, RetryAt: n.retryAt,
		ParentIndex: new(number(parent)), Expansion: number(b.loop.nodes[parent].attempt), Graph: n.graph, ChildCount: number(n.children.count),
	}
	if n.index >= 0 {
		row.ItemIndex, row.Item, row.OperatorIndex = new(number(n.index)), mustJSON(n.item), new(number(b.operatorIndex(parent)))
	} else {
		row.OperatorIndex = new(number(p.Position(i)))
	}
	if n.reason != nil {
		row.Reason = mustJSON(n.reason)
	}
	if n.failure != nil {
		row.Error = mustJSON(n.failure)
	}
	if n.polling != nil {
		row.Polling = mustJSON(n.polling)
	}
	if change != nil && change.Outputs != nil {
		row.Outputs = mustJSON(change.Outputs)
	}
	if n.inputs != nil {
		row.Inputs = mustJSON(n.inputs)
	}
	if n.children.first > 0 {
		row.FirstChild = new(number(n.children.first))
	}
	return row
}

// operatorIndex is the index of the operator of node i in its graph.
func (b *batch) operatorIndex(i int) int { return b.loop.progress.Position(b.loop.home(i)) }
