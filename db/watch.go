package db

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// Safety is the maximum time between two passes of a loop that rests with a Watch.
	Safety = 30 * time.Second

	watchEvery = 250 * time.Millisecond
	watchLimit = 5 * time.Second // of one statement
	clockStep  = time.Second     // a clock that moved by more was set
)

// Watch wakes loops when there can be new work: after a transaction that wrote has ended, in any
// process. One statement per interval replaces those of all loops
// (docs/decisions/051-idle-loops.md). With a nil Watch, loops use their own intervals.
type Watch struct {
	pool *pgxpool.Pool
	log  *slog.Logger

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each change
	resting int
}

// NewWatch returns a Watch of a database; call Run.
func NewWatch(pool *pgxpool.Pool, log *slog.Logger) *Watch {
	return &Watch{pool: pool, log: log, changed: make(chan struct{})}
}

// Run watches until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	ticks := time.NewTicker(watchEvery)
	defer ticks.Stop()
	before, known, at := snapshot{}, false, time.Now()
	for {
		now, err := w.read(ctx)
		read := time.Now()
		if err != nil && known && ctx.Err() == nil {
			w.log.Warn("changes in the database cannot be watched; retrying", "error", err)
		}
		// What ended during a failure is unknown, and what is due changes with the clock.
		if err == nil && (!known || now.follows(before)) || stepped(read.Round(0).Sub(at.Round(0)), read.Sub(at)) {
			w.Announce()
		}
		before, known, at = now, err == nil, read
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
	}
}

// Announce ends the rest of all loops, as a change does.
func (w *Watch) Announce() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.changed)
	w.changed = make(chan struct{})
}

// Resting returns how many loops are idle.
func (w *Watch) Resting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.resting
}

func (w *Watch) rests(change int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.resting += change
}

// stepped reports whether the clock was set, by the time that passed on it and the time that passed.
func stepped(clock, passed time.Duration) bool { return (clock - passed).Abs() > clockStep }

// readSnapshot returns the snapshot, and the transactions that wrote the rows of leaders last. Leaders
// renew their leases while nothing else happens, in transactions that write nothing else.
const readSnapshot = `SELECT pg_current_snapshot()::text, ARRAY(SELECT xmin::text FROM leases UNION ALL SELECT xmin::text FROM river_leader)`

func (w *Watch) read(ctx context.Context) (snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, watchLimit)
	defer cancel()
	var text string
	var renewals []string
	if err := w.pool.QueryRow(ctx, readSnapshot).Scan(&text, &renewals); err != nil {
		return snapshot{}, fmt.Errorf("read the snapshot: %w", err)
	}
	return parseSnapshot(text, renewals)
}

// snapshot is the set of transactions that had ended at a time: those before next, without running.
type snapshot struct {
	next     uint64
	running  []uint64
	renewals []uint32 // transactions that only renewed a lease
}

// parseSnapshot parses "xmin:xmax:xip,xip".
func parseSnapshot(text string, renewals []string) (s snapshot, err error) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return s, fmt.Errorf("snapshot %q has no three parts", text)
	}
	if s.next, err = strconv.ParseUint(parts[1], 10, 64); err != nil {
		return s, fmt.Errorf("snapshot %q: %w", text, err)
	}
	for id := range strings.SplitSeq(parts[2], ",") {
		if id == "" {
			continue
		}
		n, err := strconv.ParseUint(id, 10, 64)
		if err != nil {
			return s, fmt.Errorf("snapshot %q: %w", text, err)
		}
		s.running = append(s.running, n)
	}
	for _, id := range renewals {
		n, err := strconv.ParseUint(id, 10, 32)
		if err != nil {
			return s, fmt.Errorf("transaction %q: %w", id, err)
		}
		s.renewals = append(s.renewals, uint32(n))
	}
	return s, nil
}

// follows reports whether a transaction that may have changed something ended after before and up to
// s.
func (s snapshot) follows(before snapshot) bool {
	if s.next < before.next { // another server, or a restored one
		return true
	}
	ended := func(id uint64) bool {
		return !slices.Contains(s.running, id) && !slices.Contains(s.renewals, uint32(id)) //nolint:gosec // rows have the lower half
	}
	if slices.ContainsFunc(before.running, ended) {
		return true
	}
	for id := before.next; id < s.next; id++ {
		if ended(id) {
			return true
		}
	}
	return false
}

// Turn is one pass of a loop. Begin it before the loop looks for work, and end it with Rest.
type Turn struct {
	watch   *Watch // nil: there is none
	changed <-chan struct{}
}

// Turn begins a pass: changes from now on end the rest that follows.
func (w *Watch) Turn() Turn {
	if w == nil {
		return Turn{}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return Turn{w, w.changed}
}

// Rest waits until it is time for the next pass: after a change, but not before every has passed, and
// at the latest after most. Without a watch, it waits for every. It returns at once when ctx ends or
// wake has a value, and reports the latter.
func (t Turn) Rest(ctx context.Context, wake <-chan struct{}, every, most time.Duration) (woken bool) {
	every = min(every, most)
	if most == Safety {
		// Loops that begin to rest after the same change poll at different times, so that one connection
		// is enough for them, and the pool closes the others.
		most -= rand.N(Safety / 4) //nolint:gosec // no secret
	}
	if t.watch == nil {
		most = every
	} else {
		t.watch.rests(1)
		defer t.watch.rests(-1)
	}
	began := time.Now()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-wake:
		return true
	case <-timer.C:
		return false
	case <-t.changed:
	}
	timer.Reset(max(every-time.Since(began), 0))
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-wake:
		return true
	}
	return false
}

// RestUntil is how long a loop is idle at most if something is due at a time: at least least, because
// what is due and cannot be done is retried, and at most Safety. Nothing is due at nil.
func RestUntil(due *time.Time, now time.Time, least time.Duration) time.Duration {
	if due == nil {
		return Safety
	}
	return min(max(due.Sub(now), least), Safety)
}
