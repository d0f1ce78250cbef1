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
	for _, entry := range []string{"lr~", "lr~wide", "lr~20", "lr~99999", "lr~-64"} {
		_, _, err := index.ParseColumn(entry)
		require.True(t, apperr.Is(err, apperr.Invalid), entry)
	}
}
