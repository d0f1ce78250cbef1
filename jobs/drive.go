package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/riverqueue/river"
)

// Drive makes a client of other queues also process those of the scheduler, until StopDriving. A
// second client would need its own timers and sessions, also while there is nothing to do.
func (c *Client) Drive(ctx context.Context) error {
	c.term.begin()
	for _, name := range DriveQueues() {
		config := river.QueueConfig{MaxWorkers: workersOf(name)}
		err := c.river.Queues().Add(name, config)
		if _, kept := errors.AsType[*river.QueueAlreadyAddedError](err); kept { // its jobs did not end in time
			if err = c.river.Queues().Remove(ctx, name); err == nil {
				err = c.river.Queues().Add(name, config)
			}
		}
		if err != nil {
			return fmt.Errorf("process the queue %s: %w", name, err)
		}
	}
	c.drives = true
	return nil
}

// StopDriving makes the drive loops flush their changes and release their leases. It returns when
// they or ctx have ended. Other queues continue.
func (c *Client) StopDriving(ctx context.Context) error {
	c.driver.Drain()
	c.drives = false
	soft, cancel := context.WithTimeout(ctx, softStop)
	defer cancel()
	var late []string
	for _, name := range DriveQueues() {
		if err := c.river.Queues().Remove(soft, name); err != nil {
			late = append(late, name)
		}
	}
	c.term.end()
	var errs []error
	for _, name := range late {
		errs = append(errs, c.river.Queues().Remove(ctx, name))
	}
	return errors.Join(errs...)
}

// term is a time during which a client drives executions. It lasts until end if it was begun, and as
// long as the client otherwise.
type term struct {
	mu     sync.Mutex
	ctx    context.Context //nolint:containedctx // of the jobs of the term, which River starts
	cancel context.CancelFunc
}

func newTerm() *term {
	t := &term{}
	t.begin()
	return t
}

func (t *term) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ctx, t.cancel = context.WithCancel(context.Background())
}

func (t *term) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cancel()
}

// bound returns ctx, which also ends with the current term.
func (t *term) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	t.mu.Lock()
	term := t.ctx
	t.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(term, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}
