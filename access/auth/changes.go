package auth

import "sync"

// changes notifies all waiters in this process that a permission or a credential may have
// ended. The zero value is ready; it is safe for concurrent use.
type changes struct {
	mu   sync.Mutex
	next chan struct{}
}

// wait returns a channel that closes at the next announcement.
func (c *changes) wait() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == nil {
		c.next = make(chan struct{})
	}
	return c.next
}

func (c *changes) announce() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next != nil {
		close(c.next)
		c.next = nil
	}
}

// Changed returns a channel that closes when a session, a key, an account or a role may
// have ended in this process. Changes on other servers are not announced here: waiters
// must also poll.
func (p *Policies) Changed() <-chan struct{} { return p.changes.wait() }

// Announce closes the channels that Changed returned. Code that ends a credential calls
// it after the commit.
func (p *Policies) Announce() { p.changes.announce() }

// Changed is Policies.Changed.
func (u *Users) Changed() <-chan struct{} { return u.policies.Changed() }
