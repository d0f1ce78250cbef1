package index_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/index"
)

func TestFacetsOfColumns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i, lr := range []float64{1e-4, 1.5e-3, 1.5e-3, 1.5e-2, 1} {
		b.run(auth.LocalProject, map[string]any{"lr": lr, "epochs": i * 10, "optimizer": []string{"adam", "sgd"}[i/3], "same": 7})
	}
	f, err := b.Facets(b.ctx, index.Query{Columns: []string{"lr", "epochs", "optimizer", "same", "user", "tags", "duration"}})
	require.NoError(t, err)
	require.Equal(t, []index.Count{{Value: "PENDING", N: 5}}, f.States)
	require.Len(t, f.Columns, 4, "durations have no values yet, and user and tags have their own facets")
	lr, epochs, optimizer, same := f.Columns[0], f.Columns[1], f.Columns[2], f.Columns[3]
	require.True(t, lr.Logarithmic)
	require.Equal(t, "inputs.lr", lr.Where)
	require.Equal(t, []float64{1e-4, 1}, []float64{lr.Least, lr.Most})
	counted := func(f index.ColumnFacet) map[int]int {
		found := map[int]int{}
		for i, n := range f.Buckets {
			if n > 0 {
				found[i] = n
			}
		}
		return found
	}
	require.Equal(t, map[int]int{0: 1, 7: 2, 13: 1, 23: 1}, counted(lr))
	require.False(t, epochs.Logarithmic)
	require.Equal(t, map[int]int{0: 1, 6: 1, 12: 1, 18: 1, 23: 1}, counted(epochs))
	require.Equal(t, []index.Count{{Value: "adam", N: 3}, {Value: "sgd", N: 2}}, optimizer.Texts)
	require.Equal(t, map[int]int{0: 5}, counted(same))

	for _, extreme := range []float64{-1.7e308, 0, 1.7e308} {
		b.run(auth.LocalProject, map[string]any{"extreme": extreme})
	}
	f, err = b.Facets(b.ctx, index.Query{Columns: []string{"extreme"}})
	require.NoError(t, err)
	require.Equal(t, map[int]int{0: 1, 12: 1, 23: 1}, counted(f.Columns[0]), "the width of the range is no number")

	f, err = b.Facets(b.ctx, index.Query{Where: "optimizer = sgd", Columns: []string{"lr"}})
	require.NoError(t, err)
	require.Equal(t, []float64{1.5e-2, 1}, []float64{f.Columns[0].Least, f.Columns[0].Most}, "facets are of the filtered executions")
	f, err = b.Facets(b.ctx, index.Query{Where: "lr > 5", Columns: []string{"lr"}})
	require.NoError(t, err)
	require.Empty(t, f.Columns)
}
