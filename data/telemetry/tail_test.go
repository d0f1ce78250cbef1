package telemetry

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// follow reads a tail from a cursor until it has n lines, and returns them.
func follow(ctx context.Context, t *testing.T, s *Service, q LogQuery, from Cursor, n int) []LogLine {
	t.Helper()
	var out []LogLine
	if n == 0 {
		return out
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for lines, err := range s.Tail(ctx, q, from) {
		require.NoError(t, err)
		out = append(out, lines...)
		if len(out) >= n {
			return out
		}
	}
	t.Fatalf("the tail ended after %d of %d lines", len(out), n)
	return nil
}

func TestTailHistoryThenLive(t *testing.T) {
	t.Parallel()
	both(t, func(b *testBundle) []LogLine { return b.lines(1, 2500) }, func(t *testing.T, b *testBundle) {
		q := LogQuery{ExecutionID: b.execution}
		appended := make(chan error, 1)
		var got []int64
		for lines, err := range b.Tail(b.ctx, q, "") {
			require.NoError(t, err)
			got = append(got, seqs(lines)...)
			if len(lines) > 0 && len(got) == 2500 {
				go func() {
					late := b.line(0, nil) // earlier than all that was read
					appended <- b.AppendLogs(b.ctx, append(b.lines(2501, 2600), late))
				}()
			}
			if len(got) == 2601 {
				break
			}
		}
		require.NoError(t, <-appended)
		require.Equal(t, append(sequence(1, 2600), 0), got)
	})
}

func TestTailFromPage(t *testing.T) {
	t.Parallel()
	both(t, mixed, func(t *testing.T, b *testBundle) {
		q := LogQuery{ExecutionID: b.execution, Levels: []string{"WARN"}}
		last := q
		last.Last, last.Limit = true, 3
		page, err := b.Logs(b.ctx, last)
		require.NoError(t, err)
		require.Equal(t, []int64{30, 34, 38}, seqs(page.Lines))
		b.append(t, b.line(50, func(l *LogLine) { l.Level = "WARN" }), b.line(51, nil), b.line(2, func(l *LogLine) { l.Level, l.Stream = "WARN", "sdk" }))
		require.Equal(t, []int64{50, 2}, seqs(follow(b.ctx, t, b.Service, q, page.Lines[2].Cursor(), 2)))
		require.Equal(t, []int64{38, 50, 2}, seqs(follow(b.ctx, t, b.Service, q, page.Lines[1].Cursor(), 3)))
		require.Equal(t, []int64{34, 38, 50, 2}, seqs(follow(b.ctx, t, b.Service, last, page.Lines[0].Cursor(), 4)), "Last is for a start without cursor")
	})
}

// TestTailReconnects: readers that disconnect at any line and return with its cursor
// get every line once, while several writers append, records move to ClickHouse and old
// segments are dropped.
func TestTailReconnects(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.SpoolMaxBytes = 1 << 20 }) // small: segments are dropped on the way
	const writers, each = 4, 3000
	ctx := b.ctx
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for seq := int64(1); seq <= each; seq += 10 {
				lines := b.lines(seq, seq+9)
				for i := range lines {
					lines[i].NodeIndex = w
				}
				err := b.AppendLogs(ctx, lines)
				for err != nil && ctx.Err() == nil { // a full spool is reported and retried
					wait(ctx, 10*time.Millisecond)
					err = b.AppendLogs(ctx, lines)
				}
			}
		})
	}
	for range 3 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
			known := map[lineID]int{}
			cursor := Cursor("")
			for len(known) < writers*each && ctx.Err() == nil {
				stop := rng.IntN(500) + 1
				for lines, err := range b.Tail(ctx, LogQuery{ExecutionID: b.execution}, cursor) {
					if err != nil {
						t.Error(err)
						return
					}
					n := min(len(lines), stop)
					for i := range lines[:n] {
						l := &lines[i]
						known[idOf(l)]++
						cursor = l.Cursor()
					}
					if stop -= n; stop == 0 || len(known) == writers*each {
						break
					}
				}
			}
			for id, n := range known {
				if n != 1 {
					t.Errorf("%v came %d times", id, n)
					return
				}
			}
		})
	}
	wg.Wait()
	b.flushed(t)
	require.Positive(t, b.spool.Floor(), "the test must read beyond the spool")
}

// TestTailOfOtherServers: two servers on one ClickHouse; the tail of one has the
// lines of both, once.
func TestTailOfOtherServers(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.PollInterval = 5 * time.Millisecond })
	b.flushed(t)
	cfg := b.cfg
	b.cfg.SpoolDir = t.TempDir()
	other := b.start(t)
	b.cfg = cfg
	q := LogQuery{ExecutionID: b.execution}
	require.NoError(t, other.AppendLogs(b.ctx, b.lines(1, 50)))
	b.append(t, b.lines(51, 60)...)
	eventually(t, "the other's lines", func() bool {
		p, err := b.Logs(b.ctx, q)
		return err == nil && len(p.Lines) == 60
	})
	var cursor Cursor
	known := map[int64]int{}
	read := func(n int) {
		for _, l := range follow(b.ctx, t, b.Service, q, cursor, n)[:n] {
			known[l.Seq]++
			cursor = l.Cursor()
		}
	}
	read(30)
	read(20)
	require.NoError(t, other.AppendLogs(b.ctx, b.lines(61, 80)))
	b.append(t, b.lines(81, 90)...)
	read(25)
	read(15)
	require.Len(t, known, 90)
}

func TestTailEndsWithItsReader(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	for _, err := range b.Tail(ctx, LogQuery{ExecutionID: uuid.New()}, "") {
		require.NoError(t, err)
		t.Fatal("no line was appended")
	}
	for _, err := range b.Tail(b.ctx, LogQuery{}, "!") {
		require.Error(t, err)
	}
	for _, err := range b.Tail(t.Context(), LogQuery{}, "") {
		require.Error(t, err, "no user is signed in")
	}
	require.Empty(t, b.hub.subs)
}
