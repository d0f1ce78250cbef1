package comparison_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/comparison"
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
	var styles [][2]int
	for _, l := range c.Frame(10, nil).Lines {
		names, styles = append(names, l.Name), append(styles, [2]int{l.Index, l.Dash})
	}
	require.Equal(t, []string{"wide net #22b457 {split=test}", "wide net #22b457 {split=train}", "#d06fde {split=test}", "#d06fde {split=train}"}, names)
	require.Equal(t, [][2]int{{0, 0}, {0, 1}, {1, 0}, {1, 1}}, styles)
	c.Curves = []comparison.Curve{line(one, 0, "test"), line(two, 1, "test")}
	require.Equal(t, 1, c.Frame(10, nil).Lines[1].Dash, "executions with one curve each differ in colour and dash")
}
