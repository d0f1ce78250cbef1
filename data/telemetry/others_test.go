package telemetry

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sharingBundle is a server whose clock for shared reads does not move, next to another server.
type sharingBundle struct {
	*testBundle
	clock atomic.Int64 // in nanoseconds
	reads atomic.Int64 // of the positions of lines
}

// servers starts two servers on one ClickHouse. Tails of the first poll all the time.
func servers(t *testing.T) (b *sharingBundle, other *Service) {
	t.Helper()
	b = &sharingBundle{testBundle: setup(t, func(c *Config) { c.PollInterval = time.Millisecond })}
	b.flushed(t)
	b.sharedClock = func() time.Time { return time.Unix(0, b.clock.Load()) }
	read := b.otherLines.query
	b.otherLines.query = func(ctx context.Context, executions []uuid.UUID) (map[uuid.UUID]marks, error) {
		b.reads.Add(1)
		return read(ctx, executions)
	}
	cfg := b.cfg
	b.cfg.SpoolDir = t.TempDir()
	other = b.start(t)
	b.cfg = cfg
	eventually(t, "the other server is ready", func() bool { return other.store.migrated.Load() })
	return b, other
}

// later makes everything that readers share too old.
func (b *sharingBundle) later() { b.clock.Add(int64(time.Hour)) }

// TestTailsShareTheQuestionForOtherLines: many tails that poll all the time ask for the lines of other
// servers together, and get each line once.
func TestTailsShareTheQuestionForOtherLines(t *testing.T) {
	t.Parallel()
	b, other := servers(t)
	const tails = 40
	quiet := uuid.Must(uuid.NewV7())
	ctx, stop := context.WithCancel(b.ctx)
	defer stop()
	var (
		following sync.WaitGroup
		begun     sync.WaitGroup
		got       [tails]atomic.Int64
	)
	begun.Add(tails)
	for i := range tails {
		execution := b.execution
		if i%2 == 1 {
			execution = quiet
		}
		following.Go(func() {
			for lines, err := range b.Tail(ctx, LogQuery{ExecutionID: execution}, "") {
				if err != nil {
					t.Error(err)
					return
				}
				if len(lines) == 0 {
					begun.Done()
				}
				got[i].Add(int64(len(lines)))
			}
		})
	}
	begun.Wait()
	b.later()
	before := b.reads.Load()
	eventually(t, "the tails ask again", func() bool { return b.reads.Load() > before })
	_, _, err := b.otherLines.of(ctx, b.execution) // the answer has arrived
	require.NoError(t, err)
	require.Equal(t, before+1, b.reads.Load(), "one question is for all tails of both executions")

	require.NoError(t, other.AppendLogs(b.ctx, b.lines(1, 50)))
	eventually(t, "the lines are stored", func() bool { return other.spool.Stats().PendingRecords == 0 })
	require.Equal(t, before+1, b.reads.Load(), "an answer is not too old yet")
	b.later()
	eventually(t, "every tail has the lines", func() bool {
		for i := range got {
			if i%2 == 0 && got[i].Load() < 50 {
				return false
			}
		}
		return true
	})
	require.Equal(t, before+2, b.reads.Load())
	stop()
	following.Wait()
	for i := range got {
		assert.EqualValues(t, 50*(1-i%2), got[i].Load(), "tail %d", i)
	}
}

// TestATailThatContinuesReadsPositionsItself: a shared answer can be older than the cursor of a reader.
func TestATailThatContinuesReadsPositionsItself(t *testing.T) {
	t.Parallel()
	b, other := servers(t)
	require.NoError(t, other.AppendLogs(b.ctx, b.lines(1, 10)))
	eventually(t, "the lines are stored", func() bool { return other.spool.Stats().PendingRecords == 0 })
	q := LogQuery{ExecutionID: b.execution}
	first := follow(b.ctx, t, b.Service, q, "", 10)
	require.NoError(t, other.AppendLogs(b.ctx, b.lines(11, 20)))
	eventually(t, "the lines are stored", func() bool { return other.spool.Stats().PendingRecords == 0 })
	before := b.reads.Load()
	require.Equal(t, sequence(11, 20), seqs(follow(b.ctx, t, b.Service, q, first[9].Cursor(), 10)))
	require.Equal(t, before+1, b.reads.Load())
}
