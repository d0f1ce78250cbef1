package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFolder: a run has the folder of the run before it, but never that of a run at the same time.
func TestFolder(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	first, err := openFolder(t.Context(), parent)
	require.NoError(t, err)
	second, err := openFolder(t.Context(), parent)
	require.NoError(t, err)
	require.NotEqual(t, first.path, second.path)

	require.NoError(t, first.remove())
	require.NoDirExists(t, first.path)
	require.DirExists(t, second.path)
	again, err := openFolder(t.Context(), parent)
	require.NoError(t, err)
	require.Equal(t, first.path, again.path)
	require.NoError(t, again.remove())
	require.NoError(t, second.remove())
}

// TestFolderOfAKilledRun: the next run ends its engines and removes its files.
func TestFolderOfAKilledRun(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	killed, err := openFolder(t.Context(), parent)
	require.NoError(t, err)
	data := filepath.Join(killed.postgres(), "data")
	require.NoError(t, os.MkdirAll(data, 0o700))
	engine := exec.CommandContext(t.Context(), "sleep", "300")
	engine.Dir = data
	require.NoError(t, engine.Start())
	require.NoError(t, killed.lock.Close()) // as the kernel does

	next, err := openFolder(t.Context(), parent)
	require.NoError(t, err)
	require.Equal(t, killed.path, next.path)
	require.NoDirExists(t, data)
	require.Error(t, engine.Wait(), "a signal ends it")
	require.NoError(t, next.remove())
}
