package comparison_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/comparison"
	"github.com/flowforge/flowforge/engine/comparison/curve"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// TestCurvesOfAnExecutionDifferInTheirDash: colours tell executions apart, dashes their series. A curve
// has the name of its execution.
func TestCurvesOfAnExecutionDifferInTheirDash(t *testing.T) {
	t.Parallel()
	one, two := uuid.MustParse("01900000-0000-7000-8000-00000022b457"), uuid.MustParse("01900000-0000-7000-8000-000000d06fde")
	line := func(id uuid.UUID, index int, split string) comparison.Curve {
		return comparison.Curve{Execution: id, Index: index, Tags: map[string]string{"split": split}, Points: []telemetry.Extreme{{X: 1, Y: 2}}}
	}
	c := comparison.Curves{
		Executions: []query.Execution{{ID: one, Name: "wide net"}, {ID: two}},
		Curves:     []comparison.Curve{line(one, 0, "test"), line(one, 0, "train"), line(two, 1, "test"), line(two, 1, "train")},
	}
	var names []string
	var styles []curve.Style
	for _, l := range c.Frame(10, nil).Lines {
		names, styles = append(names, l.Name), append(styles, l.Style)
	}
	require.Equal(t, []string{"wide net #22b457 {split=test}", "wide net #22b457 {split=train}", "#d06fde {split=test}", "#d06fde {split=train}"}, names)
	require.Equal(t, []curve.Style{{Color: 3}, {Color: 3, Dash: 1}, {Color: 5}, {Color: 5, Dash: 1}}, styles)
	c.Curves = []comparison.Curve{line(one, 0, "test"), line(two, 1, "test")}
	require.Equal(t, curve.Style{Color: 5}, c.Frame(10, nil).Lines[1].Style, "a solid line, because no other execution has its colour")
	three := uuid.MustParse("01900000-0000-7000-8000-000000000003")
	require.Equal(t, curve.ColorOf(two), curve.ColorOf(three))
	c.Executions = append(c.Executions, query.Execution{ID: three})
	c.Curves = append(c.Curves, line(three, 2, "test"))
	require.Equal(t, curve.Style{Color: 5, Dash: 1}, c.Frame(10, nil).Lines[2].Style, "executions with the same colour differ in their dash")
}
