package local

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Local shares the capacity of one machine among all executions that this
// process drives. The truth is the table of reservations; Local is its image in
// memory, filled by Restore at start.
//
// A refused request stays in the queue. Capacity that comes free is set aside
// for the next in the queue as an offer, and the execution it belongs to is
// woken; so nobody polls and nobody takes an offer away.
type Local struct {
	capacity Amount
	patience time.Duration
	offerTTL time.Duration
	now      func() time.Time
	wake     func(execution uuid.UUID)

	mu      sync.Mutex
	free    Amount
	held    map[uuid.UUID]map[int]Amount
	waiting queue
	offers  map[uuid.UUID]map[int]offer
}

type offer struct {
	request Request
	expires time.Time
}

// Config configures Local; Capacity and Wake are required.
type Config struct {
	Capacity Amount
	// Wake is told that an execution has an offer. It must not block.
	Wake func(execution uuid.UUID)
	// Patience is how long smaller requests may pass one that does not fit.
	Patience time.Duration
	// OfferTTL is how long an offer stands.
	OfferTTL time.Duration
	Now      func() time.Time
}

// NewLocal returns a Local of which everything is free.
func NewLocal(c Config) *Local {
	if c.Patience == 0 {
		c.Patience = 30 * time.Second
	}
	if c.OfferTTL == 0 {
		c.OfferTTL = 10 * time.Second
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Local{
		capacity: c.Capacity, patience: c.Patience, offerTTL: c.OfferTTL, now: c.Now, wake: c.Wake,
		free: c.Capacity, held: map[uuid.UUID]map[int]Amount{}, waiting: newQueue(), offers: map[uuid.UUID]map[int]offer{},
	}
}

// Capacity returns what the machine has.
func (l *Local) Capacity() Amount { return l.capacity }

// Free returns what nobody holds or is offered.
func (l *Local) Free() Amount {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.free
}

// NeverFits returns why ask is more than the whole machine, or nil.
func (l *Local) NeverFits(ask Amount) *Reason {
	r, short := shortage(ask, l.capacity)
	if !short {
		return nil
	}
	reason := r.reason(ask, l.capacity, l.capacity)
	return &reason
}

// Restore replaces what is held by held, the live reservations of this machine.
func (l *Local) Restore(held map[Key]Amount) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = map[uuid.UUID]map[int]Amount{}
	l.free = l.capacity
	for key, amount := range held {
		l.hold(key, amount)
	}
	for _, offers := range l.offers {
		for _, o := range offers {
			l.free = l.free.minus(o.request.Amount)
		}
	}
}

// Admit gives back what release holds, then grants what it can of want and of
// the earlier refused requests of the same execution, and refuses the rest,
// which stays in the queue. The caller writes granted reservations in tx and
// calls Undo when tx does not commit. Local itself needs no row of tx.
func (l *Local) Admit(_ context.Context, _ pgx.Tx, execution uuid.UUID, release []int, want []Request) (granted []Request, refused []Refusal, err error) {
	l.mu.Lock()
	now := l.now()
	for _, node := range release {
		l.unhold(Key{execution, node})
	}
	for _, r := range want {
		if _, offered := l.offers[execution][r.Key.Node]; !offered {
			l.waiting.add(r)
		}
	}
	l.expireOffers(now)
	woken := l.distribute(now, execution)
	for node, o := range l.offers[execution] {
		l.free = l.free.plus(o.request.Amount)
		l.hold(Key{execution, node}, o.request.Amount)
		granted = append(granted, o.request)
	}
	delete(l.offers, execution)
	refused = l.refuse(want, granted)
	l.mu.Unlock()
	slices.SortFunc(granted, compare)
	l.wakeAll(woken)
	return granted, refused, nil
}

// Undo takes back an Admit whose transaction did not commit.
func (l *Local) Undo(execution uuid.UUID, released map[int]Amount, granted []Request) {
	l.mu.Lock()
	for _, r := range granted {
		l.unhold(r.Key)
	}
	for node, amount := range released {
		l.hold(Key{execution, node}, amount)
	}
	woken := l.distribute(l.now(), uuid.Nil)
	l.mu.Unlock()
	l.wakeAll(woken)
}

// Withdraw removes the waiting requests of an execution: of all its nodes when
// nodes is nil. What it holds stays held.
func (l *Local) Withdraw(execution uuid.UUID, nodes []int) {
	l.mu.Lock()
	if nodes == nil {
		l.waiting.removeAll(execution)
		nodes = slices.Collect(maps.Keys(l.offers[execution]))
	}
	for _, node := range nodes {
		l.waiting.remove(Key{execution, node})
		l.dropOffer(execution, node)
	}
	woken := l.distribute(l.now(), uuid.Nil)
	l.mu.Unlock()
	l.wakeAll(woken)
}

// Sweep withdraws offers that nobody took in time.
func (l *Local) Sweep() {
	l.mu.Lock()
	l.expireOffers(l.now())
	woken := l.distribute(l.now(), uuid.Nil)
	l.mu.Unlock()
	l.wakeAll(woken)
}

func (l *Local) wakeAll(executions []uuid.UUID) {
	for _, id := range executions {
		l.wake(id)
	}
}

// distribute turns waiting requests into offers while they fit, and returns the
// executions other than self that got one.
func (l *Local) distribute(now time.Time, self uuid.UUID) []uuid.UUID {
	var woken []uuid.UUID
	for {
		free := l.free
		if first, ok := l.waiting.first(); ok && now.Sub(first.Since) > l.patience && !free.fits(first.Amount) {
			free = free.minus(first.Amount)
		}
		r, ok := l.waiting.take(free)
		if !ok {
			return woken
		}
		id := r.Key.Execution
		if l.offers[id] == nil {
			l.offers[id] = map[int]offer{}
			if id != self {
				woken = append(woken, id)
			}
		}
		l.offers[id][r.Key.Node] = offer{r, now.Add(l.offerTTL)}
		l.free = l.free.minus(r.Amount)
	}
}

func (l *Local) hold(key Key, amount Amount) {
	nodes := l.held[key.Execution]
	if nodes == nil {
		nodes = map[int]Amount{}
		l.held[key.Execution] = nodes
	}
	if before, ok := nodes[key.Node]; ok {
		l.free = l.free.plus(before)
	}
	nodes[key.Node] = amount
	l.free = l.free.minus(amount)
}

func (l *Local) unhold(key Key) {
	nodes := l.held[key.Execution]
	amount, ok := nodes[key.Node]
	if !ok {
		return
	}
	l.free = l.free.plus(amount)
	delete(nodes, key.Node)
	if len(nodes) == 0 {
		delete(l.held, key.Execution)
	}
}

func (l *Local) dropOffer(execution uuid.UUID, node int) {
	o, ok := l.offers[execution][node]
	if !ok {
		return
	}
	l.free = l.free.plus(o.request.Amount)
	delete(l.offers[execution], node)
	if len(l.offers[execution]) == 0 {
		delete(l.offers, execution)
	}
}

func (l *Local) expireOffers(now time.Time) {
	for id, offers := range l.offers {
		for node, o := range offers {
			if now.After(o.expires) {
				l.dropOffer(id, node)
			}
		}
	}
}
