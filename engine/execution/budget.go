package execution

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/protect"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// budgetCheckInterval is how often retries that wait for a budget check it, besides the time at which
// they are due: an administrator may have raised it.
const budgetCheckInterval = 15 * time.Second

// budgetRetryDelay is how long retries wait when the budget could not be read.
const budgetRetryDelay = time.Second

// overBudget reports whether n waits for its retry because a budget is used up.
func (n *nodeState) overBudget() bool { return n.reason != nil && n.reason.Code == fair.RetryBudget }

// retryBudgets checks the budgets of the tenant and of the workflow before retries.
type retryBudgets struct {
	feature
	noPart
	noWrite
}

// startDueRetries makes nodes READY whose retry is due, as far as the budgets of their tenant and
// workflow have retries left. The others stay RETRYING and check again.
//
// The budgets are reduced and committed before the nodes move. A crash between the two costs
// the budgets these retries, but never costs a node its retry.
func (rb *retryBudgets) startDueRetries(ctx context.Context, nodes []int, now time.Time) {
	if len(nodes) == 0 {
		return
	}
	late := func(granted int) (n int) { // nodes that have to wait and did not wait before
		for _, i := range nodes[granted:] {
			if !rb.loop.nodes[i].overBudget() {
				n++
			}
		}
		return n
	}
	s, err := rb.loop.driver.takeRetries(ctx, rb.loop.row, rb.loop.version.Definition.RetryBudget, len(nodes), late, now)
	if err != nil {
		rb.loop.driver.config.Logger.Warn("ask the retry budgets", "execution", rb.loop.id, "error", err)
		for _, i := range nodes {
			rb.loop.timers.add(i, now.Add(budgetRetryDelay))
		}
		return
	}
	rb.loop.driver.config.Crash("budget.taken")
	for k, i := range nodes {
		if k < s.granted {
			rb.loop.ready.makeReady(ctx, i, now)
			continue
		}
		rb.waitForBudget(i, s.due(k-s.granted+1), s.text, now)
	}
}

// waitForBudget makes node i wait for a budget. due is when a retry becomes available,
// unless another node takes it first.
func (rb *retryBudgets) waitForBudget(i int, due time.Time, text string, now time.Time) {
	n := &rb.loop.nodes[i]
	due = due.UTC().Truncate(time.Microsecond)
	rb.loop.timers.add(i, earlier(laterOf(due, now.Add(time.Millisecond)), now.Add(budgetCheckInterval)))
	if n.overBudget() && !due.After(*n.retryAt) {
		return
	}
	rb.loop.batch.touch(i)
	if !n.overBudget() {
		rb.loop.batch.nodeEvent(i, now, query.EventNodeWaiting, text, map[string]any{"code": fair.RetryBudget, "retry_at": due})
	}
	n.retryAt = &due
	n.reason = &query.Reason{Code: fair.RetryBudget, Message: text}
}

func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// recheck makes the nodes that wait for a budget check it now.
func (rb *retryBudgets) recheck() {
	if rb.loop.progress.Count(dag.Retrying) == 0 {
		return
	}
	now := rb.loop.driver.now()
	for i := range rb.loop.nodes {
		if rb.loop.nodes[i].overBudget() && rb.loop.progress.State(i) == dag.Retrying {
			rb.loop.timers.add(i, now)
		}
	}
}

// retryGrant is the result of a request to the budgets.
type retryGrant struct {
	granted int
	due     func(k int) time.Time // when the k-th of the remaining nodes may expect a retry
	text    string                // why they wait
}

// takeRetries takes up to n retries from the budgets of an execution's tenant and workflow.
func (s *Driver) takeRetries(ctx context.Context, row db.Execution, rule protect.WindowRule, n int, late func(granted int) int, now time.Time) (retryGrant, error) {
	got := retryGrant{granted: n, due: func(int) time.Time { return now }}
	if !rule.On() {
		if _, err := s.queries.GetBucket(ctx, row.TenantID); db.IsNoRows(err) {
			return got, nil
		}
	}
	delayed := 0
	err := db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		w, err := lockWindow(ctx, q, row, rule, now)
		if err != nil {
			return err
		}
		b, err := lockBucket(ctx, q, row)
		if err != nil {
			return err
		}
		got = decide(w, b, n, now)
		delayed = late(got.granted)
		if got.granted == 0 && delayed == 0 {
			return nil
		}
		if err := w.save(ctx, q, now, delayed); err != nil {
			return err
		}
		return b.save(ctx, q, delayed)
	})
	if err != nil {
		return retryGrant{}, fmt.Errorf("take retries: %w", err)
	}
	if delayed > 0 {
		s.config.Meter.Count(MeterRetryDelayed, "", delayed)
	}
	return got, nil
}

// heldWindow is the locked budget of a workflow; its rule is off when it has none.
type heldWindow struct {
	row    db.RetryWindow
	rule   protect.WindowRule
	window protect.Window
}

func lockWindow(ctx context.Context, q *db.Queries, e db.Execution, rule protect.WindowRule, now time.Time) (*heldWindow, error) {
	if !rule.On() {
		return &heldWindow{}, nil
	}
	err := q.MakeWindow(ctx, db.MakeWindowParams{
		WorkflowID: e.WorkflowID, TenantID: e.TenantID, ProjectID: e.ProjectID, WorkflowName: e.WorkflowName,
		Retries: int32(rule.Retries), Span: rule.Window.Seconds(), ChangedAt: now, //nolint:gosec // at most protect.MaxWindowRetries
	})
	if err != nil {
		return nil, err
	}
	row, err := q.LockWindow(ctx, e.WorkflowID)
	return &heldWindow{row: row, rule: rule, window: row.Made}, err
}

func (w *heldWindow) save(ctx context.Context, q *db.Queries, now time.Time, delayed int) error {
	if !w.rule.On() {
		return nil
	}
	made := []time.Time(w.window)
	if made == nil {
		made = []time.Time{}
	}
	return q.SaveWindow(ctx, db.SaveWindowParams{
		WorkflowID: w.row.WorkflowID, Retries: int32(w.rule.Retries), Span: w.rule.Window.Seconds(), //nolint:gosec // at most protect.MaxWindowRetries
		Made: made, Delayed: int64(delayed), ChangedAt: now,
	})
}

// heldBucket is the locked budget of a tenant; its rule is off when it has none.
type heldBucket struct {
	row    db.RetryBucket
	rule   protect.BucketRule
	bucket protect.Bucket
}

func lockBucket(ctx context.Context, q *db.Queries, e db.Execution) (*heldBucket, error) {
	row, err := q.LockBucket(ctx, e.TenantID)
	if db.IsNoRows(err) {
		return &heldBucket{}, nil
	}
	return &heldBucket{row: row, rule: bucketRule(row), bucket: bucketState(row)}, err
}

func bucketRule(r db.RetryBucket) protect.BucketRule {
	return protect.BucketRule{Retries: int(r.Retries), Per: seconds(r.Period), Burst: int(r.Burst)}
}

func bucketState(r db.RetryBucket) protect.Bucket {
	b := protect.Bucket{Tokens: r.Tokens}
	if r.RefilledAt != nil {
		b.At = r.RefilledAt.UTC()
	}
	return b
}

func (b *heldBucket) save(ctx context.Context, q *db.Queries, delayed int) error {
	if !b.rule.On() {
		return nil
	}
	return q.SaveBucket(ctx, b.bucket.Tokens, &b.bucket.At, int64(delayed), b.row.TenantID)
}

// decide takes the same number of retries from both budgets, at most n.
func decide(w *heldWindow, b *heldBucket, n int, now time.Time) retryGrant {
	granted := n
	if w.rule.On() {
		granted = min(granted, w.window.Left(w.rule, now))
	}
	if b.rule.On() {
		granted = min(granted, b.bucket.Left(b.rule, now))
	}
	granted = max(granted, 0)
	var texts []string
	if w.rule.On() {
		if w.window.Left(w.rule, now) < n {
			texts = append(texts, fmt.Sprintf("The workflow has used its retry budget of %d retries in %s.", w.rule.Retries, w.rule.Window))
		}
		w.window, _ = w.window.Take(w.rule, now, granted)
	}
	if b.rule.On() {
		if b.bucket.Left(b.rule, now) < n {
			texts = append(texts, fmt.Sprintf("The tenant has used its retry budget: %d retries in %s, bursts of %d.", b.rule.Retries, b.rule.Per, b.rule.Burst))
		}
		b.bucket, _ = b.bucket.Take(b.rule, now, granted)
	}
	s := retryGrant{granted: granted}
	for _, t := range texts {
		s.text += t + " "
	}
	s.text += "The node is retried when the budget allows it."
	s.due = func(k int) time.Time {
		at := now
		if w.rule.On() {
			at = laterOf(at, w.window.Next(w.rule, now, k))
		}
		if b.rule.On() {
			at = laterOf(at, b.bucket.Next(b.rule, now, k))
		}
		return at
	}
	return s
}
