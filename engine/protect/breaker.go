package protect

import (
	"slices"
	"time"
)

// BreakerRule says when a breaker opens and for how long. The zero rule is none.
type BreakerRule struct {
	Failures int           // within Window, without a success between them
	Window   time.Duration // from the first of them to the last
	OpenFor  time.Duration // before one attempt is let through to see
}

// On reports whether the rule is one.
func (r BreakerRule) On() bool { return r.Failures > 0 }

// BreakerState is where a breaker stands.
type BreakerState string

// The states. docs/states.md draws the transitions.
const (
	Closed   BreakerState = "closed"    // everything starts
	Open     BreakerState = "open"      // nothing starts
	HalfOpen BreakerState = "half_open" // one attempt was let through; nothing else starts
)

// Breaker withholds the starts of an operator that fails time and again. The zero
// value is closed. Its methods return the next state and change nothing.
type Breaker struct {
	State    BreakerState
	Failures []time.Time // since the last success, the oldest first; at most what the rule asks for
	OpenedAt time.Time   // when it opened last
	Until    time.Time   // when one attempt is let through, while it is open
	Trial    string      // who was let through, while it is half open
	Opened   int         // how often it opened without a success between
}

// Failed notes that an attempt of holder failed at a time. What began before the
// breaker opened says nothing new; only the trial does.
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

// Succeeded notes that an attempt of holder succeeded.
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

// Ask answers whether an attempt of holder may start now, and if not until when it
// should not ask again; zero is as long as the trial takes. gone says that whoever was
// let through will never say how it went.
func (b Breaker) Ask(now time.Time, holder string, gone bool) (next Breaker, pass bool, until time.Time) {
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

// Counts reports whether a failure of class c says something about the operator, and
// not about the machines that it runs on.
func (c Class) Counts() bool {
	switch c {
	case UserError, OutOfMemory, Image, Start, Timeout, Network:
		return true
	case Preempted, NodeLost, "":
	}
	return false
}
