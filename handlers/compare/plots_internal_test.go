package compare

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/views"
)

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
