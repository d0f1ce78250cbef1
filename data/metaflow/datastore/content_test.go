package datastore_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/metaflow/datastore"
)

var task = datastore.Task{Flow: "Flow", Run: "1", Step: "start", ID: "2"}

// zipped is a file as the client writes values.
func zipped(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return out.String()
}

// TestValues: plain values are shown with their types; hostile files explain why they are not.
func TestValues(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	bomb := zipped(t, strings.Repeat("N", 50<<20)) // 50 KiB in the datastore
	require.Less(t, len(bomb), 1<<20)
	files := map[string]string{
		"00000001": zipped(t, "\x80\x04K\x2a."), "00000002": zipped(t, "cposix\nsystem\n(S'true'\ntR."), "00000003": bomb,
		"00000004": zipped(t, "N.")[:12], "00000005": strings.Repeat("x", 2<<20), "00000006": zipped(t, "no pickle"), "00000008": zipped(t, strings.Repeat("}", 3<<20)+"."),
		"00000007": zipped(t, "V"+strings.Repeat("a", 4000)+"\n."),
	}
	for sha, text := range files {
		write(t, filepath.Join(b.own, "Flow", "data", "00", sha), text)
	}
	write(t, filepath.Join(b.own, "Flow", "1", "start", "2", "0.data.json"), `{"info": {"n": {"type": "<class 'int'>", "size": 5}, "bad": {"type": 7}}}`)
	store, err := b.Open(b.ctx)
	require.NoError(t, err)
	refs := []datastore.Ref{{Name: "missing", SHA: "0000000a"}, {Name: "outside", SHA: "../../../etc/passwd"}}
	for sha := range files {
		refs = append(refs, datastore.Ref{Name: sha, SHA: sha})
	}
	values := datastore.Values(b.ctx, store, task, 0, refs)
	require.Equal(t, "42", values["00000001"].Text)
	for name, want := range map[string]string{
		"00000002": "posix.system", "00000003": "more than 4 MiB", "00000004": "damaged", "00000005": "2 MiB", "00000006": "not a pickle", "00000008": "too many parts", "missing": "is not in the datastore", "outside": "is not in the datastore",
	} {
		require.Contains(t, values[name].Why, want, name)
		require.Empty(t, values[name].Text, name)
	}
	require.Len(t, values["00000007"].Text, 4002)

	write(t, filepath.Join(b.own, "Flow", "1", "start", "2", "1.data.json"), `{"info": {"00000001": {"type": "<class 'int'>", "size": 5}}}`)
	v := datastore.Values(b.ctx, store, task, 1, []datastore.Ref{{Name: "00000001", SHA: "00000001"}})["00000001"]
	require.Equal(t, datastore.Value{Text: "42", Type: "int", Size: 5}, v)
}

// dict is a dictionary of texts and pickles in protocol 0.
func dict(pairs ...string) string {
	out := "(d"
	for i := 0; i < len(pairs); i += 2 {
		out += fmt.Sprintf("S'%s'\n%ss", pairs[i], pairs[i+1])
	}
	return out
}

func list(names ...string) string {
	out := "(l"
	for _, n := range names {
		out += "S'" + n + "'\na"
	}
	return out
}

func TestGraph(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	many := make([]string, 6000)
	for sha, text := range map[string]string{
		"11111111": dict("steps", dict("start", dict("next", list("each", "none"), "foreach_artifact", "S'numbers'\n"), "each", dict("next", list("end")), "end", dict("next", list()))),
		"22222222": dict("steps", "]"), "33333333": "N", "44444444": dict("steps", dict("a", dict("next", list(many...)))), "55555555": "(dS'steps'\n(dK\x01Nss",
		"66666666": dict("steps", dict("a", "(d"+strings.Repeat("K\x01Ns", 100)+"q\x00", "b", "h\x00")),
	} {
		write(t, filepath.Join(b.own, "Flow", "data", sha[:2], sha), zipped(t, text+"."))
	}
	store, err := b.Open(b.ctx)
	require.NoError(t, err)
	steps, err := datastore.Graph(b.ctx, store, "Flow", "11111111")
	require.NoError(t, err)
	require.Equal(t, []datastore.Step{{Name: "start", Next: []string{"each"}, Foreach: "numbers"}, {Name: "each", Next: []string{"end"}}, {Name: "end"}}, steps)
	for _, sha := range []string{"22222222", "33333333", "44444444", "55555555", "66666666"} {
		_, err = datastore.Graph(b.ctx, store, "Flow", sha)
		require.True(t, apperr.Is(err, apperr.Invalid), "%s: %v", sha, err)
	}
}

const stamp = "[MFLOG|0|2026-11-23T13:01:%02d.5Z|task|id]%s\n"

// TestLog: lines of all streams by time; later calls return what was added, and downloads everything.
func TestLog(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	at := func(name string) string { return filepath.Join(b.own, "Flow", "1", "start", "2", name) }
	line := func(second int, text string) string { return fmt.Sprintf(stamp, second, text) }
	out := line(1, "one") + line(3, "three") + "without a header\n" + "[!" + line(5, "five")
	write(t, at("0.task_stdout.log"), out+"[MFLOG|0|2026-11-23T13:01:06Z|task|id]half")
	write(t, at("0.task_stderr.log"), line(2, "two \x00\xff"))
	write(t, at("0.runtime_stdout.log"), "no time\n")
	write(t, at("1.task_stdout.log"), line(1, "of attempt 1"))
	store, err := b.Open(b.ctx)
	require.NoError(t, err)
	log, err := datastore.NewLog(store, task, 0)
	require.NoError(t, err)
	texts := func(lines []datastore.LogLine) (out []string) {
		for _, l := range lines {
			out = append(out, l.Text)
		}
		return out
	}
	lines, err := log.Next(b.ctx, false)
	require.NoError(t, err)
	require.Equal(t, []string{"no time", "one", "two ��", "three", "without a header", "five"}, texts(lines))
	require.True(t, lines[2].Stderr)
	require.True(t, lines[0].Runtime)
	lines, err = log.Next(b.ctx, false)
	require.NoError(t, err)
	require.Empty(t, lines)

	write(t, at("0.task_stdout.log"), out+line(6, "half and more"))
	later, err := datastore.NewLog(store, task, 0)
	require.NoError(t, err)
	later.Resume(log.Cursor())
	for _, l := range []*datastore.Log{log, later} {
		lines, err = l.Next(b.ctx, false)
		require.NoError(t, err)
		require.Equal(t, []string{"half and more"}, texts(lines))
	}
	require.False(t, log.Cut())

	write(t, at("2.task_stdout.log"), strings.Repeat(line(1, strings.Repeat("x", 1000)), 1000))
	log, err = datastore.NewLog(store, task, 2)
	require.NoError(t, err)
	lines, err = log.Next(b.ctx, true)
	require.NoError(t, err)
	require.True(t, log.Cut())
	require.Len(t, lines[0].Text, 1000, "the first line is whole")
	var all bytes.Buffer
	require.NoError(t, datastore.WriteLog(b.ctx, store, task, 2, &all))
	require.Equal(t, 1000, strings.Count(all.String(), "\n"))
	all.Reset()
	require.NoError(t, datastore.WriteLog(b.ctx, store, task, 0, &all))
	require.Regexp(t, `(?s)^- runtime stdout no time\n2026-11-23T13:01:01.500Z task stdout one\n.*half and more\n$`, all.String())
	_, err = datastore.NewLog(store, datastore.Task{Flow: "..", Run: "1", Step: "start", ID: "2"}, 0)
	require.True(t, apperr.Is(err, apperr.NotFound))
}

// TestLogLines: a view has a bounded number of lines, and says so; the next call continues after them.
func TestLogLines(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	at := filepath.Join(b.own, "Flow", "1", "start", "2")
	for _, name := range []string{"0.task_stdout.log", "0.task_stderr.log"} {
		write(t, filepath.Join(at, name), strings.Repeat("\n", 100_000)+"end\n")
	}
	store, err := b.Open(b.ctx)
	require.NoError(t, err)
	log, err := datastore.NewLog(store, task, 0)
	require.NoError(t, err)
	lines, err := log.Next(b.ctx, false)
	require.NoError(t, err)
	require.Equal(t, datastore.MaxLines, len(lines)) //nolint:testifylint // the lines are too many to print
	require.Equal(t, "end", lines[len(lines)-1].Text)
	require.True(t, log.Cut())
	write(t, filepath.Join(at, "0.task_stdout.log"), strings.Repeat("\n", 100_000)+"end\nmore\n")
	lines, err = log.Next(b.ctx, false)
	require.NoError(t, err)
	require.Len(t, lines, 1)
	require.False(t, log.Cut(), "nothing was left out since")
	write(t, filepath.Join(at, "1.task_stdout.log"), strings.Repeat("x\n", datastore.MaxLines))
	log, err = datastore.NewLog(store, task, 1)
	require.NoError(t, err)
	lines, err = log.Next(b.ctx, true)
	require.NoError(t, err)
	require.Equal(t, datastore.MaxLines, len(lines)) //nolint:testifylint // the lines are too many to print
	require.False(t, log.Cut())
}

// TestReadingEnds: values wait for others that are decoded, and nothing is read for a request that
// has ended.
func TestReadingEnds(t *testing.T) { //nolint:paralleltest // it takes the decoders of the process
	b := setup(t, nil)
	write(t, filepath.Join(b.own, "Flow", "data", "00", "00000001"), "N.")
	store, err := b.Open(b.ctx)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(b.ctx, 50*time.Millisecond)
	defer cancel()
	for range cap(datastore.Decoders) {
		datastore.Decoders <- struct{}{}
	}
	_, err = datastore.Object(ctx, store, "Flow", "00000001")
	for range cap(datastore.Decoders) {
		<-datastore.Decoders
	}
	require.True(t, apperr.Is(err, apperr.Unavailable), "%v", err)
	_, _, err = store.Read(ctx, "Flow/data/00/00000001", 0, 10)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = store.List(ctx, "Flow", 10)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = datastore.Object(b.ctx, store, "Flow", "00000001")
	require.NoError(t, err)
}

func TestCards(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	const below = "Flow/runs/1/steps/start/tasks/2/cards"
	write(t, filepath.Join(b.own, "mf.cards", below, "default-abc.html"), "<h1>one</h1>")
	write(t, filepath.Join(b.own, below, "blank-steps-def.html"), "<h1>two</h1>")
	write(t, filepath.Join(b.own, below, "evil.js"), "x")
	store, err := b.Open(b.ctx)
	require.NoError(t, err)
	cards, err := datastore.Cards(b.ctx, store, task)
	require.NoError(t, err)
	require.Len(t, cards, 2)
	found := map[string]string{}
	for _, c := range cards {
		found[c.Type] = c.ID
		file, size, err := datastore.OpenCard(b.ctx, store, task, c.File)
		require.NoError(t, err)
		require.EqualValues(t, 12, size)
		require.NoError(t, file.Close())
	}
	require.Equal(t, map[string]string{"default": "", "blank": "steps"}, found)
	require.NoError(t, os.RemoveAll(filepath.Join(b.own, "mf.cards")))
	require.NoError(t, os.Symlink(".", filepath.Join(b.own, "mf.cards"))) // as tasks link it
	cards, err = datastore.Cards(b.ctx, store, task)
	require.NoError(t, err)
	require.Len(t, cards, 1)
	for _, name := range []string{"evil.js", "../default-abc.html", "default-none.html", ""} {
		_, _, err = datastore.OpenCard(b.ctx, store, task, name)
		require.True(t, apperr.Is(err, apperr.NotFound), name)
	}
}
