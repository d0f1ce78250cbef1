package runner

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEmptyDoesNotWaitForAPipe: a task can put a pipe in the place of its folder, and opening a
// pipe blocks until another process opens it.
func TestEmptyDoesNotWaitForAPipe(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(base, "outputs"), 0o700))
	require.NoError(t, syscall.Mkfifo(filepath.Join(base, "work"), 0o600))
	require.False(t, empty(paths{base: base}))
}

func TestEmptyRemovesTheContents(t *testing.T) {
	t.Parallel()
	base, outside := t.TempDir(), filepath.Join(t.TempDir(), "kept")
	require.NoError(t, os.WriteFile(outside, nil, 0o600))
	for _, folder := range []string{"work", "outputs"} {
		require.NoError(t, os.MkdirAll(filepath.Join(base, folder, "deep"), 0o700))
		require.NoError(t, os.Symlink(filepath.Dir(outside), filepath.Join(base, folder, "link")))
	}
	require.True(t, empty(paths{base: base}))
	require.FileExists(t, outside)
	for _, folder := range []string{"work", "outputs"} {
		names, err := readNames(filepath.Join(base, folder))
		require.NoError(t, err)
		require.Empty(t, names)
	}
}
