package execution

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/flowforge/flowforge/db"
)

// reports are the ends of attempts that the loop applied. Some were stored; the senders of
// the others wait until they are durable.
type reports struct {
	feature

	part    reportsPart
	answers []waiter // of the current flush
	rest    bool     // more reports are stored than were applied
}

type reportsPart struct {
	consumed []attemptKey // stored reports that were applied or are stale
	waiters  []waiter
}

// waiter is the sender of a report that waits until it is durable.
type waiter struct {
	done     chan<- receipt
	accepted bool
}

// receipt is the answer to the sender of a report. durable is false when the loop ended
// before it could write; the sender then stores the report itself.
type receipt struct {
	durable  bool
	accepted bool
}

func (rp *reports) pending() bool { return len(rp.part.consumed)+len(rp.part.waiters) > 0 }

func (rp *reports) reset() { rp.part = reportsPart{} }

func (rp *reports) committed(context.Context, map[int]*nodeRow) {
	answer(rp.answers, true)
	rp.answers = nil
	if rp.rest {
		rp.rest = false
		rp.loop.driver.live.post(rp.loop.id, message{reports: true})
	}
}

// await makes the sender of a report wait until the next flush is committed.
func (rp *reports) await(done chan<- receipt, accepted bool) {
	rp.part.waiters = append(rp.part.waiters, waiter{done, accepted})
}

// closeReports notifies all waiting senders that nothing was written.
func (rp *reports) closeReports() {
	answer(rp.part.waiters, false)
	rp.part.waiters = nil
}

func answer(waiters []waiter, durable bool) {
	for _, w := range waiters {
		w.done <- receipt{durable: durable, accepted: w.accepted}
	}
}

// loadUpdates applies the ends of attempts that arrived while no loop drove, as many as fit in a flush.
func (rp *reports) loadUpdates(ctx context.Context) error {
	rows, err := rp.loop.driver.queries.LoadReports(ctx, rp.loop.id, maxBatchBytes)
	if err != nil {
		return fmt.Errorf("load reports: %w", err)
	}
	rp.rest = len(rows) > 0 && int64(len(rows)) < rows[0].Total
	for _, r := range rows {
		var e ending
		if err := json.Unmarshal(r.Report, &e); err != nil {
			return fmt.Errorf("read report of node %d: %w", r.NodeIndex, err)
		}
		m := message{node: int(r.NodeIndex), attempt: int(r.Attempt), end: &e}
		rp.loop.ends.applyEnding(ctx, m)
		rp.part.consumed = append(rp.part.consumed, attemptKey{m.node, m.attempt})
	}
	return nil
}

// write deletes the stored reports that the batch applied; at the end of the execution all
// of them.
func (rp *reports) write(ctx context.Context, q *db.Queries) error {
	rp.answers = rp.part.waiters
	if rp.loop.batch.finished {
		if err := q.DeleteReportsOf(ctx, rp.loop.id); err != nil {
			return fmt.Errorf("delete reports: %w", err)
		}
		return nil
	}
	for _, k := range rp.part.consumed {
		if err := q.DeleteReport(ctx, rp.loop.id, int32(k.Node), int32(k.Attempt)); err != nil { //nolint:gosec // indexes and counts
			return fmt.Errorf("delete a report: %w", err)
		}
	}
	return nil
}
