package execution

import (
	"context"
	"sync"
	"time"

	"github.com/flowforge/flowforge/launcher"
)

// starter hands attempts to the launcher beside the loop, so that writing the
// next batch does not wait for it. It retries for as long as the loop lives;
// an attempt that nobody started is started by the next loop.
type starter struct {
	service *Service
	cancel  context.CancelFunc
	done    chan struct{}

	mu      sync.Mutex
	pending []launcher.Attempt
	stops   []launcher.Ref
	working bool
	signal  chan struct{}
}

const (
	firstStartRetry = 20 * time.Millisecond
	lastStartRetry  = time.Second
)

func newStarter(s *Service) *starter {
	ctx, cancel := context.WithCancel(context.Background())
	st := &starter{service: s, cancel: cancel, done: make(chan struct{}), signal: make(chan struct{}, 1)}
	go st.run(ctx)
	return st
}

// start takes attempts; it does not block.
func (st *starter) start(attempts []launcher.Attempt) {
	if len(attempts) == 0 {
		return
	}
	st.mu.Lock()
	st.pending = append(st.pending, attempts...)
	st.mu.Unlock()
	st.ring()
}

// stop takes attempts that are to end; those that still wait to be started are
// started first, so that every attempt has an end to report.
func (st *starter) stop(refs []launcher.Ref) {
	st.mu.Lock()
	st.stops = append(st.stops, refs...)
	st.mu.Unlock()
	st.ring()
}

func (st *starter) ring() {
	select {
	case st.signal <- struct{}{}:
	default:
	}
}

// busy reports whether attempts are still to be started.
func (st *starter) busy() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.working || len(st.pending) > 0 || len(st.stops) > 0
}

func (st *starter) take() ([]launcher.Attempt, []launcher.Ref) {
	st.mu.Lock()
	defer st.mu.Unlock()
	attempts, stops := st.pending, st.stops
	st.pending, st.stops = nil, nil
	st.working = len(attempts) > 0 || len(stops) > 0
	return attempts, stops
}

// close waits for the call that is under way, not for retries.
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
			attempts, stops := st.take()
			if len(attempts) == 0 && len(stops) == 0 {
				break
			}
			if !st.persist(ctx, attempts, stops) {
				return
			}
		}
	}
}

// persist carries both out, however often the launcher has to be asked. It
// reports false when the loop ended before.
func (st *starter) persist(ctx context.Context, attempts []launcher.Attempt, stops []launcher.Ref) bool {
	config := st.service.config
	for delay := firstStartRetry; ; delay = min(2*delay, lastStartRetry) {
		var err error
		if len(attempts) > 0 {
			config.Crash("start.begin")
			if err = config.Launcher.Start(ctx, attempts); err == nil {
				config.Crash("start.done")
				attempts = nil
			}
		}
		if len(attempts) == 0 && len(stops) > 0 {
			if err = config.Launcher.Stop(ctx, stops, config.Timing.StopGrace); err == nil {
				config.Crash("stop.done")
				stops = nil
			}
		}
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		config.Logger.Warn("reach the launcher", "starts", len(attempts), "stops", len(stops), "error", err)
		select {
		case <-ctx.Done():
			return false
		case <-time.After(delay):
		}
	}
}
