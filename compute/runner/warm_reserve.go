package runner

import (
	"fmt"
	"time"
)

// reserve gives an attempt that is prepared in advance the fork that waits, if there is one. The
// fork gets ready, and runs nothing before the attempt starts.
func (a *attempt) reserve(c command, env environ) {
	if a.gate == nil || a.ctx.Err() != nil {
		return
	}
	if program, ok := a.pythonProgram(c, env); ok {
		a.reserved = a.s.warm.reserve(&program)
	}
}

// reserve hands a program to the fork that waits, and returns it without running the program. It
// returns nil if no fork waits.
func (w *warmPool) reserve(p *pythonProgram) *warmChild {
	key, err := p.key()
	if err != nil {
		return nil
	}
	w.mu.Lock()
	parent := w.parents[key]
	if parent != nil {
		parent.last = w.now()
	}
	w.mu.Unlock()
	if parent == nil || parent.outdated() {
		return nil
	}
	parent.mu.Lock()
	c := parent.takeSpare()
	parent.mu.Unlock()
	if c == nil || parent.hand(c, p) != nil {
		return nil
	}
	return c
}

// run lets the fork run its program.
func (c *warmChild) run() error {
	_ = c.socket.SetDeadline(time.Now().Add(warmForkLimit))
	if _, err := c.socket.Write([]byte{forkGo}); err != nil {
		c.discard()
		return fmt.Errorf("a fork does not run its program: %w", err)
	}
	return nil
}

// discard ends a fork with a program that it does not run. It does nothing for nil.
func (c *warmChild) discard() {
	if c != nil {
		closeFiles(c.outputs[:])
		c.abandon()
		c.parent.release()
	}
}
