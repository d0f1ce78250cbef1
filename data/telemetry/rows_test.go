package telemetry

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/telemetry/spool"
)

// TestADamagedFrameLeavesNoRows: columns keep the same length, and the lines of other frames keep their
// positions.
func TestADamagedFrameLeavesNoRows(t *testing.T) {
	t.Parallel()
	execution := uuid.New()
	frame := func(first uint64, messages ...string) spool.Frame {
		var lines []*LogLine
		for i, m := range messages {
			lines = append(lines, &LogLine{ExecutionID: execution, Node: "train", Attempt: 1, Stream: "stdout", Seq: int64(i), Time: time.UnixMicro(1).UTC(), Level: "INFO", Message: m, Fields: json.RawMessage(`{}`)})
		}
		return spool.Frame{Entry: encodeLines(lines), First: first}
	}
	damaged := frame(3, "c", "d")
	damaged.Payload = damaged.Payload[:len(damaged.Payload)-3]
	reports := 0
	rows := newRows(&spool.Batch{})
	for _, f := range []spool.Frame{frame(1, "a", "b"), damaged, frame(5, "e")} {
		require.NoError(t, rows.add(f, func(string, ...any) { reports++ }))
	}
	require.Equal(t, 1, reports)
	require.Equal(t, []string{"a", "b", "e"}, rows.logs.messages)
	require.Equal(t, []uint64{1, 2, 5}, rows.logs.positions)
	for _, c := range rows.logs.columns(7) {
		switch values := c.values.(type) {
		case []uuid.UUID:
			require.Len(t, values, 3, c.name)
		case []string:
			require.Len(t, values, 3, c.name)
		}
	}
}

// TestDivideKeepsTheOrder: repeated records are found, whatever precedes them.
func TestDivideKeepsTheOrder(t *testing.T) {
	t.Parallel()
	id := streamID{kind: kindLogs, stream: "stdout"}
	other := streamID{kind: kindLogs, stream: "stderr"}
	seqs := func(records []record) (out []int64) {
		for i := range records {
			out = append(out, records[i].seq)
		}
		return out
	}
	s := newSeen()
	all := []record{{stream: id, seq: 1}, {stream: id, seq: 2}, {stream: other, seq: 1}}
	fresh, repeated := s.divide(all, 3)
	require.Equal(t, []int64{1, 2, 1}, seqs(fresh))
	require.Empty(t, repeated)

	some := []record{{stream: id, seq: 3}, {stream: id, seq: 2}, {stream: id, seq: 4}, {stream: other, seq: 1}, {stream: other, seq: 2}, {stream: other, seq: 2}}
	fresh, repeated = s.divide(some, 9)
	require.Equal(t, []int64{3, 4, 2}, seqs(fresh))
	require.Equal(t, []int64{2, 1, 2}, seqs(repeated))
	require.Equal(t, []int64{3, 2, 4, 1, 2, 2}, seqs(some), "the records of the caller are as before")
	require.EqualValues(t, 9, s.streams[other].last)
}

// TestNumbersAreThoseOfTheStandardLibrary: spools of earlier versions were written with it.
func TestNumbersAreThoseOfTheStandardLibrary(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{0, 1, -1, 63, 64, -64, -65, 1 << 40, math.MaxInt64, math.MinInt64} {
		d := decoder{text: string(binary.AppendVarint(nil, n))}
		require.Equal(t, n, d.int())
		require.False(t, d.bad)
		require.Empty(t, d.text)
		u := decoder{text: string(binary.AppendUvarint(nil, uint64(n)))}
		require.Equal(t, uint64(n), u.uint())
		require.False(t, u.bad)
	}
	for _, text := range []string{"", "\x80", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		d := decoder{text: text}
		require.Zero(t, d.uint())
		require.True(t, d.bad, "%q", text)
	}
}
