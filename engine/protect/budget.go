package protect

import (
	"math"
	"slices"
	"time"
)

// BucketRule limits the retries of a tenant: Retries per Per on average, and a Burst
// after a pause. The zero rule means no limit.
type BucketRule struct {
	Retries int
	Per     time.Duration
	Burst   int
}

// On reports whether the rule is set.
func (r BucketRule) On() bool { return r.Retries > 0 && r.Per > 0 && r.Burst > 0 }

// one is the time in which a bucket gains one token.
func (r BucketRule) one() float64 { return float64(r.Per) / float64(r.Retries) }

// Bucket is a token bucket: Tokens were left at At. The zero value is full.
type Bucket struct {
	Tokens float64
	At     time.Time
}

// at returns the bucket at a time. A clock that goes backwards adds nothing.
func (b Bucket) at(r BucketRule, now time.Time) Bucket {
	if b.At.IsZero() {
		return Bucket{Tokens: float64(r.Burst), At: now}
	}
	if now.After(b.At) {
		b.Tokens += float64(now.Sub(b.At)) / r.one()
		b.At = now
	}
	b.Tokens = min(b.Tokens, float64(r.Burst))
	return b
}

// epsilon is the tolerance for rounding errors in a number of tokens.
const epsilon = 1e-6

// Take takes up to n tokens and returns how many it got.
func (b Bucket) Take(r BucketRule, now time.Time, n int) (Bucket, int) {
	b = b.at(r, now)
	got := max(min(n, int(math.Floor(b.Tokens+epsilon))), 0)
	b.Tokens = max(b.Tokens-float64(got), 0)
	return b, got
}

// Left returns how many retries are available now.
func (b Bucket) Left(r BucketRule, now time.Time) int {
	return int(math.Floor(b.at(r, now).Tokens + epsilon))
}

// Next returns when the k-th token from now is available if no other caller takes one;
// k counts from 1.
func (b Bucket) Next(r BucketRule, now time.Time, k int) time.Time {
	b = b.at(r, now)
	missing := float64(k) - b.Tokens
	if missing <= epsilon {
		return now
	}
	return b.At.Add(time.Duration(math.Ceil(missing * r.one())))
}

// WindowRule limits the retries of a workflow in any period of length Window. The zero
// rule means no limit.
type WindowRule struct {
	Retries int
	Window  time.Duration
}

// MaxWindowRetries bounds WindowRule.Retries: a Window keeps the time of each.
const MaxWindowRetries = 1000

// On reports whether the rule is set.
func (r WindowRule) On() bool { return r.Retries > 0 && r.Window > 0 }

// Window holds the times of the latest retries, the oldest first.
type Window []time.Time

// live returns the times that still count.
func (w Window) live(r WindowRule, now time.Time) Window {
	w = slices.DeleteFunc(slices.Clone(w), func(t time.Time) bool { return now.Sub(t) >= r.Window })
	return w[max(len(w)-r.Retries, 0):]
}

// Take records up to n retries now and returns how many were allowed.
func (w Window) Take(r WindowRule, now time.Time, n int) (Window, int) {
	w = w.live(r, now)
	got := max(min(n, r.Retries-len(w)), 0)
	for range got {
		w = append(w, now)
	}
	return w, got
}

// Left returns how many retries are available now.
func (w Window) Left(r WindowRule, now time.Time) int { return r.Retries - len(w.live(r, now)) }

// Next returns when the k-th retry from now is allowed if no other caller retries; k
// counts from 1.
func (w Window) Next(r WindowRule, now time.Time, k int) time.Time {
	w = w.live(r, now)
	free := r.Retries - len(w)
	if k <= free {
		return now
	}
	turn, place := (k-1)/r.Retries, (k-1)%r.Retries
	if place < free { // free now, and again a window later
		return now.Add(time.Duration(turn) * r.Window)
	}
	return w[place-free].Add(time.Duration(turn+1) * r.Window)
}
