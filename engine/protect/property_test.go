package protect

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// seeds runs a random test many times; a failing one names its seed.
func seeds(t *testing.T, n uint64, run func(t *testing.T, r *rand.Rand)) {
	t.Helper()
	for seed := range n {
		played(t, seed, run)
	}
}

func played(t *testing.T, seed uint64, run func(t *testing.T, r *rand.Rand)) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("with seed %d", seed)
		}
	}()
	run(t, rand.New(rand.NewPCG(seed, 1)))
}

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// TestWindowNeverGivesMore: no period of length Window has more retries than the rule
// allows, and a retry at the time of Next is allowed.
func TestWindowNeverGivesMore(t *testing.T) {
	t.Parallel()
	seeds(t, 50, func(t *testing.T, r *rand.Rand) {
		rule := WindowRule{Retries: 1 + r.IntN(8), Window: time.Duration(1+r.IntN(120)) * time.Second}
		var w Window
		var made []time.Time
		now := epoch
		for range 150 {
			now = now.Add(time.Duration(r.Int64N(int64(rule.Window) / int64(rule.Retries) * 2)))
			requested, left := r.IntN(5), w.Left(rule, now)
			var got int
			w, got = w.Take(rule, now, requested)
			require.Equal(t, min(requested, left), got, "all available retries are granted")
			for range got {
				made = append(made, now)
			}
			if got < requested {
				at := w.Next(rule, now, 1)
				require.True(t, at.After(now))
				require.Zero(t, w.Left(rule, at.Add(-1)), "not before Next")
				require.Positive(t, w.Left(rule, at), "at the time of Next")
			}
		}
		for k := rule.Retries; k < len(made); k++ {
			require.GreaterOrEqual(t, made[k].Sub(made[k-rule.Retries]), rule.Window)
		}
	})
}

// TestWindowTurns: each waiter is admitted exactly at the time that Next predicted, for
// any number of waiters.
func TestWindowTurns(t *testing.T) {
	t.Parallel()
	seeds(t, 100, func(t *testing.T, r *rand.Rand) {
		rule := WindowRule{Retries: 1 + r.IntN(5), Window: time.Minute}
		var w Window
		now := epoch
		for range r.IntN(10) {
			now = now.Add(time.Duration(r.IntN(20)) * time.Second)
			w, _ = w.Take(rule, now, 1)
		}
		before := w
		for k := 1; k <= 20; k++ {
			at := before.Next(rule, now, k)
			var got int
			w, got = w.Take(rule, at, 1)
			require.Equal(t, 1, got, "turn %d", k)
		}
	})
}

// TestBucketKeepsItsRate: over any period from the start, Take never grants more than
// the burst plus the tokens added since, and a retry at the time of Next is allowed.
func TestBucketKeepsItsRate(t *testing.T) {
	t.Parallel()
	seeds(t, 50, func(t *testing.T, r *rand.Rand) {
		rule := BucketRule{Retries: 1 + r.IntN(100), Per: time.Duration(1+r.IntN(3600)) * time.Second, Burst: 1 + r.IntN(20)}
		var b Bucket
		type taken struct {
			at time.Time
			n  int
		}
		var all []taken
		now := epoch
		for range 150 {
			now = now.Add(time.Duration(r.Int64N(int64(3 * rule.one()))))
			requested, left := r.IntN(6), b.Left(rule, now)
			var got int
			b, got = b.Take(rule, now, requested)
			require.Equal(t, min(requested, left), got)
			all = append(all, taken{now, got})
			if got < requested {
				at := b.Next(rule, now, 1)
				require.True(t, at.After(now))
				require.Positive(t, b.Left(rule, at))
				require.GreaterOrEqual(t, b.Next(rule, now, 7), at)
			}
		}
		for from := range all {
			sum := 0
			for _, x := range all[from:] {
				sum += x.n
				flowed := float64(x.at.Sub(all[from].at)) / rule.one()
				if float64(sum) > float64(rule.Burst)+flowed+1e-3 {
					t.Fatalf("%d retries were granted, but only %g tokens were added", sum, flowed)
				}
			}
		}
	})
}

func TestBudgetsWithABadClock(t *testing.T) {
	t.Parallel()
	rule := BucketRule{Retries: 10, Per: time.Minute, Burst: 2}
	b, got := Bucket{}.Take(rule, epoch, 5)
	require.Equal(t, 2, got)
	b, got = b.Take(rule, epoch.Add(-time.Hour), 5)
	require.Zero(t, got, "a clock that goes backwards adds nothing")
	_, got = b.Take(rule, epoch.Add(6*time.Second), 5)
	require.Equal(t, 1, got)
	lowered := BucketRule{Retries: 10, Per: time.Minute, Burst: 1}
	require.Equal(t, 1, Bucket{Tokens: 40, At: epoch}.Left(lowered, epoch), "a lowered burst applies at once")
}

// world simulates an operator with a breaker: attempts that start when it allows them,
// fail, succeed or vanish.
type world struct {
	b       Breaker
	rule    BreakerRule
	now     time.Time
	running map[string]time.Time // when each began
	gone    map[string]bool
	next    int
}

// TestBreakerLetsOneThrough: an open breaker blocks all starts until its time; then it
// allows one attempt, until that reports a result or is lost. No breaker blocks
// forever.
func TestBreakerLetsOneThrough(t *testing.T) {
	t.Parallel()
	opened, closed := 0, 0
	seeds(t, 100, func(t *testing.T, r *rand.Rand) {
		w := world{
			rule:    BreakerRule{Failures: 1 + r.IntN(4), Window: time.Minute, OpenFor: time.Duration(1+r.IntN(60)) * time.Second},
			now:     epoch,
			running: map[string]time.Time{}, gone: map[string]bool{},
		}
		broken := true
		for range 400 {
			w.now = w.now.Add(time.Duration(r.IntN(10)) * time.Second)
			if r.IntN(40) == 0 {
				broken = !broken
			}
			switch r.IntN(3) {
			case 0, 1:
				w.admit(t)
			case 2:
				before := w.b.state()
				w.end(t, r, broken)
				if w.b.state() != before && w.b.state() == Open {
					opened++
				}
				if w.b.state() != before && w.b.state() == Closed {
					closed++
				}
			}
		}
		// In every state: once all attempts have ended and time has passed, the next
		// one is allowed.
		for id := range w.running {
			w.gone[id] = true
		}
		w.now = w.now.Add(w.rule.OpenFor)
		_, pass, _ := w.b.Check(w.now, "last", w.gone[w.b.Trial])
		require.True(t, pass, "no attempt waits forever")
	})
	require.Positive(t, opened)
	require.Positive(t, closed, "some trials must succeed")
}

func (w *world) admit(t *testing.T) {
	t.Helper()
	id := fmt.Sprint(w.next)
	w.next++
	before := w.b
	next, pass, until := w.b.Check(w.now, id, w.gone[w.b.Trial])
	switch before.state() {
	case Closed:
		require.True(t, pass)
	case Open:
		require.Equal(t, !w.now.Before(before.Until), pass)
		if !pass {
			require.Equal(t, before.Until, until)
		}
	case HalfOpen:
		require.Equal(t, w.gone[before.Trial], pass, "one trial at a time")
	}
	if pass && before.state() != Closed {
		require.Equal(t, HalfOpen, next.State)
		require.Equal(t, id, next.Trial)
	}
	w.b = next
	if pass {
		w.running[id] = w.now
	}
}

// end ends one attempt, or loses it without a report.
func (w *world) end(t *testing.T, r *rand.Rand, broken bool) {
	t.Helper()
	for id := range w.running {
		delete(w.running, id)
		before := w.b
		switch {
		case r.IntN(10) == 0:
			w.gone[id] = true
			return
		case broken:
			w.b = w.b.Failed(w.rule, w.now, id)
		default:
			w.b = w.b.Succeeded(id)
		}
		w.gone[id] = true
		if before.state() != Closed && before.Trial != id {
			require.Equal(t, before, w.b, "attempts that began before it opened change nothing")
		}
		if before.state() == HalfOpen && before.Trial == id {
			require.NotEqual(t, HalfOpen, w.b.State)
		}
		require.LessOrEqual(t, len(w.b.Failures), w.rule.Failures)
		return
	}
}

func TestBreakerCountsWithinItsWindow(t *testing.T) {
	t.Parallel()
	rule := BreakerRule{Failures: 3, Window: time.Minute, OpenFor: time.Minute}
	b := Breaker{}
	for k := range 10 {
		b = b.Failed(rule, epoch.Add(time.Duration(k)*40*time.Second), "x")
		require.Equal(t, Closed, b.State, "three failures never come within a minute")
	}
	b = Breaker{}.Failed(rule, epoch, "x").Failed(rule, epoch, "x").Succeeded("x").Failed(rule, epoch, "x").Failed(rule, epoch, "x")
	require.Equal(t, Closed, b.State, "a success resets the count")
	b = b.Failed(rule, epoch, "x")
	require.Equal(t, Open, b.State)
	require.Equal(t, 1, b.Opened)
	b, pass, _ := b.Check(epoch.Add(time.Minute), "trial", false)
	require.True(t, pass)
	b = b.Failed(rule, epoch.Add(2*time.Minute), "trial")
	require.Equal(t, Open, b.State)
	require.Equal(t, 2, b.Opened)
	require.Equal(t, Closed, b.Reset().State)
	require.Empty(t, b.Reset().Failures)
}
