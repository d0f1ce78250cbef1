package record_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/bench/record"
)

var here = record.Machine{Processor: "fast", Processors: 2, Memory: "23 GiB", Go: "go1.26.8"}

func run(day int, cases ...record.Case) record.Run {
	return record.Run{Benchmark: "engine", At: time.Date(2026, 11, day, 12, 0, 0, 0, time.UTC), Commit: "abc", Machine: here, Cases: cases}
}

func values(name string, v ...float64) record.Case {
	return record.Case{Name: name, Summary: "a <chain>", Unit: "ms", Values: v}
}

func TestMedianAndRange(t *testing.T) {
	t.Parallel()
	c := values("C40", 3, 1, 2)
	least, most := c.Range()
	assert.InDelta(t, 2, c.Median(), 0)
	assert.InDelta(t, 2.5, values("C40", 4, 1, 2, 3).Median(), 0)
	assert.InDelta(t, 1, least, 0)
	assert.InDelta(t, 3, most, 0)
	assert.Equal(t, []float64{3, 1, 2}, c.Values, "the rounds keep their order")
}

func TestWrittenRunsAreReadInOrder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "records")
	none, err := record.Read(dir)
	require.NoError(t, err)
	assert.Empty(t, none)
	later, earlier := run(2, values("C40", 1)), run(1, values("C40", 2))
	for _, r := range []record.Run{later, earlier} {
		_, err := record.Write(dir, r)
		require.NoError(t, err)
	}
	runs, err := record.Read(dir)
	require.NoError(t, err)
	assert.Equal(t, []record.Run{earlier, later}, runs)
}

func TestABrokenRecordIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "broken.json"), []byte("{"), 0o600))
	_, err := record.Read(dir)
	require.ErrorContains(t, err, "broken.json")
}

func TestPreviousIsTheLastComparableRun(t *testing.T) {
	t.Parallel()
	first, second := run(1), run(2)
	elsewhere, other, newer := run(3), run(4), run(5)
	elsewhere.Machine.Processors = 64
	other.Benchmark = "pages"
	newer.Machine.Go = "go1.27"
	before, ok := record.Previous([]record.Run{first, second, elsewhere, other, newer}, newer)
	require.True(t, ok)
	assert.Equal(t, second, before, "the version of Go is part of the result")
	_, ok = record.Previous([]record.Run{first}, first)
	assert.False(t, ok, "a run is not compared with itself")
}

func TestCasesWithoutValuesAreNotCompared(t *testing.T) {
	t.Parallel()
	failed := record.Case{Name: "C40", Unit: "ms", Error: "it did not start"}
	assert.Empty(t, record.Compare(run(1, values("C40", 1)), run(2, failed)))
	assert.Empty(t, record.Compare(run(1, failed), run(2, values("C40", 1))))
	var page strings.Builder
	require.NoError(t, record.WritePage(&page, []record.Run{run(1, values("C40", 1)), run(2, failed)}))
	assert.Contains(t, page.String(), "No values: it did not start")
	assert.NotContains(t, page.String(), "Median 0")
}

func TestComparisonListsRegressionsFirst(t *testing.T) {
	t.Parallel()
	before := run(1, values("same", 10, 11), values("slower", 10, 11), values("noisy", 5, 30), values("gone", 1), values("faster", 10))
	seconds := values("unit", 1)
	after := run(2, values("same", 11, 12), values("slower", 13, 14), values("noisy", 4, 40), values("new", 1), values("faster", 5), seconds)
	seconds.Unit = "s"
	before.Cases = append(before.Cases, seconds)
	text := record.Comparison(before, after)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	require.Len(t, lines, 6, text)
	assert.Equal(t, "More than 15 % slower:", lines[1])
	assert.Equal(t, "  slower: 10.5 → 13.5 ms (+29 %)", lines[2])
	assert.Equal(t, "  noisy: 17.5 → 22 ms (+26 %), ranges overlap", lines[3])
	assert.Contains(t, lines[5], "faster: 10 → 5 ms (-50 %)")
	assert.Contains(t, record.Comparison(before, before), "No case is more than 15 % slower.")
}

func TestPageDrawsTheRunsOfOneKindOfMachine(t *testing.T) {
	t.Parallel()
	c := values("C40", 20, 40)
	c.Profile = &record.Profile{Functions: []record.Share{{Name: "runtime.futex", Part: 0.25}}, Waits: []record.Share{{Name: "IO: WALSync", Part: 0.5}}}
	elsewhere := run(2, values("C40", 99))
	elsewhere.Machine.Processor = "slow"
	var b strings.Builder
	require.NoError(t, record.WritePage(&b, []record.Run{run(1, values("C40", 10)), elsewhere, run(3, c)}))
	html := b.String()
	assert.Equal(t, 2, strings.Count(html, "<circle"), "one point for each run on this kind of machine")
	assert.Contains(t, html, `points="48,78 302,34 "`, "from 0 at the bottom to 40 at the top")
	assert.Contains(t, html, "a &lt;chain&gt;")
	assert.Contains(t, html, "runtime.futex")
	assert.Contains(t, html, "50.0 %")
	assert.Contains(t, html, "C40: 10 → 30 ms (&#43;200 %)")
	require.Error(t, record.WritePage(&b, nil))
}
