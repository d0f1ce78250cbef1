package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fakePeer has facts only.
type fakePeer struct{ about facts }

func (p fakePeer) Facts() facts { return p.about }

func (fakePeer) Install(context.Context, environment) error { return nil }

func (fakePeer) Start(context.Context, environment) (session, error) { return &fakeSession{}, nil }

// fakeSession fails in every workload but one.
type fakeSession struct{ ran []string }

func (s *fakeSession) Version() string { return "2.0" }

func (s *fakeSession) Run(_ context.Context, workload string) (time.Duration, error) {
	s.ran = append(s.ran, workload)
	if workload == "chain-40" {
		return 0, os.ErrDeadlineExceeded
	}
	return 2 * time.Second, nil
}

func (s *fakeSession) Ended() bool { return false }

func (s *fakeSession) Close() error { return nil }

func fake(name string, durable, inProcess bool, times map[string][]float64) result {
	return result{adapter: fakePeer{facts{Name: name, Durability: "files", Durable: durable, InProcess: inProcess}}, version: "1.0", measured: times}
}

func own(times map[string][]float64) result {
	return result{adapter: flowforge{}, version: "1.0.0", measured: times}
}

func TestTableHasMedianAndRangeOfEachPeer(t *testing.T) {
	t.Parallel()
	loads := workloads()[:1]
	text := table([]result{own(map[string][]float64{"chain-40": {0.3, 0.1, 0.2}}), fake("Slow", true, false, map[string][]float64{"chain-40": {12, 47.25}})}, loads)
	assert.Contains(t, text, "| FlowForge | 1.0.0 | state and result of the node: PostgreSQL with sync | 0.200 (0.100 to 0.300) |\n")
	assert.Contains(t, text, "| Slow | 1.0 | files | 29.6 (12.0 to 47.2) |\n")
	assert.Contains(t, text, "Dagu is not measured: ")
	assert.Contains(t, text, "chain-40, of durable peers: FlowForge is ahead.")
}

func TestAFailedPeerKeepsItsRowAndItsError(t *testing.T) {
	t.Parallel()
	broken := fake("Broken", true, false, nil)
	broken.version, broken.failed = "", "not installed: no such version"
	partly := fake("Partly", true, false, map[string][]float64{"wide-200": {1}})
	partly.errors = []string{"chain-40: it timed out", "chain-40: it timed out"}
	loads := workloads()[:2]
	text := table([]result{broken, partly}, loads)
	assert.Contains(t, text, "| Broken | – | files | failed | failed |\n")
	assert.Contains(t, text, "- Broken failed: not installed: no such version\n")
	assert.Contains(t, text, "| Partly | 1.0 | files | failed | 1.00 (1.00 to 1.00) |\n")
	assert.Equal(t, 1, strings.Count(text, "it timed out"), "each error is in the text once")

	list := cases([]result{broken, partly}, loads)
	require.Len(t, list, 4)
	assert.Equal(t, "chain-40 Broken", list[0].Name)
	assert.Equal(t, "not installed: no such version", list[0].Error)
	assert.Equal(t, "chain-40: it timed out", list[1].Error)
	assert.Equal(t, []float64{1}, list[3].Values)
	assert.Empty(t, list[3].Error)
}

func TestGoalsCompareWithTheRightPeers(t *testing.T) {
	t.Parallel()
	loads := []workload{workloads()[0], workloads()[2]}
	half := map[string][]float64{"chain-40": {0.5}, "functions-20": {0.5}}
	lines := ahead([]result{
		own(map[string][]float64{"chain-40": {1}, "functions-20": {1}}),
		fake("Durable library", true, true, half),
		fake("Volatile server", false, false, half),
		fake("Slower", true, false, map[string][]float64{"chain-40": {2}, "functions-20": {2}}),
	}, loads)
	assert.Equal(t, []string{
		"chain-40, of durable peers: faster than FlowForge: Durable library (0.50 of its time).",
		"functions-20, of peers that are not libraries in the process: faster than FlowForge: Volatile server (0.50 of its time).",
	}, lines)
	assert.Empty(t, ahead([]result{fake("Alone", true, false, half)}, loads), "without FlowForge there is no comparison")
}

func TestATurnContinuesAfterAnError(t *testing.T) {
	t.Parallel()
	r := fake("Fake", true, false, map[string][]float64{})
	turn(t.Context(), environment{folder: filepath.Join(t.TempDir(), "turn")}, &r, workloads()[:2], time.Minute)
	assert.Equal(t, map[string][]float64{"wide-200": {2}}, r.measured, "the warm-up does not count")
	assert.Equal(t, []string{"chain-40: i/o timeout"}, r.errors)
	assert.Equal(t, "2.0", r.version)
}

func TestAnswersOfAdapters(t *testing.T) {
	t.Parallel()
	a, err := parseAnswer([]byte(`{"version": "3.9.1"}`))
	require.NoError(t, err)
	assert.Equal(t, "3.9.1", a.Version)
	a, err = parseAnswer([]byte(`{"seconds": 0.25}`))
	require.NoError(t, err)
	assert.InDelta(t, 0.25, a.Seconds, 0)
	for line, message := range map[string]string{
		`{"error": "ValueError: 3"}`: "ValueError: 3",
		`Welcome!`:                   `the adapter wrote "Welcome!"`,
		`{"seconds": 0}`:             "no time",
	} {
		_, err := parseAnswer([]byte(line))
		assert.ErrorContains(t, err, message)
	}
}

func TestResultsOfFlowForge(t *testing.T) {
	t.Parallel()
	var x executionState
	require.NoError(t, json.Unmarshal([]byte(`{"execution_id": "x", "status": "SUCCEEDED", "outputs": {"result": 20}}`), &x))
	require.NoError(t, x.check("functions-20"))
	require.NoError(t, x.check("chain-40"), "a process has no result")
	assert.ErrorContains(t, x.check("map-100"), "the result is 20 instead of [1,2,3")
}

func TestSelectedNames(t *testing.T) {
	t.Parallel()
	name := func(s string) string { return s }
	found, err := selected("c,A", []string{"a", "b", "c"}, name)
	require.NoError(t, err)
	assert.Equal(t, []string{"c", "a"}, found)
	_, err = selected("a,d", []string{"a", "b"}, name)
	assert.ErrorContains(t, err, `"d"`)
}

func TestAddressesOfDatabases(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "postgresql+asyncpg://flowforge@/bench_prefect?host=/tmp/s", driverURL("flowforge", "/tmp/s", "bench_prefect", "postgresql+asyncpg"))
}

// TestPeersAreComplete checks that every peer has its script with all workloads, and that all its
// packages have exact versions.
func TestPeersAreComplete(t *testing.T) {
	t.Parallel()
	pinned := regexp.MustCompile(`^[A-Za-z0-9._-]+(\[[a-z,]+\])?==[^ *]+$`)
	for _, p := range peers() {
		python, ok := p.(pythonPeer)
		if !ok {
			continue
		}
		script, err := sources.ReadFile("adapters/" + python.script + ".py")
		require.NoError(t, err)
		for _, w := range workloads() {
			assert.Contains(t, string(script), `"`+w.name+`"`, python.script)
		}
		packages, err := sources.ReadFile("requirements/" + python.requirements + ".txt")
		require.NoError(t, err)
		lines := slices.DeleteFunc(strings.Split(string(packages), "\n"), func(line string) bool { return line == "" || line[0] == '#' })
		assert.NotEmpty(t, lines, python.requirements)
		for _, line := range lines {
			assert.Regexp(t, pinned, line, python.requirements)
		}
	}
}
