package preview

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
)

func tree(t *testing.T, text, at string, from int64, find string) Tree {
	t.Helper()
	out, err := ReadTree(t.Context(), fileOf([]byte(text)), at, from, find)
	require.NoError(t, err)
	return out
}

func TestTree(t *testing.T) {
	t.Parallel()
	got := tree(t, "\ufeff"+`{"name": "net", "layers": [{"in": 1e3, "odd key": null}, true], "n": -0.5}`, "", 0, "")
	require.True(t, got.Complete)
	require.EqualValues(t, 3, got.Root.Count)
	layers := got.Root.Children[1]
	require.Equal(t, "$.layers", layers.Path)
	require.Equal(t, `$.layers[0]["odd key"]`, layers.Children[0].Children[1].Path)
	require.Equal(t, "null", layers.Children[0].Children[1].Kind)
	require.Equal(t, "1e3", layers.Children[0].Children[0].Value, "numbers as they are written")

	inner := tree(t, `{"a": {"b c": [1, [2, 3]]}, "x": 1}`, `$.a["b c"][1]`, 0, "")
	require.EqualValues(t, 2, inner.Root.Count)
	require.Equal(t, "2", inner.Root.Children[0].Value)
	require.Equal(t, []Step{{"$", "$"}, {"a", "$.a"}, {"b c", `$.a["b c"]`}, {"1", `$.a["b c"][1]`}}, inner.Steps())
	require.Nil(t, tree(t, `{"a": 1}`, "$.b", 0, "").Root)
	for _, wrong := range []string{"a", "$a", "$.", "$[", "$[x]", `$["a]`, "$[-1]", "$" + strings.Repeat(".a", maxPath)} {
		_, err := ReadTree(t.Context(), fileOf([]byte("{}")), wrong, 0, "")
		require.True(t, apperr.Is(err, apperr.Invalid), wrong)
	}
}

// TestTreeIsBounded: a large document has some nodes, and all elements are reached by pages.
func TestTreeIsBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("[")
	for i := range 2000 { // few, so that a slow machine reads them within the time
		fmt.Fprintf(&b, `{"id": %d, "list": [%s1]},`, i, strings.Repeat("1,", 100))
	}
	b.WriteString(`"end"]`)
	first := tree(t, b.String(), "", 0, "")
	require.EqualValues(t, 2001, first.Root.Count)
	require.Len(t, first.Root.Children, TreeChildren)
	require.LessOrEqual(t, countNodes(first.Root), treeNodes+TreeChildren+1)
	last := tree(t, b.String(), "", 2000, "")
	require.Equal(t, "end", last.Root.Children[0].Value)
	require.Equal(t, "$[2000]", last.Root.Children[0].Path)
	inner := tree(t, b.String(), "$[1500].list", 100, "")
	require.EqualValues(t, 101, inner.Root.Count)
	require.Len(t, inner.Root.Children, 1)
	found := tree(t, b.String(), "", 0, "999")
	require.Equal(t, "$[999].id", found.Found[0].Path)
	require.Len(t, found.Found, 2) // 999 and 1999
	require.True(t, tree(t, b.String(), "", 0, "LIST").MoreHits)
}

func countNodes(n *Node) int {
	total := 1
	for _, c := range n.Children {
		total += countNodes(c)
	}
	return total
}

// TestTreeHostile: damaged, deep and endless documents show their beginning, or say what is wrong.
func TestTreeHostile(t *testing.T) {
	t.Parallel()
	for text, problem := range map[string]string{
		`{"a": [1, 2`:                          "is truncated",
		`{"a": 1, b}`:                          "not valid JSON at byte",
		`{"a": 1} {"b": 2}`:                    "Only the first one is shown",
		strings.Repeat(`{"a":`, 5000):          "more than 1,000 levels",
		strings.Repeat("[", 1<<20):             "more than 1,000 levels",
		`{"a": "` + strings.Repeat("x", 1<<20): "is truncated",
	} {
		got := tree(t, text, "", 0, "x")
		require.Contains(t, got.Problem, problem, text[:min(len(text), 40)])
		require.NotNil(t, got.Root)
	}
	_, err := ReadTree(t.Context(), fileOf([]byte("]")), "", 0, "")
	require.True(t, apperr.Is(err, apperr.Invalid), err)
	empty := tree(t, "", "", 0, "")
	require.Nil(t, empty.Root)
	require.Contains(t, empty.Problem, "is truncated")
}

// TestTreeOfALargeFile: a document that is longer than the limit is not read to its end.
func TestTreeOfALargeFile(t *testing.T) {
	t.Parallel()
	f := fileOf([]byte(`["first",` + strings.Repeat(" ", TreeBytes) + `"last"]`))
	got, err := ReadTree(t.Context(), f, "", 0, "")
	require.NoError(t, err)
	require.Equal(t, "The document is larger than 32 MiB. Only its beginning is shown.", got.Problem)
	require.Equal(t, "first", got.Root.Children[0].Value)
	require.Len(t, got.Root.Children, 1)
}

func TestTreeEndsWithItsRequest(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := ReadTree(ctx, fileOf([]byte("["+strings.Repeat("1,", 10_000)+"1]")), "", 0, "")
	require.NoError(t, err)
	require.False(t, got.Complete)
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 45 {
		fmt.Fprintf(&b, "{\"id\": %d}\n", i)
	}
	b.WriteString("\nnot json\n" + `{"long": "` + strings.Repeat("y", lineBytes) + "\"}\n[1]")
	f := fileOf([]byte(b.String()))
	var numbers []int64
	var last Documents
	for from := (Position{}); ; from = *last.Next {
		var err error
		last, err = ReadDocuments(t.Context(), f, from, "")
		require.NoError(t, err)
		for _, r := range last.Rows {
			numbers = append(numbers, r.Number)
		}
		if last.Next == nil {
			break
		}
	}
	require.Len(t, numbers, 48)
	require.EqualValues(t, 49, numbers[47])
	rows := last.Rows[len(last.Rows)-3:]
	require.Equal(t, "not json", rows[0].Text)
	require.Contains(t, rows[1].Problem, "longer than 1 MiB")
	require.Equal(t, "array", rows[2].Root.Kind)

	found, err := ReadDocuments(t.Context(), f, Position{}, `"ID": 4`)
	require.NoError(t, err)
	require.Len(t, found.Rows, 6) // 4 and 40 to 44
	one, err := ReadDocument(t.Context(), f, found.Rows[1].At, "$.id", 0)
	require.NoError(t, err)
	require.Equal(t, "40", one.Root.Value)
}

func TestTextPages(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("größe ein\n", 100_000)
	f := fileOf([]byte(text))
	var all strings.Builder
	for from := (Position{}); ; {
		p, err := ReadText(f, from)
		require.NoError(t, err)
		require.True(t, p.Valid)
		require.LessOrEqual(t, len(p.Text), TextBytes)
		require.Equal(t, from.Row+1, p.First)
		all.WriteString(p.Text)
		if p.Next == nil {
			break
		}
		from = *p.Next
	}
	require.Equal(t, text, all.String())
	long, err := ReadText(fileOf([]byte(strings.Repeat("ä", TextBytes))), Position{})
	require.NoError(t, err)
	require.True(t, long.Valid, "no character is cut in two")
	past, err := ReadText(f, Position{Byte: 1 << 40})
	require.NoError(t, err)
	require.Empty(t, past.Text)
}

// TestLongNames: the names of a document are not repeated for each value in it, and a value that no
// path can select has none.
func TestLongNames(t *testing.T) {
	t.Parallel()
	text := `{"` + strings.Repeat("a", 100_000) + `": {"b": [` + strings.Repeat("7,", 200) + `7]}, "c": 7}`
	got := tree(t, text, "", 0, "7")
	require.True(t, got.Complete)
	long := got.Root.Children[0]
	require.Len(t, long.Key, treeText)
	require.Empty(t, long.Path)
	require.Empty(t, long.Children[0].Children[3].Path)
	require.Equal(t, "$.c", got.Root.Children[1].Path)
	require.Len(t, got.Found, MaxFound)
	require.Empty(t, got.Found[0].Path)
	raw, err := json.Marshal(got)
	require.NoError(t, err)
	require.Less(t, len(raw), 100<<10)
	_, err = ReadTree(t.Context(), fileOf([]byte(text)), `$["`+strings.Repeat("<", 3000)+`"]`, 0, "")
	require.True(t, apperr.Is(err, apperr.Invalid), "a path that is too long when it is written: %v", err)
}

func FuzzTree(f *testing.F) {
	for _, seed := range []string{`{"a": [1, {"b": null}], "c": "x"}`, `[[[[`, `{"a":`, `1 2`, "\ufeff[]", `{"a": 1e999}`, "[1,]", `"\ud800"`} {
		f.Add(seed, "$.a[1]", "b")
	}
	f.Fuzz(func(t *testing.T, text, at, find string) {
		got, err := ReadTree(t.Context(), fileOf([]byte(text)), at, 0, find)
		if err != nil {
			require.True(t, apperr.Is(err, apperr.Invalid), "%v", err)
			return
		}
		if got.Root != nil {
			require.LessOrEqual(t, countNodes(got.Root), treeNodes+TreeChildren+1)
			again, err := parsePath(got.Root.Path)
			require.NoError(t, err)
			require.Equal(t, got.Root.Path, pathText(again))
		}
		docs, err := ReadDocuments(t.Context(), fileOf([]byte(text)), Position{}, find)
		require.NoError(t, err)
		require.LessOrEqual(t, len(docs.Rows), DocumentRows)
	})
}
