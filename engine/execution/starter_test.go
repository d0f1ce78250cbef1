package execution_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/execution/query"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// TestAStartThatTheLauncherCancelsIsRepeated: the launcher ends a call with a cancellation of its own, while
// the loop continues.
func TestAStartThatTheLauncherCancelsIsRepeated(t *testing.T) {
	t.Parallel()
	b := setupPods(t)
	b.cluster.mu.Lock()
	b.cluster.failure = fmt.Errorf("create pods: %w", context.Canceled)
	b.cluster.mu.Unlock()
	id := b.launch(oneTask, nil)
	a := b.pod(t, query.TaskID(id, 0, 1))
	b.begins(a)
	b.ends(a, flowforgev1.Outcome_OUTCOME_SUCCEEDED, "")
	require.Equal(t, query.Succeeded, b.finish(id).Status)
}
