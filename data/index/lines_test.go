package index_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/data/telemetry"
)

// lines stores the log of an attempt of the node train, a line per second.
func (b *testBundle) lines(project, id uuid.UUID, attempt int, messages ...string) {
	b.t.Helper()
	b.linesSince(time.Now(), project, id, attempt, messages...)
}

func (b *testBundle) linesSince(at time.Time, project, id uuid.UUID, attempt int, messages ...string) {
	b.t.Helper()
	list := make([]telemetry.LogLine, len(messages))
	for i, m := range messages {
		list[i] = telemetry.LogLine{
			TenantID: auth.LocalTenant, ProjectID: project, ExecutionID: id, NodeIndex: 1, Node: "train", Attempt: attempt, Stream: "stdout", Seq: int64(i),
			Time: at.Add(time.Duration(i) * time.Second), Level: "INFO", Message: m,
		}
	}
	require.NoError(b.t, b.telemetry.AppendLogs(auth.AsSystem(b.ctx), list))
	require.Eventually(b.t, func() bool { return b.telemetry.Status().PendingRecords == 0 }, 30*time.Second, time.Millisecond)
}

func TestLinesOfManyExecutions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.run(auth.LocalProject, map[string]any{"lr": 0.1})
	second := b.run(auth.LocalProject, map[string]any{"lr": 0.2})
	quiet := b.run(auth.LocalProject, map[string]any{"lr": 0.3})
	elsewhere := b.project("elsewhere")
	other := b.run(elsewhere, map[string]any{"lr": 0.1})
	b.lines(auth.LocalProject, first, 1, "one", "two", "RuntimeError: CUDA out of memory 100%", "four", "five", "six")
	b.lines(auth.LocalProject, first, 2, "started again", "no error")
	b.lines(auth.LocalProject, second, 1, "cuda is slow")
	b.lines(auth.LocalProject, quiet, 1, "nothing to see")
	b.lines(elsewhere, other, 1, "CUDA of another project")

	for where, want := range map[string][]uuid.UUID{
		`log ~ "CUDA"`:                    {second, first},
		`log ~ "cuda out of"`:             {first},
		`log ~ "100%"`:                    {first},
		`log ~ "10_%"`:                    {},
		`not log ~ "CUDA"`:                {quiet},
		`log ~ "CUDA" and lr < 0.15`:      {first},
		`log ~ "CUDA" or log ~ "nothing"`: {quiet, second, first},
		`log ~ "CUDA" and since:1h`:       {second, first},
		`log ~ "CUDA" until:2020-01-01`:   {},
	} {
		require.Equal(t, want, b.find(index.Query{Where: where}), where)
	}
	r, err := b.Find(b.ctx, index.Query{Where: `log ~ "CUDA"`})
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(-30*24*time.Hour), r.LogsFrom, time.Minute)

	found, err := b.Lines(b.ctx, index.LineQuery{Texts: []string{"CUDA"}, Query: index.Query{Where: "lr < 0.15"}})
	require.NoError(t, err)
	require.Len(t, found.Hits, 1)
	hit := found.Hits[0]
	require.Equal(t, first, hit.ExecutionID)
	require.Equal(t, "train 1 3 RuntimeError: CUDA out of memory 100%", fmt.Sprintf("%s %d %d %s", hit.Node, hit.Attempt, hit.Number, hit.Message))
	around := ""
	for _, l := range append(hit.Before, hit.Behind...) {
		around += fmt.Sprintf("%d %s, ", l.Number, l.Message)
	}
	require.Equal(t, "1 one, 2 two, 4 four, 5 five, ", around)
	require.Empty(t, found.Next)
	require.False(t, found.Bare)

	counted := index.Query{Where: `log ~ "CUDA"`, Limit: 1, Counted: true}
	for _, id := range []uuid.UUID{second, first} { // the total is that of all pages, on each page
		r, err := b.Find(b.ctx, counted)
		require.NoError(t, err)
		require.Equal(t, 2, r.Total)
		require.Equal(t, id, r.Rows[0].ID)
		counted.After = r.Next
	}

	conn, err := b.telemetry.Conn()
	require.NoError(t, err)
	require.NoError(t, conn.Exec(b.ctx, "INSERT INTO logs SELECT * FROM logs SETTINGS insert_deduplicate = 0"))
	for where, want := range map[string][]string{ // each line once, although ClickHouse has it twice
		`log ~ "CUDA"`:                         {"RuntimeError: CUDA out of memory 100%", "cuda is slow"},
		`log ~ "CUDA" and log ~ "no error"`:    {"RuntimeError: CUDA out of memory 100%", "no error"},
		`log ~ "CUDA" and not log ~ "started"`: {"cuda is slow"},
		`log ~ "CUDA" and lr < 0.15`:           {"RuntimeError: CUDA out of memory 100%"},
		`log ~ "CUDA" or lr > 0.25`:            {"RuntimeError: CUDA out of memory 100%", "cuda is slow"},
	} {
		found, err := b.Lines(b.ctx, index.LineQuery{Query: index.Query{Where: where}})
		require.NoError(t, err, where)
		var messages []string
		for _, h := range found.Hits {
			messages = append(messages, h.Message)
		}
		require.ElementsMatch(t, want, messages, where)
	}

	var messages []string
	page := index.LineQuery{Texts: []string{"CUDA", "error"}, Limit: 1}
	for {
		found, err = b.Lines(b.ctx, page)
		require.NoError(t, err)
		for _, h := range found.Hits {
			messages = append(messages, h.Message)
		}
		if page.After = found.Next; page.After == "" {
			break
		}
	}
	require.ElementsMatch(t, []string{"cuda is slow", "no error", "RuntimeError: CUDA out of memory 100%"}, messages)

	_, err = b.Lines(b.ctx, index.LineQuery{Texts: []string{"CUDA"}, After: "no mark"})
	require.True(t, apperr.Is(err, apperr.Invalid), "%v", err)
}

// TestLinesWithFields: a search finds the fields of a line as pages show them.
func TestLinesWithFields(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.run(auth.LocalProject, nil)
	require.NoError(t, b.telemetry.AppendLogs(auth.AsSystem(b.ctx), []telemetry.LogLine{{
		TenantID: auth.LocalTenant, ProjectID: auth.LocalProject, ExecutionID: id, NodeIndex: 1, Node: "train", Attempt: 1, Stream: "sdk", Time: time.Now(),
		Level: "INFO", Message: "trained", Fields: []byte(`{"rows":3,"kind":"two words"}`),
	}}))
	require.Eventually(t, func() bool { return b.telemetry.Status().PendingRecords == 0 }, 30*time.Second, time.Millisecond)
	for text, found := range map[string]bool{"rows=3": true, "ROWS=": true, `kind="two`: true, "rows=4": false, "trained": true} {
		where := "log ~ " + strconv.Quote(text)
		require.Equal(t, found, len(b.find(index.Query{Where: where})) == 1, text)
		lines, err := b.Lines(b.ctx, index.LineQuery{Texts: []string{text}})
		require.NoError(t, err)
		require.Equal(t, found, len(lines.Hits) == 1, text)
		page, err := b.telemetry.Logs(b.ctx, telemetry.LogQuery{ExecutionID: id, Text: text, Limit: 10})
		require.NoError(t, err)
		require.Equal(t, found, len(page.Lines) == 1, text)
		for _, h := range lines.Hits {
			require.Equal(t, `trained rows=3 kind="two words"`, h.Text())
		}
	}
}

// TestLinesOfManyDays: the latest lines come first, whatever their age and the size of pages.
func TestLinesOfManyDays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, other := b.run(auth.LocalProject, nil), b.run(auth.LocalProject, nil)
	for i, age := range []time.Duration{0, time.Hour, 23 * time.Hour, 25 * time.Hour, 100 * time.Hour} {
		b.linesSince(time.Now().Add(-age), auth.LocalProject, id, i+1, fmt.Sprintf("lost %s ago", age))
	}
	b.linesSince(time.Now().Add(-200*time.Hour), auth.LocalProject, other, 1, "lost 200h0m0s ago, once")

	want := []string{"lost 0s ago", "lost 1h0m0s ago", "lost 23h0m0s ago", "lost 25h0m0s ago", "lost 100h0m0s ago", "lost 200h0m0s ago, once"}
	for limit := 1; limit <= len(want)+1; limit++ {
		var messages []string
		page := index.LineQuery{Texts: []string{"lost"}, Limit: limit}
		for {
			found, err := b.Lines(b.ctx, page)
			require.NoError(t, err)
			require.LessOrEqual(t, len(found.Hits), limit)
			for _, h := range found.Hits {
				messages = append(messages, h.Message)
			}
			if page.After = found.Next; page.After == "" {
				break
			}
		}
		require.Equal(t, want, messages, "pages of %d", limit)
	}
	found, err := b.Lines(b.ctx, index.LineQuery{Texts: []string{"once"}})
	require.NoError(t, err)
	require.Len(t, found.Hits, 1)
}
