package table

import (
	"bytes"
	"encoding/csv"
	"testing"

	"github.com/google/uuid"
	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/index"
)

func TestRowsOfCSVAreAlikeAndHaveNoFormulas(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	e := &csvExport{csv.NewWriter(&out)}
	columns := []index.Column{{Path: "name", Type: "text"}, {Path: "inputs.lr", Type: "number"}}
	require.NoError(t, e.head(columns))
	id := uuid.New()
	require.NoError(t, e.row(index.Row{ID: id, Values: []any{"=1+1", -0.5}}, columns))
	require.NoError(t, e.row(index.Row{ID: id}, columns)) // removed since
	require.NoError(t, e.flush())
	rows, err := csv.NewReader(&out).ReadAll()
	require.NoError(t, err)
	require.Equal(t, [][]string{{"execution_id", "name", "inputs.lr"}, {id.String(), "'=1+1", "-0.5"}, {id.String(), "", ""}}, rows)
}

func TestParquetIsWrittenInGroupsOfRows(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	columns := []index.Column{{Path: "inputs.lr", Type: "number"}}
	e := newParquetExport(&out, columns)
	for range groupRows + 1 {
		require.NoError(t, e.row(index.Row{ID: uuid.UUID{1}, Values: []any{0.5}}, columns))
	}
	require.NoError(t, e.end())
	f, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
	require.NoError(t, err)
	require.Len(t, f.RowGroups(), 2)
	require.EqualValues(t, groupRows+1, f.NumRows())
}
