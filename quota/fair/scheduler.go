package fair

import (
	"sync"
	"time"

	"github.com/google/uuid"
)

// Config configures a Scheduler. Tree is required; Wake too when requests wait.
type Config struct {
	Tree *Tree
	// Wake is told that an execution has an offer, and takes it by Admit. It
	// must not block and not call the Scheduler.
	Wake func(execution uuid.UUID)
	Now  func() time.Time
	// Patience is how long smaller requests may pass one that does not fit: 30 s.
	Patience time.Duration
	// OfferTTL is how long an offer stands: 10 s.
	OfferTTL time.Duration
	// HalfLife is after how long past use counts half: 168 h.
	HalfLife time.Duration
	// HistoryWeight is the part of past use in a share, the rest is present
	// use: 0.5. Negative: history does not count.
	HistoryWeight float64
	// EntryPenalty is the time that every start is charged in advance: 1 min.
	// Negative: none.
	EntryPenalty time.Duration
	// IdleAfter is how long a guarantee has to be unused to be called idle: 1 h.
	IdleAfter time.Duration
}

// Scheduler shares the capacity of a cluster among the projects of a tree. The
// truth is the table of reservations; Scheduler is its image in memory, filled
// by Restore at start. It is safe for concurrent use.
//
// A refused request stays in the queue. Capacity that comes free is set aside
// for the next in the queue as an offer, and the execution it belongs to is
// woken; so nobody polls and nobody takes an offer away.
type Scheduler struct {
	config Config

	mu sync.Mutex
}

// NewScheduler returns a Scheduler of which everything is free.
func NewScheduler(c Config) *Scheduler { return &Scheduler{config: c} }

// SetTree replaces the tree. What is held stays held, even above new limits.
func (s *Scheduler) SetTree(*Tree) {}

// Tree returns the present tree.
func (s *Scheduler) Tree() *Tree { return s.config.Tree }

// SetMachines replaces the machines with GPUs. Without machines somebody else
// places GPUs and the tree alone limits them.
func (s *Scheduler) SetMachines([]Machine) {}

// SetUsage replaces what is used beside what is held: storage, and what other
// schedulers hold. Each amount counts at its level and at all above it.
func (s *Scheduler) SetUsage(map[uuid.UUID]Vector) {}

// Restore replaces what is held by held, the live reservations, at start.
func (s *Scheduler) Restore([]Held) {}

// Refresh is Restore while grants and releases are under way: what was granted
// or released here at or after asOf is newer than held and stays as it is. Give
// the time of the read minus the longest a transaction may take.
func (s *Scheduler) Refresh(asOf time.Time, held []Held) {}

// Admit gives back what release holds, then grants what it can of want and of
// the earlier refused requests of the same execution, and refuses the rest,
// which stays in the queue. The caller writes granted reservations and calls
// Undo when its transaction does not commit.
func (s *Scheduler) Admit(execution uuid.UUID, release []int, want []Request) (granted []Grant, refused []Refusal) {
	return nil, nil
}

// Undo takes back an Admit whose transaction did not commit.
func (s *Scheduler) Undo(execution uuid.UUID, release []int, granted []Grant) {}

// Withdraw removes the waiting requests of an execution: of all its nodes when
// nodes is nil. What it holds stays held.
func (s *Scheduler) Withdraw(execution uuid.UUID, nodes []int) {}

// Sweep withdraws offers that nobody took in time. Call it every second or so.
func (s *Scheduler) Sweep() {}

// Position returns the present place of a waiting node, 1 is next, or 0 when it
// does not wait here.
func (s *Scheduler) Position(Key) int { return 0 }

// NeverFits returns why an amount can never start in a project, whatever ends,
// or nil.
func (s *Scheduler) NeverFits(Request) *Reason { return nil }

// Forecast says what would happen if requests were made now. It changes nothing.
func (s *Scheduler) Forecast([]Request) Forecast { return Forecast{} }

// Victims returns the attempts to stop now so that requests within their
// guarantee start, and marks them as ending.
func (s *Scheduler) Victims() []Victim { return nil }

// Excess returns the attempts to stop so that no level is above its ceiling, as
// it is after a limit was lowered, and marks them as ending.
func (s *Scheduler) Excess() []Victim { return nil }

// Spare takes the mark of Victims or Excess away: they are not stopped after all.
func (s *Scheduler) Spare([]Key) {}

// Preview says what edits would do. Its errors are those of NewTree.
func (s *Scheduler) Preview([]Edit) (Preview, error) { return Preview{}, nil }

// Queue returns waiting requests in the order of admission.
func (s *Scheduler) Queue(Filter) []Waiting { return nil }

// Why returns the present reason of a waiting node with all its numbers, or
// false when it does not wait here.
func (s *Scheduler) Why(Key) (Reason, bool) { return Reason{}, false }

// HeldBy returns what is held at or below a level, largest first; of the whole
// cluster for uuid.Nil.
func (s *Scheduler) HeldBy(level uuid.UUID) []Held { return nil }

// Snapshot returns the state of the tree for pages.
func (s *Scheduler) Snapshot() Snapshot { return Snapshot{} }

// SetHistory sets decayed use as it was at a time, for the levels given.
func (s *Scheduler) SetHistory(at time.Time, history map[uuid.UUID]map[Resource]float64) {}

// History returns the decayed use of every level now, to keep over restarts.
func (s *Scheduler) History() (at time.Time, history map[uuid.UUID]map[Resource]float64) {
	return time.Time{}, nil
}
