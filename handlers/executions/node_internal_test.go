package executions

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/workflow"
)

func TestRetryDelaysInWords(t *testing.T) {
	t.Parallel()
	r := workflow.Retry{Limit: 2, InitialDelay: 2 * time.Second, Factor: 2, MaxDelay: 30 * time.Second}
	require.Equal(t, "after 2 s, then 2 times as long each time, up to 30 s", retryDelays(r))
	r.Limit = 1
	require.Equal(t, "after 2 s", retryDelays(r), "there is no second delay")
}

// TestSmallValuesHaveNoTransport: how a number or a short text reaches its task is of no interest.
func TestSmallValuesHaveNoTransport(t *testing.T) {
	t.Parallel()
	value := execution.Edge{Input: "seed", Size: 1}
	value.Reason = "passed inline"
	require.Empty(t, transport(value))
	value.From = "split.rows"
	require.Equal(t, "from split.rows", transport(value))
	value.Reason = "same machine"
	require.Contains(t, transport(value), "same machine, 1 B")
}
