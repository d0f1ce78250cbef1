package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/riverqueue/river"
)

// Drive makes a client of other queues also process those of the scheduler, until StopDriving. A
// second client would need its own timers and sessions, even while there is nothing to do.
func (c *Client) Drive(ctx context.Context) error {
	if err := c.removeDriveQueues(ctx); err != nil {
		return err
	}
	c.term.begin() // jobs of earlier terms have ended
	c.drives = true
	for _, name := range DriveQueues() {
		if err := c.river.Queues().Add(name, river.QueueConfig{MaxWorkers: workersOf(name)}); err != nil {
			c.drives = false
			c.term.end()
			return errors.Join(fmt.Errorf("process the queue %s: %w", name, err), c.removeDriveQueues(ctx))
		}
	}
	return nil
}

// removeDriveQueues removes the queues that are left of an earlier term, because their jobs did not
// end in time.
func (c *Client) removeDriveQueues(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, softStop)
	defer cancel()
	for _, name := range DriveQueues() {
		err := c.river.Queues().Remove(ctx, name)
		if _, absent := errors.AsType[*river.QueueNotFoundError](err); err != nil && !absent {
			return fmt.Errorf("end the earlier jobs of the queue %s: %w", name, err)
		}
	}
	return nil
}

// StopDriving makes the drive loops flush their changes and release their leases. It returns when
// they or ctx have ended. Other queues continue.
func (c *Client) StopDriving(ctx context.Context) error {
	c.driver.Drain()
	c.drives = false
	soft, cancel := withSoftStop(ctx)
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

// bound returns ctx, which also ends with the current term, and whether that term has ended.
func (t *term) bound(ctx context.Context) (bound context.Context, release func(), ended func() bool) {
	t.mu.Lock()
	term := t.ctx
	t.mu.Unlock()
	bound, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(term, cancel)
	release = func() {
		stop()
		cancel()
	}
	return bound, release, func() bool { return term.Err() != nil }
}
