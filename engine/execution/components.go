package execution

import (
	"context"
	"slices"
	"time"

	"github.com/flowforge/flowforge/db"
)

// component is a feature of the loop: its knowledge about the execution besides the nodes,
// and its part of a flush. The loop uses the components only through this interface and
// through the few methods with which they serve each other.
type component interface {
	// restore loads the component's state from the rows, for a loop that was built from
	// them.
	restore(ctx context.Context) error
	// loadUpdates loads what other processes have stored since, for the loop to apply.
	loadUpdates(ctx context.Context) error
	// pending reports whether its part of the next flush is not empty.
	pending() bool
	// write writes the part, in the transaction of the flush.
	write(ctx context.Context, q *db.Queries) error
	// reset empties the part, after it was written or before it is rebuilt.
	reset()
	// committed does the work that has to wait for the commit. nodes are the nodes that the
	// flush moved.
	committed(ctx context.Context, nodes map[int]*nodeRow)
}

// feature is embedded in every component: its loop, and empty handlers of events that it
// ignores.
type feature struct{ loop *loop }

func (feature) restore(context.Context) error               { return nil }
func (feature) loadUpdates(context.Context) error           { return nil }
func (feature) committed(context.Context, map[int]*nodeRow) {}

// noPart is for components without a part of the flush.
type noPart struct{}

func (noPart) pending() bool { return false }
func (noPart) reset()        {}

// noWrite is for components that write nothing themselves.
type noWrite struct{}

func (noWrite) write(context.Context, *db.Queries) error { return nil }

// components are the components of one loop, by name for each other and in order for the
// flush.
type components struct {
	admission   *admission
	artifacts   *artifactOutputs
	batch       *batch
	breakers    *breakers
	budgets     *retryBudgets
	cache       *cacheLookups
	commands    *commands
	deadLetters *deadLetters
	launches    *launches
	locks       *locks
	metrics     *metrics
	orders      *nodeOrders
	origins     *origins
	preemption  *preemption
	reports     *reports
	serving     *serving
	streams     *streams

	inOrder []component // in the order in which they write
	flushBy time.Time   // when a deferred flush must be written
}

// newComponents returns the components of l in the order of the statements of a flush: rows
// are locked in this order, and the transition comes after the rows to which it refers and
// before the rows that refer to it.
func newComponents(l *loop) components {
	f := feature{l}
	c := components{
		admission: &admission{feature: f}, artifacts: &artifactOutputs{feature: f}, batch: &batch{feature: f},
		breakers: &breakers{feature: f}, budgets: &retryBudgets{feature: f}, cache: &cacheLookups{feature: f},
		commands: &commands{feature: f, open: map[int]struct{}{}}, deadLetters: &deadLetters{feature: f}, launches: &launches{feature: f},
		locks: &locks{feature: f}, metrics: &metrics{feature: f}, orders: &nodeOrders{feature: f}, origins: &origins{feature: f},
		preemption: &preemption{feature: f}, reports: &reports{feature: f}, serving: &serving{feature: f}, streams: &streams{feature: f},
	}
	c.inOrder = []component{
		c.cache, c.budgets, c.artifacts, c.reports, c.admission, c.breakers, c.launches, c.serving, c.streams,
		c.deadLetters, &artifactUses{feature: f}, c.metrics, c.batch, c.origins, &usageHours{feature: f}, c.orders,
		c.commands, c.preemption, &expiry{feature: f}, &begins{feature: f}, c.locks,
	}
	c.resetAll()
	return c
}

// unwritten reports whether there are changes to write.
func (c *components) unwritten() bool { return slices.ContainsFunc(c.inOrder, component.pending) }

// onlyBegins reports whether the only changes are begins of attempts.
func (c *components) onlyBegins() bool {
	return c.batch.onlyBegins() && !slices.ContainsFunc(c.inOrder, func(one component) bool { return one != component(c.batch) && one.pending() })
}

// deferred reports whether the flush may wait a moment for more changes: begins of attempts
// move no node, and the end of a short attempt follows soon.
func (c *components) deferred() bool {
	if !c.onlyBegins() {
		c.flushBy = time.Time{}
		return false
	}
	if c.flushBy.IsZero() {
		c.flushBy = time.Now().Add(startedDelay)
	}
	return time.Now().Before(c.flushBy)
}

// startedDelay is how long the begin of an attempt may stay unwritten.
const startedDelay = 5 * time.Millisecond

// writeAll writes every part.
func (c *components) writeAll(ctx context.Context, q *db.Queries) error {
	for _, one := range c.inOrder {
		if err := one.write(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// resetAll empties every part.
func (c *components) resetAll() {
	for _, one := range c.inOrder {
		one.reset()
	}
}

// allCommitted notifies every component of the commit.
func (c *components) allCommitted(ctx context.Context, nodes map[int]*nodeRow) {
	for _, one := range c.inOrder {
		one.committed(ctx, nodes)
	}
}

// loadAllUpdates makes every component load what other processes have stored.
func (c *components) loadAllUpdates(ctx context.Context) error {
	for _, one := range c.inOrder {
		if err := one.loadUpdates(ctx); err != nil {
			return err
		}
	}
	return nil
}

// restoreAll makes every component load its state from the rows.
func (c *components) restoreAll(ctx context.Context) error {
	for _, one := range c.inOrder {
		if err := one.restore(ctx); err != nil {
			return err
		}
	}
	return nil
}
