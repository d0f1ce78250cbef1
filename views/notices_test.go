package views

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNoticesHaveAKnownKind: a notice of another kind looks like information, even if it is an error.
func TestNoticesHaveAKnownKind(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.templ")
	require.NoError(t, err)
	notice := regexp.MustCompile(`ui\.Notice\("([a-z]*)"`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, found := range notice.FindAllStringSubmatch(string(text), -1) {
			require.True(t, slices.Contains([]string{"", "info", "ok", "warn", "error"}, found[1]), "%s: %s", file, found[0])
		}
	}
}
