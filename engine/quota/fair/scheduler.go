package fair

import (
	"bytes"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Config configures a Scheduler. Tree is required, and so is Wake when requests can
// wait.
type Config struct {
	Tree *Tree
	// Wake is called when an execution has an offer, which it claims with Admit. Wake
	// must not block or call the Scheduler.
	Wake func(execution uuid.UUID)
	Now  func() time.Time
	// ReserveAfter is how long smaller requests may overtake one that does not fit: 30 s.
	ReserveAfter time.Duration
	// OfferTTL is how long an offer is valid: 10 s.
	OfferTTL time.Duration
	// HalfLife is the half-life of past use: 168 h.
	HalfLife time.Duration
	// HistoryWeight is the weight of past use in a share, the rest is current use: 0.5.
	// Negative: ignore history.
	HistoryWeight float64
	// EntryPenalty is the time charged in advance for every start: 1 min. Negative:
	// none.
	EntryPenalty time.Duration
	// IdleAfter is how long a guarantee must be unused to count as idle: 1 h.
	IdleAfter time.Duration
}

func (c Config) withDefaults() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Wake == nil {
		c.Wake = func(uuid.UUID) {}
	}
	if c.ReserveAfter == 0 {
		c.ReserveAfter = 30 * time.Second
	}
	if c.OfferTTL == 0 {
		c.OfferTTL = 10 * time.Second
	}
	if c.HalfLife == 0 {
		c.HalfLife = 7 * 24 * time.Hour
	}
	if c.HistoryWeight == 0 {
		c.HistoryWeight = 0.5
	}
	if c.EntryPenalty == 0 {
		c.EntryPenalty = time.Minute
	}
	if c.IdleAfter == 0 {
		c.IdleAfter = time.Hour
	}
	return c
}

// Scheduler shares the capacity of a cluster among the projects of a tree. The table of
// reservations is the source of truth; Scheduler is its image in memory, filled by
// Restore at start. It is safe for concurrent use.
//
// A refused request stays in the queue. Freed capacity is reserved for the next request
// in the queue as an offer, and its execution is woken. No execution polls, and no
// other request can claim an offer.
type Scheduler struct {
	config Config

	mu            sync.Mutex
	state         *state
	machines      []Machine
	recentlyEnded endedReservations // for Undo and Refresh
	changes       int               // incremented by every change, for caches
	positions     admissionOrder
}

// NewScheduler returns a Scheduler without reservations.
func NewScheduler(c Config) *Scheduler {
	c = c.withDefaults()
	now := c.Now()
	levels := len(c.Tree.levels)
	return &Scheduler{
		config: c, recentlyEnded: endedReservations{young: map[Key]released{}, rotatedAt: now},
		state: &state{
			reserveAfter: c.ReserveAfter, offerTTL: c.OfferTTL, now: now,
			ledger: NewLedger(c.Tree), empty: newFullCapacityLedger(c.Tree), queue: newQueue(),
			history: newHistory(c.HalfLife, max(0, c.HistoryWeight), max(0, c.EntryPenalty), levels, now),
			idle:    newIdleness(levels, now),
			held:    map[uuid.UUID]map[int]*holding{}, offers: map[uuid.UUID]map[int]*offer{},
			covered: map[Key][]Key{}, missed: map[Key]missedOffer{},
		},
	}
}

// update changes the state under the lock, offers the freed capacity to executions
// other than self, and wakes them.
func (s *Scheduler) update(self uuid.UUID, change func(*state)) {
	s.mu.Lock()
	s.state.tick(s.config.Now())
	change(s.state)
	woken := s.state.distribute(self)
	s.changes++
	s.mu.Unlock()
	for _, id := range woken {
		s.config.Wake(id)
	}
}

// SetTree replaces the tree. Reservations stay, even above new limits.
func (s *Scheduler) SetTree(t *Tree) {
	s.update(uuid.Nil, func(st *state) { st.rebuild(t, s.machines) })
}

// Tree returns the current tree.
func (s *Scheduler) Tree() *Tree {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.tree()
}

// SetMachines replaces the machines with GPUs. Without machines, the cluster places
// GPUs and only the tree limits them.
func (s *Scheduler) SetMachines(machines []Machine) {
	s.update(uuid.Nil, func(st *state) {
		s.machines = slices.Clone(machines)
		st.rebuild(st.tree(), s.machines)
	})
}

// SetUsage replaces the use other than reservations: storage, and the use by other
// schedulers. Each amount counts at its level and at all levels above it.
func (s *Scheduler) SetUsage(usage map[uuid.UUID]Vector) {
	s.update(uuid.Nil, func(st *state) {
		for id, v := range st.usage {
			st.ledger.Subtract(id, v)
		}
		st.usage = make(map[uuid.UUID]Vector, len(usage))
		for id, v := range usage {
			st.usage[id] = Vector{}.Plus(v)
			st.ledger.Add(id, v)
		}
	})
}

// WithdrawAll removes the requests and offers of an execution and returns their keys. No
// node of it begins until it makes new requests.
func (s *Scheduler) WithdrawAll(execution uuid.UUID) (keys []Key) {
	s.update(uuid.Nil, func(st *state) {
		for node := range st.queue.entries[execution] {
			keys = append(keys, Key{execution, node})
		}
		for node := range st.offers[execution] {
			keys = append(keys, Key{execution, node})
		}
		for key := range st.missed {
			if key.Execution == execution {
				keys = append(keys, key)
			}
		}
		for _, key := range keys {
			st.withdraw(key)
		}
	})
	slices.SortFunc(keys, compareKeys)
	return keys
}

// WaitingExecutions returns the executions with waiting requests or offers.
func (s *Scheduler) WaitingExecutions() []uuid.UUID {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[uuid.UUID]struct{}{}
	for id := range s.state.queue.entries {
		all[id] = struct{}{}
	}
	for id := range s.state.offers {
		all[id] = struct{}{}
	}
	for key := range s.state.missed {
		all[key.Execution] = struct{}{}
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
}

// Restore sets the reservations to held, the live ones, at start.
func (s *Scheduler) Restore(held []Held) { s.Refresh(time.Time{}, held) }

// Refresh is Restore while grants and releases are in progress: grants and releases
// made here at or after asOf are newer than held and stay. Pass the time of the read
// minus the longest transaction. The zero time trusts only held.
func (s *Scheduler) Refresh(asOf time.Time, held []Held) {
	newer := func(at time.Time) bool { return !asOf.IsZero() && !at.Before(asOf) }
	s.update(uuid.Nil, func(st *state) {
		known := make(map[Key]struct{}, len(held))
		for _, h := range held {
			known[h.Key] = struct{}{}
			st.supersede(h)
			if r, ok := s.recentlyEnded.find(h.Key); ok && newer(r.at) && !h.Granted.After(r.at) {
				continue
			}
			if now := st.held[h.Execution][h.Node]; now == nil || !newer(now.Granted) {
				st.restore(h)
			}
		}
		for _, nodes := range st.held {
			for _, h := range nodes {
				if _, ok := known[h.Key]; !ok && !newer(h.Granted) {
					st.release(h.Key)
				}
			}
		}
	})
}

// Admit releases the reservations of release, then grants what it can of want and of
// earlier refused requests of the same execution. It refuses the rest, which stays in
// the queue. The caller writes granted reservations and calls Undo when its transaction
// does not commit.
func (s *Scheduler) Admit(execution uuid.UUID, release []int, want []Request) (granted []Grant, refused []Refusal) {
	s.mu.Lock()
	st := s.state
	st.tick(s.config.Now())
	for _, node := range release {
		if h := st.release(Key{execution, node}); h != nil {
			s.recentlyEnded.young[h.Key] = released{h.Held, st.now}
		}
	}
	st.requeueMissed(execution)
	for _, r := range want {
		st.want(r)
	}
	st.expire()
	woken := st.distribute(execution)
	granted = st.grant(execution)
	s.changes++
	refused = s.refuse(want)
	s.mu.Unlock()
	for _, id := range woken {
		s.config.Wake(id)
	}
	return granted, refused
}

// Undo reverts an Admit whose transaction did not commit: release and granted are those
// of the Admit.
func (s *Scheduler) Undo(execution uuid.UUID, release []int, granted []Grant) {
	s.update(uuid.Nil, func(st *state) {
		for _, g := range granted {
			st.release(g.Key)
		}
		for _, node := range release {
			key := Key{execution, node}
			if r, ok := s.recentlyEnded.find(key); ok {
				s.recentlyEnded.forget(key)
				st.hold(r.Held)
			}
		}
	})
}

// Withdraw removes the waiting requests of an execution: of all its nodes when nodes is
// nil. Its reservations stay.
func (s *Scheduler) Withdraw(execution uuid.UUID, nodes []int) {
	if nodes == nil {
		s.WithdrawAll(execution)
		return
	}
	s.update(uuid.Nil, func(st *state) {
		for _, node := range nodes {
			st.withdraw(Key{execution, node})
		}
	})
}

// Sweep withdraws offers that were not claimed in time. Call it every second or so.
func (s *Scheduler) Sweep() {
	s.update(uuid.Nil, func(st *state) {
		st.expire()
		s.recentlyEnded.rotate(st.now)
	})
}

// SetHistory sets the decayed use at a time, for the given levels.
func (s *Scheduler) SetHistory(at time.Time, history map[uuid.UUID]map[Resource]float64) {
	s.update(uuid.Nil, func(st *state) { st.shares().setPastUse(at, history) })
}

// History returns the decayed use of every level now, to preserve it across restarts.
func (s *Scheduler) History() (at time.Time, history map[uuid.UUID]map[Resource]float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.tick(s.config.Now())
	return s.state.history.at, s.state.shares().pastUse()
}

// HeldBy returns the reservations at or below a level, largest first; those of the
// whole cluster for uuid.Nil.
func (s *Scheduler) HeldBy(level uuid.UUID) []Held {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.heldBy(level)
}
