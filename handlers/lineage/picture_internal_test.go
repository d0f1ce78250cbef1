package lineage

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/lineage"
)

// TestItemsWithOneNameDifferInTheirExecution: a dataset is read by nodes of the same name.
func TestItemsWithOneNameDifferInTheirExecution(t *testing.T) {
	t.Parallel()
	id := uuid.MustParse("01a2250f-5e71-7b76-a333-161de219911e")
	item := lineage.Item{Kind: lineage.KindNode, Name: "load", Workflow: "digits.train", Execution: id}
	require.Equal(t, "digits.train #19911e", executionOf(item))
	item.Kind = lineage.KindModel
	require.Empty(t, executionOf(item))
	item.Kind, item.Removed = lineage.KindArtifact, true
	require.Empty(t, executionOf(item))
}
