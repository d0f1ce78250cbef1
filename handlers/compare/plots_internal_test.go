package compare

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/comparison/sheet"
	"github.com/flowforge/flowforge/views"
)

// TestDivergedRunsKeepTheMetric: an execution whose metric is not finite has no place on the axis, but the
// others do.
func TestDivergedRunsKeepTheMetric(t *testing.T) {
	t.Parallel()
	row := sheet.Row{Section: sheet.Metrics, Path: "loss", Cells: []sheet.Cell{{Present: true, Value: 0.5}, {Present: true, Value: "NaN"}, {Present: true, Value: "+Inf"}, {Present: true, Value: 0.25}, {}}}
	c, ok := column(row)
	require.True(t, ok)
	require.Nil(t, c.Categories)
	require.Equal(t, []float64{0.5, 0.25}, []float64{c.Values[0], c.Values[3]})
	for _, i := range []int{1, 2, 4} {
		require.True(t, math.IsNaN(c.Values[i]))
	}
	row.Section = sheet.Inputs
	c, ok = column(row)
	require.True(t, ok)
	require.Equal(t, []string{"+Inf", "0.25", "0.5", "NaN"}, c.Categories, "a text of an input is a category")
}

func TestAxesOfInputsHaveShortNames(t *testing.T) {
	t.Parallel()
	columns := []views.PlotColumn{
		{Name: "optimizer.lr", Role: "input"}, {Name: "encoder.size", Role: "input"}, {Name: "decoder.size", Role: "input"}, {Name: "a.loss", Role: "input"}, {Name: "loss", Role: "objective"},
	}
	shorten(columns)
	var labels []string
	for _, c := range columns {
		labels = append(labels, c.Label)
	}
	require.Equal(t, []string{"lr", "", "", "", ""}, labels)
}
