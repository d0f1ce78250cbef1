package execution

import (
	"context"
	"sync"

	"github.com/google/uuid"
)

// registry contains the drive loops of this process, and caches idle loops, so that one
// completion does not load ten thousand rows.
type registry struct {
	mu       sync.Mutex
	loops    map[uuid.UUID]*loop
	idle     map[uuid.UUID]*loop
	order    []uuid.UUID // of idle, the oldest first
	nodes    int         // of all idle loops
	draining bool
	drained  chan struct{}
}

// maxIdleNodes limits the memory of idle loops, about 200 bytes a node.
const maxIdleNodes = 300_000

func newRegistry() *registry {
	return &registry{loops: map[uuid.UUID]*loop{}, idle: map[uuid.UUID]*loop{}, drained: make(chan struct{})}
}

// add makes l the live loop of its execution; false when it already has one.
func (r *registry) add(l *loop) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.loops[l.id]; ok {
		return false
	}
	r.loops[l.id] = l
	return true
}

// removeIdle removes l unless a message arrived in the meantime.
func (r *registry) removeIdle(l *loop) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(l.inbox.messages) > 0 {
		return false
	}
	if r.loops[l.id] == l {
		delete(r.loops, l.id)
	}
	return true
}

// remove removes l and returns the messages that it has not read.
func (r *registry) remove(l *loop) []message {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.loops[l.id] == l {
		delete(r.loops, l.id)
	}
	return l.inbox.take()
}

// post sends m to the live loop of id; false when there is none.
func (r *registry) post(id uuid.UUID, m message) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	l, ok := r.loops[id]
	if !ok || r.draining {
		return false
	}
	l.inbox.add(m)
	return true
}

// accepts reports whether post would find a loop for id.
func (r *registry) accepts(id uuid.UUID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.loops[id]
	return ok && !r.draining
}

// wakeLoop makes the live loop of id check again; false when there is none.
func (r *registry) wakeLoop(id uuid.UUID) bool { return r.post(id, message{}) }

// take empties the inbox of l and returns its messages.
func (r *registry) take(l *loop) []message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return l.inbox.take()
}

// requeue returns messages to the inbox of l, before those that arrived since.
func (r *registry) requeue(l *loop, rest []message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l.inbox.requeue(rest)
}

// all returns the loops of this process.
func (r *registry) all() map[uuid.UUID]leasedLoop {
	r.mu.Lock()
	defer r.mu.Unlock()
	loops := make(map[uuid.UUID]leasedLoop, len(r.loops))
	for id, l := range r.loops {
		loops[id] = leasedLoop{loop: l, epoch: l.lease.epoch}
	}
	return loops
}

// leasedLoop is a live loop with the epoch of its lease. An idle loop that is resumed has a
// new epoch.
type leasedLoop struct {
	loop  *loop
	epoch int64
}

// get returns the live loop of id.
func (r *registry) get(id uuid.UUID) (*loop, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l, ok := r.loops[id]
	return l, ok
}

// drain makes every loop write its changes and return.
func (r *registry) drain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining {
		return
	}
	r.draining = true
	close(r.drained)
}

// reopen reverses drain: loops may start again.
func (r *registry) reopen() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining {
		r.draining, r.drained = false, make(chan struct{})
	}
}

// drainedSignal closes when the current loops have to end.
func (r *registry) drainedSignal() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.drained
}

// untilDrained returns a context that also ends when the current loops have to end.
func (r *registry) untilDrained(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	drained := r.drainedSignal()
	go func() {
		select {
		case <-drained:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

func (r *registry) isDraining() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.draining
}

// keepIdle caches a loop that has released its lease.
func (r *registry) keepIdle(l *loop) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.idle[l.id]; !ok {
		r.order = append(r.order, l.id)
		r.nodes += len(l.nodes)
	}
	r.idle[l.id] = l
	for r.nodes > maxIdleNodes && len(r.order) > 0 {
		r.forget(r.order[0])
	}
}

// takeIdle removes the cached loop of id and returns it.
func (r *registry) takeIdle(id uuid.UUID) (*loop, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l, ok := r.idle[id]
	if ok {
		r.forget(id)
	}
	return l, ok
}

func (r *registry) forget(id uuid.UUID) {
	for i, other := range r.order {
		if other == id {
			r.order = append(r.order[:i], r.order[i+1:]...)
			break
		}
	}
	if l, ok := r.idle[id]; ok {
		r.nodes -= len(l.nodes)
		delete(r.idle, id)
	}
}
