package execution

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/expression"
	"github.com/flowforge/flowforge/engine/workflow"
)

// TestConditionsNeedTheWholeBody: a response of which the runner reported only the beginning
// does not meet a condition. Its length does not show that, because masking shortens it.
func TestConditionsNeedTheWholeBody(t *testing.T) {
	t.Parallel()
	condition, err := expression.ParseArgo(`response.body contains "***"`)
	require.NoError(t, err)
	request := &workflow.HTTP{Condition: condition}
	values := map[string]any{ResultPort: "the secret is ***"}
	reported := []output{{Name: ResultPort, Value: `"the secret is ***"`}}
	require.Empty(t, conditionProblem(request, values, reported))
	reported[0].Truncated = true
	require.Contains(t, conditionProblem(request, values, reported), "longer than 256 KiB")
}
