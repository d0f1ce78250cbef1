package execution

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/compute/launcher"
)

// starter submits attempts to the launcher in parallel to the loop, so that writing the next
// batch does not wait for it. After an error a start may or may not have been carried out;
// the loop then decides about it (startAgain).
type starter struct {
	driver    *Driver
	execution uuid.UUID
	cancel    context.CancelFunc
	done      chan struct{}
	signal    chan struct{}

	mu      sync.Mutex
	nodes   []int
	pending []launcher.Attempt // of nodes
	stops   []launcher.Ref
	working bool
}

const (
	firstStartRetry = 20 * time.Millisecond
	lastStartRetry  = time.Second
)

func newStarter(s *Driver, execution uuid.UUID) *starter {
	ctx, cancel := context.WithCancel(context.Background())
	st := &starter{driver: s, execution: execution, cancel: cancel, done: make(chan struct{}), signal: make(chan struct{}, 1)}
	go st.run(ctx)
	return st
}

// start adds the attempt of a node; wake triggers the submission.
func (st *starter) start(node int, attempt launcher.Attempt) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.nodes = append(st.nodes, node)
	st.pending = append(st.pending, attempt)
}

// stop adds attempts that are to end. Attempts that still wait to be started are started
// first, so that every attempt has an end to report; attempts that still wait for their
// submission to a cluster end immediately.
func (st *starter) stop(refs []launcher.Ref) {
	st.mu.Lock()
	never := st.withdraw(refs)
	st.stops = append(st.stops, refs...)
	st.mu.Unlock()
	for _, a := range never {
		if id, ok := parseTaskID(a.GetTaskId()); ok {
			st.driver.neverStarted(id)
		}
	}
	st.wake()
}

// withdraw removes pending attempts in refs that a cluster has not received: it avoids
// creating pods only to delete them. The caller holds the lock.
func (st *starter) withdraw(refs []launcher.Ref) (never []launcher.Attempt) {
	if !st.driver.config.Cluster || len(st.pending) == 0 {
		return nil
	}
	stopped := make(map[string]bool, len(refs))
	for _, r := range refs {
		stopped[r.TaskID] = true
	}
	var nodes []int
	var pending []launcher.Attempt
	for k, a := range st.pending {
		if stopped[a.GetTaskId()] {
			never = append(never, a)
			continue
		}
		nodes, pending = append(nodes, st.nodes[k]), append(pending, a)
	}
	st.nodes, st.pending = nodes, pending
	return never
}

func (st *starter) wake() {
	select {
	case st.signal <- struct{}{}:
	default:
	}
}

// busy reports whether attempts are still to be started or stopped.
func (st *starter) busy() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.working || len(st.pending) > 0 || len(st.stops) > 0
}

func (st *starter) take() (nodes []int, attempts []launcher.Attempt, stops []launcher.Ref) {
	st.mu.Lock()
	defer st.mu.Unlock()
	n := len(st.pending)
	if st.driver.config.Cluster {
		n = min(n, startChunk)
	}
	nodes, attempts, stops = st.nodes[:n:n], st.pending[:n:n], st.stops
	st.nodes, st.pending, st.stops = st.nodes[n:], st.pending[n:], nil
	st.working = len(attempts) > 0 || len(stops) > 0
	return nodes, attempts, stops
}

// close waits for the call in progress.
func (st *starter) close() {
	st.cancel()
	<-st.done
}

func (st *starter) run(ctx context.Context) {
	defer close(st.done)
	for {
		select {
		case <-ctx.Done():
			return
		case <-st.signal:
		}
		for {
			nodes, attempts, stops := st.take()
			if len(attempts) == 0 && len(stops) == 0 {
				break
			}
			st.startAll(ctx, nodes, attempts)
			if len(stops) > 0 && !st.stopAll(ctx, stops) {
				return
			}
		}
	}
}

func (st *starter) startAll(ctx context.Context, nodes []int, attempts []launcher.Attempt) {
	if len(attempts) == 0 {
		return
	}
	config := st.driver.config
	config.Crash("start.begin")
	if unreachable, err := st.driver.submit(ctx, st.execution, attempts); err != nil {
		if ctx.Err() != nil { // the loop ends; the next one starts them again
			return
		}
		config.Meter.Count(MeterLauncherError, "start", 1)
		config.Logger.Warn("start attempts", "execution", st.execution, "count", len(attempts), "error", err)
		st.driver.live.post(st.execution, message{retry: nodes, unreachable: unreachable})
		return
	}
	config.Crash("start.done")
}

// stopAll repeats the call until the launcher has answered; it reports false when the loop
// ended before. Stopping twice is harmless.
func (st *starter) stopAll(ctx context.Context, stops []launcher.Ref) bool {
	config := st.driver.config
	for delay := firstStartRetry; ; delay = min(2*delay, lastStartRetry) {
		err := config.Launcher.Stop(ctx, stops, config.Timing.StopGrace)
		if err == nil {
			config.Crash("stop.done")
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		config.Meter.Count(MeterLauncherError, "stop", 1)
		config.Logger.Warn("stop attempts", "execution", st.execution, "count", len(stops), "error", err)
		select {
		case <-ctx.Done():
			return false
		case <-time.After(delay):
		}
	}
}
