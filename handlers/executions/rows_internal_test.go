package executions

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/views/ui"
)

// TestRowsOfASweepShowWhatItVaries: older executions with other values do not hide what differs from
// the rows beside.
func TestRowsOfASweepShowWhatItVaries(t *testing.T) {
	t.Parallel()
	run := func(lr, epochs, size string) query.Execution {
		return query.Execution{Inputs: map[string]any{"epochs": json.Number(epochs), "lr": json.Number(lr), "size": json.Number(size)}}
	}
	list := []query.Execution{run("0.1", "2", "32"), run("0.1", "2", "64"), run("0.2", "3", "64"), run("0.3", "4", "64")}
	inputs := make([]map[string]any, len(list))
	for i, e := range list {
		inputs[i] = parts(e.Inputs)
	}
	names := differingInputs(list, inputs)[uuid.Nil]
	require.Equal(t, []string{"epochs", "lr", "size"}, names)
	require.Equal(t, []string{"size", "epochs", "lr"}, changedFirst(names, list, inputs, 0))
	require.Equal(t, []string{"epochs", "lr", "size"}, changedFirst(names, list, inputs, 3))
}

func TestRowsShowPartsThatDiffer(t *testing.T) {
	t.Parallel()
	run := func(lr string) query.Execution {
		return query.Execution{WorkflowID: uuid.Nil, Inputs: map[string]any{
			"epochs": json.Number("4"), "params": map[string]any{"lr": json.Number(lr), "size": json.Number("8")},
			"data": map[string]any{"$catalogue": "uci-digits@1"},
		}}
	}
	list := []query.Execution{run("0.1"), run("0.2")}
	inputs := []map[string]any{parts(list[0].Inputs), parts(list[1].Inputs)}
	names := differingInputs(list, inputs)[uuid.Nil]
	require.Equal(t, []string{"params.lr"}, names)
	many := slices.Concat(list, []query.Execution{run("0.3")})
	many[0].Inputs["epochs"] = json.Number("5")
	inputs = []map[string]any{parts(many[0].Inputs), parts(many[1].Inputs), parts(many[2].Inputs)}
	require.Equal(t, []string{"params.lr", "epochs"}, differingInputs(many, inputs)[uuid.Nil], "the input with the most values comes first")
	require.Equal(t, []ui.Fact{{Name: "lr", Value: "0.2"}}, shortNames(figures(inputs[1], names, inputsShown)))
	require.Equal(t, []ui.Fact{{Name: "a.lr"}, {Name: "b.lr"}}, shortNames([]ui.Fact{{Name: "a.lr"}, {Name: "b.lr"}}), "equal last names keep their paths")
}
