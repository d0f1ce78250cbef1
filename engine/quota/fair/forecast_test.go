package fair

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// steady gives all requests a history with the duration d.
func steady(d time.Duration) func(*Request) {
	return func(r *Request) { r.Expected = Estimate{d * 8 / 10, d, d * 15 / 10, 61} }
}

func TestForecast(t *testing.T) {
	t.Parallel()
	b := shared(t)
	forecast := func(project string, n int) Forecast {
		r := b.request(project, uuid.New(), 0, Amount{GPUs: n})
		steady(time.Minute)(&r)
		return b.Forecast([]Request{r})
	}
	require.Equal(t, Forecast{Verdict: FitsNow, Message: "Fits now."}, forecast(vision, 12))
	never := forecast(vision, 16)
	require.Equal(t, NeverFits, never.Verdict)
	require.Equal(t, "Cannot run here: requests 16 GPUs; the limit of team vision is 12, including borrowing.", never.Message)

	b.fill(ranking, 4, steady(time.Hour))
	b.fill(vision, 8, steady(20*time.Minute))
	b.clock.pass(8 * time.Minute)
	for range 3 {
		r := b.request(vision, uuid.New(), 0, Amount{GPUs: 1})
		steady(10 * time.Minute)(&r)
		b.Admit(r.Execution, nil, []Request{r})
	}
	b.clock.pass(time.Second)
	f := forecast(vision, 8)
	require.Equal(t, WouldWait, f.Verdict)
	require.Equal(t, "Would wait about 22 min behind 3 jobs (GPUs).", f.Message)
	require.Equal(t, 3, f.Ahead)
	require.Equal(t, 61, f.Basis)
	require.WithinDuration(t, b.clock.now.Add(16*time.Minute), *f.StartsFrom, time.Minute)
	require.WithinDuration(t, b.clock.now.Add(37*time.Minute), *f.StartsTo, time.Minute)
	require.Equal(t, QuotaExceeded, f.Reason.Code, "its team has 4 left, regardless of the cluster")
	require.Len(t, b.Queue(Filter{}), 3, "a forecast changes nothing")

	within := forecast(speech, 1)
	require.Equal(t, WouldWait, within.Verdict)
	require.Zero(t, within.Ahead, "it is within its guarantee and goes first")
	require.Equal(t, "Would wait about 12 min (GPUs).", within.Message)
}

func TestNoBandWithoutHistory(t *testing.T) {
	t.Parallel()
	b := shared(t)
	b.fill(ranking, 4)
	b.fill(vision, 8)
	f := b.Forecast([]Request{b.request(speech, uuid.New(), 0, Amount{GPUs: 1})})
	require.Equal(t, WouldWait, f.Verdict)
	require.Nil(t, f.StartsFrom)
	require.Equal(t, "Would wait (GPUs); there is not enough history for an estimate.", f.Message)
}

func TestForecastOfALaunch(t *testing.T) {
	t.Parallel()
	b := shared(t)
	b.fill(ranking, 4, steady(time.Hour))
	b.fill(vision, 6, steady(20*time.Minute))
	launch := []Request{
		{Project: b.ids[speech], Amount: Amount{GPUs: 2}, Preemptible: true},
		{Project: b.ids[speech], Amount: Amount{GPUs: 2}, Preemptible: true},
	}
	require.Equal(t, FitsNow, b.Forecast(launch[:1]).Verdict)
	f := b.Forecast(launch)
	require.Equal(t, WouldWait, f.Verdict)
	require.Zero(t, f.Ahead)
}

func TestStorageIsFull(t *testing.T) {
	t.Parallel()
	b := grow(Vector{CPU: 1000}).tenant("a", Limits{Limit: Vector{Storage: 2048}}).project("a/p", Limits{}).schedule(t)
	b.SetUsage(map[uuid.UUID]Vector{b.ids["a/p"]: {Storage: 2048}})
	f := b.Forecast([]Request{b.request("a/p", uuid.New(), 0, Amount{CPUMillis: 1})})
	require.Equal(t, WouldWait, f.Verdict)
	require.Equal(t, StorageLimit, f.Reason.Code)
	require.Equal(t, "Would wait for storage: tenant a has used 2 GiB of 2 GiB. It starts when artifacts are deleted or the limit is raised.", f.Message)
}

// TestWhy: the reason of a waiting node has its position, the requests ahead, the
// holders of the missing resource with their expected ends, and the band in which it
// starts.
func TestWhy(t *testing.T) {
	t.Parallel()
	b := shared(t)
	holder := b.fill(ranking, 4, steady(time.Hour))[0]
	b.fill(vision, 8, steady(20*time.Minute))
	var last Request
	for range 3 {
		b.clock.pass(time.Second)
		last = b.request(ranking, uuid.New(), 0, Amount{GPUs: 1})
		steady(10 * time.Minute)(&last)
		b.Admit(last.Execution, nil, []Request{last})
	}
	b.admit(vision, uuid.New(), Amount{CPUMillis: 1}, 0)
	reason, ok := b.Why(last.Key)
	require.True(t, ok)
	require.Equal(t, 3, reason.Position)
	require.Equal(t, 2, reason.Ahead)
	require.Equal(t, 3, b.Position(last.Key))
	require.Len(t, reason.Holders, 12)
	for _, h := range reason.Holders {
		require.Equal(t, h.Execution != holder && h.Owner.Name == "research", h.Owner.Name == "research")
		require.False(t, h.Borrowed)
		require.True(t, h.EndsFrom.Before(*h.EndsTo))
	}
	require.NotNil(t, reason.StartsFrom)
	require.True(t, reason.StartsFrom.Before(*reason.StartsTo))
	require.Equal(t, 61, reason.Basis)
	_, ok = b.Why(Key{last.Execution, 7})
	require.False(t, ok)
	require.Zero(t, b.Position(Key{last.Execution, 7}))

	b.release(holder, 0)
	first := b.woken[0]
	reason, ok = b.Why(Key{first, 0})
	require.True(t, ok)
	require.Equal(t, "Capacity is reserved for it: it is about to start.", reason.Message)
	require.True(t, b.Queue(Filter{})[0].Offered)
}

func TestRoughly(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		time.Millisecond: "1 s", 20 * time.Second: "20 s", 12 * time.Minute: "12 min", 89 * time.Minute: "89 min",
		3 * time.Hour: "3 h", 50 * time.Hour: "2 days",
	} {
		require.Equal(t, want, roughly(d))
	}
}
