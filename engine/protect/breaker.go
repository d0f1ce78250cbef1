package protect

import (
	"slices"
	"time"
)

// BreakerRule specifies when a breaker opens and for how long. The zero rule is off.
type BreakerRule struct {
	Failures int           // within Window, without a success between them
	Window   time.Duration // from the first of them to the last
	OpenFor  time.Duration // until one trial attempt may start
}

// On reports whether the rule is set.
func (r BreakerRule) On() bool { return r.Failures > 0 }

// BreakerState is the state of a breaker.
type BreakerState string

// The states. docs/states.md draws the transitions.
const (
	Closed   BreakerState = "closed"    // everything starts
	Open     BreakerState = "open"      // nothing starts
	HalfOpen BreakerState = "half_open" // one trial attempt started; nothing else starts
)

// Breaker blocks attempts of an operator that fails repeatedly. The zero value is
// closed. Its methods return the next state and change nothing.
type Breaker struct {
	State    BreakerState
	Failures []time.Time // since the last success, the oldest first; at most as many as the rule requires
	OpenedAt time.Time   // when it opened last
	Until    time.Time   // while it is open, when one trial attempt may start
	Trial    string      // while it is half open, the holder of the trial
	Opened   int         // how often it opened since the last success
}

// Failed records that an attempt of holder failed at now. Failures of attempts that
// began before the breaker opened are ignored; only the trial counts.
func (b Breaker) Failed(r BreakerRule, now time.Time, holder string) Breaker {
	switch b.state() {
	case HalfOpen:
		if b.Trial == holder {
			return b.open(r, now)
		}
	case Open:
	case Closed:
		failures := slices.Clone(b.Failures)
		failures = append(slices.DeleteFunc(failures, func(t time.Time) bool { return now.Sub(t) > r.Window }), now)
		b.State, b.Failures = Closed, failures
		if len(failures) >= r.Failures {
			return b.open(r, now)
		}
	}
	return b
}

func (b Breaker) open(r BreakerRule, now time.Time) Breaker {
	return Breaker{State: Open, Failures: b.Failures, OpenedAt: now, Until: now.Add(r.OpenFor), Opened: b.Opened + 1}
}

// Succeeded records that an attempt of holder succeeded.
func (b Breaker) Succeeded(holder string) Breaker {
	switch b.state() {
	case HalfOpen:
		if b.Trial == holder {
			return Breaker{State: Closed, OpenedAt: b.OpenedAt}
		}
	case Open:
	case Closed:
		b.State, b.Failures = Closed, nil
	}
	return b
}

// Check reports whether an attempt of holder may start now, and if not, the time of the
// next request; zero means after the trial. gone means that the holder of the trial
// will never report a result.
func (b Breaker) Check(now time.Time, holder string, gone bool) (next Breaker, pass bool, until time.Time) {
	switch b.state() {
	case Open:
		if now.Before(b.Until) {
			return b, false, b.Until
		}
		b.State, b.Trial = HalfOpen, holder
		return b, true, time.Time{}
	case HalfOpen:
		if b.Trial == holder {
			return b, true, time.Time{}
		}
		if gone {
			b.Trial = holder
			return b, true, time.Time{}
		}
		return b, false, time.Time{}
	case Closed:
	}
	return b, true, time.Time{}
}

// Reset closes the breaker.
func (b Breaker) Reset() Breaker { return Breaker{State: Closed, OpenedAt: b.OpenedAt} }

func (b Breaker) state() BreakerState {
	if b.State == "" {
		return Closed
	}
	return b.State
}

// Counts reports whether a failure of class c is caused by the operator rather than by
// the machines.
func (c Class) Counts() bool {
	switch c {
	case UserError, OutOfMemory, Image, Start, Timeout, Network:
		return true
	case Preempted, NodeLost, "":
	}
	return false
}
