package sentence

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/execution/query"
)

// TestEveryKindHasASentence: each kind has words and a state, and there are no other words.
func TestEveryKindHasASentence(t *testing.T) {
	t.Parallel()
	kinds := query.EventKinds()
	require.Len(t, eventWords(), len(kinds))
	for _, kind := range kinds {
		w := eventWords()[kind]
		require.NotEmpty(t, w.words, kind)
		require.NotEmpty(t, w.state, kind)
		require.Contains(t, Event(query.Event{Kind: string(kind), Node: "train"}), " "+w.words, kind)
	}
}

// TestKindsAreConstants: the engine names kinds by the constants, so a kind without words
// does not compile or fails TestEveryKindHasASentence.
func TestKindsAreConstants(t *testing.T) {
	t.Parallel()
	constants, err := os.ReadFile("../../engine/execution/query/eventkinds.go")
	require.NoError(t, err)
	require.Equal(t, len(query.EventKinds()), strings.Count(string(constants), "EventKind = "), "EventKinds returns all constants")
	files, err := filepath.Glob("../../engine/execution/*.go")
	require.NoError(t, err)
	require.Greater(t, len(files), 50)
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, kind := range query.EventKinds() {
			require.NotContains(t, string(text), `"`+string(kind)+`"`, path)
		}
	}
}
