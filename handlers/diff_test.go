package handlers_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/views/viewtest"
	"github.com/flowforge/flowforge/web/contract"
)

// TestTheGraphsOfTwoVersions: the page draws each graph with operators that changed.
func TestTheGraphsOfTwoVersions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, v := range [][2]string{{"1.0.0", "fit"}, {"1.1.0", "score"}} {
		version, operator := v[0], v[1]
		b.register(t, "name: drawn.graphs\nversion: "+version+"\noperators: [{name: run, type: graph, graph: part}]\ngraphs: {part: {operators: [{name: a, type: noop}, {name: "+operator+", type: noop, depends_on: [a]}]}}\n")
	}
	got := b.member.get(t, "/workflows/drawn.graphs/diff?from=1.0.0&to=1.1.0")
	require.Equal(t, http.StatusOK, got.status, got.body)
	viewtest.Check(t, got.body)
	require.Contains(t, got.body, "Graph part")
	_, drawn, _ := strings.Cut(got.body, `id="h-diff-graph-1"`)
	require.Contains(t, drawn, "score")
	require.Contains(t, drawn, `data-state="REMOVED"`)
}

// TestChangesBetweenVersions: page and API say what a new version breaks, and which operators and
// files changed.
func TestChangesBetweenVersions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := newAuthor(t, b)
	a.deploy(t)
	a.write(t, "flow.py", strings.Replace(strings.Replace(pythonFlow, "lr: float = 0.5", "rate: float", 1), "train(lr)", "train(rate)", 1))
	a.write(t, "search/train.py", strings.Replace(pythonTrain, "FACTOR * lr", "FACTOR * lr + 1", 1))
	a.write(t, "weights.bin", "\x00\x01\x03")
	a.write(t, "large.py", strings.Repeat("x = 2  # large\n", 20_000))
	a.write(t, "notes.md", "<script>alert(1)</script>\n")
	a.deploy(t)

	got := b.member.get(t, "/workflows/source.search/diff")
	require.Equal(t, http.StatusOK, got.status, got.body)
	viewtest.Check(t, got.body)
	require.NotContains(t, got.body, "<script>alert")
	require.Contains(t, got.body, "source.search: 1.0.0 → 2.0.0")
	require.Contains(t, got.body, "2 changes break callers")
	require.Contains(t, got.body, `Launches that set &#34;lr&#34; are rejected.`)
	require.Contains(t, got.body, `data-state="CHANGED"`)

	var body contract.VersionDiffBody
	answer := b.member.get(t, "/api/v1/workflows/source.search/diff?from=1.0.0")
	require.Equal(t, http.StatusOK, answer.status, answer.body)
	require.NoError(t, json.Unmarshal([]byte(answer.body), &body))
	require.True(t, body.Breaking)
	require.Equal(t, "2.0.0", body.To)
	changes := map[string]contract.DiffChange{}
	for _, c := range body.Changes {
		changes[c.Section+"."+c.Name] = c
	}
	require.Equal(t, "removed", changes["inputs.lr"].Change)
	require.Equal(t, `Every launch must set "rate".`, changes["inputs.rate"].Breaks)
	code := changes["operators.train"].Details
	require.Equal(t, "code", code[len(code)-1].Path)
	require.Equal(t, "1 line added, 1 removed", code[len(code)-1].After)
	require.Empty(t, code[len(code)-1].Patch, "the files have it")
	files := map[string]contract.ChangedFile{}
	for _, f := range body.Files {
		files[f.Name] = f
	}
	require.Len(t, files, 5)
	require.Equal(t, "added", files["notes.md"].Change)
	require.Equal(t, 1, files["search/train.py"].Added)
	require.Contains(t, files["search/train.py"].Patch, "-    return FACTOR * lr  # <b>\n+    return FACTOR * lr + 1  # <b>\n")
	for _, name := range []string{"weights.bin", "large.py"} {
		require.Contains(t, files[name].Note, "Not compared line by line")
		require.Empty(t, files[name].Patch)
	}

	same := b.member.get(t, "/workflows/source.search/diff?from=2.0.0&to=2.0.0")
	require.Contains(t, same.body, "No differences")
	require.Equal(t, http.StatusNotFound, b.member.get(t, "/workflows/source.search/diff?from=9.0.0").status)
	require.Contains(t, b.member.get(t, "/workflows/source.search?tab=versions").body, "/workflows/source.search/diff?from=1.0.0&amp;to=2.0.0")
}
