package graph_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/lineage/graph"
)

// fixed is a source with fixed edges, which counts how often it was read.
type fixed struct {
	edges []graph.Edge
	reads int
	extra map[graph.Key]graph.Neighbours
}

func (f *fixed) Neighbours(_ context.Context, of []graph.Key, d graph.Direction) (map[graph.Key]graph.Neighbours, error) {
	f.reads++
	out := map[graph.Key]graph.Neighbours{}
	for _, k := range of {
		n := f.extra[k]
		for _, e := range f.edges {
			if d == graph.Down && e.From == k || d == graph.Up && e.To == k {
				n.Edges = append(n.Edges, e)
			}
		}
		out[k] = n
	}
	return out, nil
}

func edge(from, to graph.Key) graph.Edge {
	return graph.Edge{From: from, To: to, Relation: graph.Input}
}

// chain is raw → load → data → train → model → score → table.
func chain() []graph.Edge {
	return []graph.Edge{edge("raw", "load"), edge("load", "data"), edge("data", "train"), edge("train", "model"), edge("model", "score"), edge("score", "table")}
}

func steps(g graph.Graph) map[graph.Key]int {
	out := map[graph.Key]int{}
	for _, i := range g.Items {
		out[i.Key] = i.Step
	}
	return out
}

func TestWalkStopsAtItsDepthAndSaysWhatIsBehind(t *testing.T) {
	t.Parallel()
	g, err := graph.Walk(t.Context(), &fixed{edges: chain()}, "train", graph.Limits{Up: 1, Down: 2, Items: 100})
	require.NoError(t, err)
	require.Equal(t, map[graph.Key]int{"data": -1, "train": 0, "model": 1, "score": 2}, steps(g))
	require.Equal(t, graph.Key("data"), g.Items[0].Key)
	require.Equal(t, graph.More{Items: 1}, g.Items[0].Before, "load is behind data")
	require.Equal(t, graph.More{Items: 1}, g.Items[3].After, "table is behind score")
	require.Zero(t, g.Items[1].Before)
	require.False(t, g.Cut)
	require.Len(t, g.Edges, 3)
}

func TestWalkNeverLeavesOutSilently(t *testing.T) {
	t.Parallel()
	f := &fixed{extra: map[graph.Key]graph.Neighbours{"data": {More: 900, AtLeast: true, Hidden: 2}}}
	for i := range 50 {
		f.edges = append(f.edges, edge("data", graph.Key(fmt.Sprintf("run%d", i))))
	}
	g, err := graph.Walk(t.Context(), f, "data", graph.Limits{Up: 1, Down: 1, Items: 11})
	require.NoError(t, err)
	require.Len(t, g.Items, 11)
	require.True(t, g.Cut)
	require.Equal(t, graph.More{Items: 940, AtLeast: true, Hidden: 2}, g.Items[0].After)
}

func TestWalkEndsInACycle(t *testing.T) {
	t.Parallel()
	g, err := graph.Walk(t.Context(), &fixed{edges: []graph.Edge{edge("a", "b"), edge("b", "a"), edge("a", "a")}}, "a", graph.Limits{Up: 50, Down: 50, Items: 100})
	require.NoError(t, err)
	require.Len(t, g.Items, 2)
}

func TestWalkReadsOncePerStep(t *testing.T) {
	t.Parallel()
	f := &fixed{}
	for i := range 500 {
		mid := graph.Key(fmt.Sprintf("m%d", i))
		f.edges = append(f.edges, edge("a", mid), edge(mid, "z"))
	}
	g, err := graph.Walk(t.Context(), f, "a", graph.Limits{Up: 5, Down: 5, Items: 1000})
	require.NoError(t, err)
	require.Len(t, g.Items, 502)
	require.LessOrEqual(t, f.reads, 5)
}

func TestReachedNamesTheRootsMadeFromTheFocus(t *testing.T) {
	t.Parallel()
	f := &fixed{edges: append(chain(), edge("other", "train2"), edge("train2", "model2"))}
	roots := []graph.Key{"model", "model2"}
	edges, complete, err := graph.Ancestors(t.Context(), f, roots, 100)
	require.NoError(t, err)
	require.True(t, complete)
	require.Equal(t, []graph.Key{"model"}, graph.Reached("raw", edges, roots))
	require.Equal(t, []graph.Key{"model2"}, graph.Reached("other", edges, roots))
	require.Empty(t, graph.Reached("table", edges, roots))
	_, complete, err = graph.Ancestors(t.Context(), f, roots, 3)
	require.NoError(t, err)
	require.False(t, complete, "more items than the limit")
	f.extra = map[graph.Key]graph.Neighbours{"data": {Hidden: 1}}
	_, complete, err = graph.Ancestors(t.Context(), f, roots, 100)
	require.NoError(t, err)
	require.False(t, complete, "something is hidden")
}
