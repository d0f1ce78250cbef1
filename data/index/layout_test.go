package index_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/index"
)

func TestLayoutOfColumns(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]index.Layout{"lr": {}, "lr~pin": {Pinned: true}, "lr~240": {Width: 240}, "lr~pin~240": {Pinned: true, Width: 240}} {
		name, layout, err := index.ParseColumn(entry)
		require.NoError(t, err)
		require.Equal(t, "lr", name)
		require.Equal(t, want, layout)
		require.Equal(t, entry, layout.Entry(name))
		require.Equal(t, "lr", index.ColumnName(entry))
	}
	for _, entry := range []string{"lr~", "lr~wide", "lr~20", "lr~99999", "lr~-64", "inputs.lr~chart", "metrics.loss~chart~240", "metrics.loss~pin~chart", "metrics.~chart"} {
		_, _, err := index.ParseColumn(entry)
		require.True(t, apperr.Is(err, apperr.Invalid), entry)
	}
}

func TestChartsAreEntriesOfMetrics(t *testing.T) {
	t.Parallel()
	metrics, columns := index.Charts([]string{"user~pin", "metrics.val loss~chart", "metrics.loss", "metrics.loss~chart", "metrics.loss~chart", "inputs.lr~chart"})
	require.Equal(t, []string{"val loss", "loss"}, metrics)
	require.Equal(t, []string{"user~pin", "metrics.loss", "inputs.lr~chart"}, columns, "the index refuses the last one")
	for _, metric := range metrics {
		entry, ok := index.ChartEntry(metric)
		require.True(t, ok)
		again, rest := index.Charts([]string{entry})
		require.Equal(t, []string{metric}, again)
		require.Empty(t, rest)
	}
	for _, metric := range []string{"", "a,b", "a~b"} {
		_, ok := index.ChartEntry(metric)
		require.False(t, ok, metric)
	}
}
