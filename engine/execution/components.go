package execution

import (
	"context"
	"slices"

	"github.com/flowforge/flowforge/db"
)

// component is a feature of the loop: what it knows of the execution beside the nodes, and
// its part of a flush. The loop knows the components by this interface and by the few
// methods with which they serve each other.
type component interface {
	// restore takes up what the rows say, for a loop that was built from them.
	restore(ctx context.Context) error
	// news takes up what others have stored since for the loop to apply.
	news(ctx context.Context) error
	// pending reports whether its part of the next flush holds anything.
	pending() bool
	// write writes the part, in the transaction of the flush.
	write(ctx context.Context, q *db.Queries) error
	// reset empties the part: it is written, or starts again.
	reset()
	// committed does what had to wait until nothing is left to write. nodes are those that
	// the flush moved.
	committed(ctx context.Context, nodes map[int]*nodeRow)
}

// feature is what every component has: its loop, and answers to events that it ignores.
type feature struct{ *loop }

func (feature) restore(context.Context) error               { return nil }
func (feature) news(context.Context) error                  { return nil }
func (feature) committed(context.Context, map[int]*nodeRow) {}

// noPart is for components that keep nothing for the next flush.
type noPart struct{}

func (noPart) pending() bool { return false }
func (noPart) reset()        {}

// noWrite is for components that write nothing of their own.
type noWrite struct{}

func (noWrite) write(context.Context, *db.Queries) error { return nil }

// components are those of one loop, by name for each other and in order for the flush.
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
}

// newComponents returns those of l. Their order is that of the statements of a flush:
// rows are locked in it, and the transition is between what it refers to and what
// refers to its rows.
func newComponents(l *loop) components {
	f := feature{l}
	c := components{
		admission: &admission{feature: f}, artifacts: &artifactOutputs{feature: f}, batch: &batch{feature: f},
		breakers: &breakers{feature: f}, budgets: &retryBudgets{feature: f}, cache: &cacheLookups{feature: f},
		commands: &commands{feature: f}, deadLetters: &deadLetters{feature: f}, launches: &launches{feature: f},
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

// unwritten reports whether there is anything to write.
func (c *components) unwritten() bool { return slices.ContainsFunc(c.inOrder, component.pending) }

// onlyBegun reports whether there is no more to write than that attempts have begun.
func (c *components) onlyBegun() bool {
	return c.batch.onlyBegun() && !slices.ContainsFunc(c.inOrder, func(one component) bool { return one != component(c.batch) && one.pending() })
}

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

// allCommitted lets every component do what had to wait.
func (c *components) allCommitted(ctx context.Context, nodes map[int]*nodeRow) {
	for _, one := range c.inOrder {
		one.committed(ctx, nodes)
	}
}

// allNews lets every component take up what others have stored.
func (c *components) allNews(ctx context.Context) error {
	for _, one := range c.inOrder {
		if err := one.news(ctx); err != nil {
			return err
		}
	}
	return nil
}

// restoreAll lets every component take up what the rows say.
func (c *components) restoreAll(ctx context.Context) error {
	for _, one := range c.inOrder {
		if err := one.restore(ctx); err != nil {
			return err
		}
	}
	return nil
}
