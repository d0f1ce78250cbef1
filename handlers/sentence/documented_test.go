package sentence

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKindsAreDocumented: docs/events.md lists every kind of event.
func TestKindsAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "events.md"))
	require.NoError(t, err)
	for kind := range eventWords() {
		require.Contains(t, string(text), "`"+string(kind)+"`")
	}
}
