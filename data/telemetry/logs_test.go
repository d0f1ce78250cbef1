package telemetry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
)

// both runs a test on lines that are still in the spool, on lines in ClickHouse,
// and on half of each.
func both(t *testing.T, lines func(*testBundle) []LogLine, check func(*testing.T, *testBundle)) {
	t.Helper()
	for _, where := range []string{"spool", "ClickHouse", "both"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(c *Config) {
				if where != "ClickHouse" {
					c.FlushInterval = time.Hour
				}
			})
			b.flushed(t) // the tables exist
			all := lines(b)
			switch where {
			case "both":
				half := len(all) / 2
				b.append(t, all[:half]...)
				require.NoError(t, b.flush(b.ctx))
				b.append(t, all[half:]...)
			default:
				b.append(t, all...)
			}
			if where == "ClickHouse" {
				b.flushed(t)
			}
			check(t, b)
		})
	}
}

func mixed(b *testBundle) []LogLine {
	out := b.lines(1, 40)
	for i := range out {
		l := &out[i]
		switch i % 4 {
		case 1:
			l.Level, l.Stream = "WARN", "stderr"
		case 2:
			l.NodeIndex, l.Node, l.Attempt = 2, "evaluate", 2
		case 3:
			l.Level, l.Message = "ERROR", fmt.Sprintf("Größe 100%% of_it (%d)", l.Seq)
			l.Fields = json.RawMessage(`{"Batch": 7}`)
		}
	}
	return out
}

func TestQueries(t *testing.T) {
	t.Parallel()
	two := 2
	tests := []struct {
		name  string
		query LogQuery
		want  func(*LogLine) bool
	}{
		{"all", LogQuery{}, func(*LogLine) bool { return true }},
		{"node", LogQuery{Nodes: []string{"evaluate", "x"}}, func(l *LogLine) bool { return l.Node == "evaluate" }},
		{"attempt", LogQuery{Attempt: &two}, func(l *LogLine) bool { return l.Attempt == 2 }},
		{"stream", LogQuery{Streams: []string{"stderr"}}, func(l *LogLine) bool { return l.Stream == "stderr" }},
		{"levels", LogQuery{Levels: []string{"WARN", "ERROR"}}, func(l *LogLine) bool { return l.Level != "INFO" }},
		{"text", LogQuery{Text: "gRÖSSE"}, func(*LogLine) bool { return false }},
		{"text, other case", LogQuery{Text: "gRÖße 100%"}, func(l *LogLine) bool { return l.Level == "ERROR" }},
		{"wildcards are text", LogQuery{Text: "l_ne"}, func(*LogLine) bool { return false }},
		{"short text", LogQuery{Text: "F_"}, func(l *LogLine) bool { return l.Level == "ERROR" }},
		{"quotes", LogQuery{Text: `'\"?`}, func(*LogLine) bool { return false }},
		{"fields", LogQuery{Text: `"batch": 7`}, func(l *LogLine) bool { return l.Fields != nil }},
		{"fields as readers see them", LogQuery{Text: "batch=7"}, func(l *LogLine) bool { return l.Fields != nil }},
		{"another value of a field", LogQuery{Text: "batch=8"}, func(*LogLine) bool { return false }},
		{"time", LogQuery{From: time.Unix(1_790_000_010, 0), To: time.Unix(1_790_000_020, 0)}, func(l *LogLine) bool { return l.Seq >= 10 && l.Seq < 20 }},
	}
	both(t, mixed, func(t *testing.T, b *testBundle) {
		for _, tt := range tests {
			q := tt.query
			q.ExecutionID = b.execution
			var want []int64
			counts := map[string]int{}
			for _, l := range mixed(b) {
				if tt.want(&l) {
					want = append(want, l.Seq)
					counts[l.Level]++
				}
			}
			page, err := b.Logs(b.ctx, q)
			require.NoError(t, err, tt.name)
			require.ElementsMatch(t, want, seqs(page.Lines), tt.name)
			require.False(t, page.Partial)
			if q.Levels == nil {
				got, err := b.LogCounts(b.ctx, q)
				require.NoError(t, err)
				require.Equal(t, counts, got, tt.name)
			}
		}
	})
}

func TestPages(t *testing.T) {
	t.Parallel()
	both(t, func(b *testBundle) []LogLine { return b.lines(1, 25) }, func(t *testing.T, b *testBundle) {
		q := LogQuery{ExecutionID: b.execution, Limit: 10}
		var forward []int64
		for {
			page, err := b.Logs(b.ctx, q)
			require.NoError(t, err)
			forward = append(forward, seqs(page.Lines)...)
			if page.Next == "" {
				break
			}
			q.After = page.Next
		}
		require.Equal(t, sequence(1, 25), forward)

		q = LogQuery{ExecutionID: b.execution, Limit: 10, Last: true}
		var backward []int64
		for {
			page, err := b.Logs(b.ctx, q)
			require.NoError(t, err)
			backward = append(seqs(page.Lines), backward...)
			if page.Prev == "" {
				break
			}
			q.Before = page.Prev
		}
		require.Equal(t, sequence(1, 25), backward)

		var text bytes.Buffer
		require.NoError(t, b.WriteLog(b.ctx, &text, LogQuery{ExecutionID: b.execution}))
		require.Equal(t, 25, strings.Count(text.String(), "\n"))
		require.True(t, strings.HasPrefix(text.String(), "2026-09-21T14:13:21.000000Z INFO  train#1  line 1\n"), text.String()[:80])
	})
}

func TestRepeatedLines(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	var wg sync.WaitGroup
	for range 4 { // the same batch at once, as after lost answers
		wg.Go(func() {
			for from := int64(1); from < 1000; from += 100 {
				if err := b.AppendLogs(b.ctx, b.lines(from, from+149)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b.flushed(t)
	var stored uint64
	require.NoError(t, b.store.conn.QueryRow(b.ctx, "SELECT count() FROM logs").Scan(&stored))
	require.EqualValues(t, 1050, stored, "repetitions never reach ClickHouse")
}

func TestRights(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	ctx := t.Context()
	require.True(t, apperr.Is(b.AppendLogs(ctx, b.lines(1, 1)), apperr.Unauthenticated))
	task := auth.WithSubject(ctx, auth.ForTask(auth.TaskScope{ExecutionID: b.execution, NodeIndex: 1, Attempt: 1}))
	require.NoError(t, b.AppendLogs(task, b.lines(1, 1)))
	other := b.lines(2, 2)
	other[0].Attempt = 2
	require.True(t, apperr.Is(b.AppendLogs(task, other), apperr.Forbidden))
	_, err := b.Logs(task, LogQuery{ExecutionID: b.execution})
	require.True(t, apperr.Is(err, apperr.Forbidden))
	require.True(t, apperr.Is(b.AppendFacts(task, nil), apperr.Forbidden))

	member := auth.Subject{ID: uuid.New(), Role: auth.RoleUser, Policy: auth.Everywhere(auth.ProjectDev), ProjectID: auth.LocalProject}
	page, err := b.Logs(auth.WithSubject(ctx, member), LogQuery{ExecutionID: b.execution})
	require.NoError(t, err)
	require.Len(t, page.Lines, 1)
	member.ProjectID = uuid.New()
	page, err = b.Logs(auth.WithSubject(ctx, member), LogQuery{ExecutionID: b.execution})
	require.NoError(t, err)
	require.Empty(t, page.Lines, "lines of another project are hidden")
}

// TestLinesOfWhatANodeBecame: a node includes its items and the nodes of its graph, but
// not nodes with the same name prefix.
func TestLinesOfWhatANodeBecame(t *testing.T) {
	t.Parallel()
	names := []string{"each", "each[3]", "each[3]/fit", "each/fit", "eaches", "other"}
	lines := func(b *testBundle) []LogLine {
		out := b.lines(1, int64(len(names)))
		for i := range out {
			out[i].NodeIndex, out[i].Node = i, names[i]
		}
		return out
	}
	both(t, lines, func(t *testing.T, b *testBundle) {
		for node, want := range map[string][]string{"each": names[:4], "each[3]": names[1:3], "each/fit": names[3:4], "eaches": names[4:5]} {
			page, err := b.Logs(b.ctx, LogQuery{ExecutionID: b.execution, Nodes: []string{node}})
			require.NoError(t, err)
			var got []string
			for _, l := range page.Lines {
				got = append(got, l.Node)
			}
			require.ElementsMatch(t, want, got, node)
		}
	})
}
