package app

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// dataDirectory makes a directory with the kinds of entries that a server leaves.
func dataDirectory(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"postgres/initialised": "", "postgres/data/PG_VERSION": "17\n", "postgres/data/postmaster.pid": "1\n",
		"postgres/lock": "1", "secrets/api-keys": "k", "runner/a/state": "x", "run/leftover": "x", "artifacts/ab/cd": "bytes",
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	require.NoError(t, os.Symlink("cd", filepath.Join(dir, "artifacts", "ab", "link")))
	require.NoError(t, os.Chmod(filepath.Join(dir, "artifacts", "ab", "cd"), 0o440))
	require.NoError(t, os.Chmod(filepath.Join(dir, "artifacts", "ab"), 0o550))
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "artifacts", "ab"), 0o750) })
	return dir
}

func TestBackupRestoresFilesWithTheirModes(t *testing.T) {
	t.Parallel()
	from, file, to := dataDirectory(t), filepath.Join(t.TempDir(), "b.tar.gz"), filepath.Join(t.TempDir(), "new", "data")
	written, err := Backup(t.Context(), from, file)
	require.NoError(t, err)
	require.Equal(t, BackupSummary{Files: 4, Bytes: 9}, written)
	restored, err := Restore(t.Context(), file, to)
	require.NoError(t, err)
	require.Equal(t, written, restored)
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(to, "artifacts", "ab"), 0o750) })

	content, err := os.ReadFile(filepath.Join(to, "artifacts", "ab", "link"))
	require.NoError(t, err)
	require.Equal(t, "bytes", string(content))
	for name, mode := range map[string]os.FileMode{"artifacts/ab/cd": 0o440, "artifacts/ab": 0o550, "secrets/api-keys": 0o600} {
		info, err := os.Stat(filepath.Join(to, name))
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm(), name)
	}
	for _, name := range skippedInBackup() {
		require.NoFileExists(t, filepath.Join(to, name))
	}
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "a backup holds secrets")
}

func TestBackupRefusals(t *testing.T) {
	t.Parallel()
	from := dataDirectory(t)
	file := filepath.Join(t.TempDir(), "b.tar.gz")

	_, err := Backup(t.Context(), t.TempDir(), file)
	require.ErrorContains(t, err, "has no database")
	lock, err := lockDir(filepath.Join(from, "server.lock"), from)
	require.NoError(t, err)
	_, err = Backup(t.Context(), from, file)
	require.ErrorContains(t, err, "is using "+from)
	lock.release()
	require.NoFileExists(t, file)

	_, err = Backup(t.Context(), from, file)
	require.NoError(t, err)
	_, err = Backup(t.Context(), from, file)
	require.ErrorContains(t, err, "exists")
	_, err = Restore(t.Context(), file, from)
	require.ErrorContains(t, err, "is not empty")
}

func TestRestoreOfADamagedFileLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole.tar.gz")
	_, err := Backup(t.Context(), dataDirectory(t), whole)
	require.NoError(t, err)
	content, err := os.ReadFile(whole)
	require.NoError(t, err)
	flipped := append([]byte(nil), content...)
	flipped[len(flipped)-6] ^= 1 // in the checksum
	for name, bytes := range map[string][]byte{"cut short": content[:len(content)/2], "changed": flipped, "another file": []byte("text")} {
		file, to := filepath.Join(dir, name), filepath.Join(dir, name+" restored")
		require.NoError(t, os.WriteFile(file, bytes, 0o600))
		_, err := Restore(t.Context(), file, to)
		require.ErrorContains(t, err, name)
		left, err := os.ReadDir(to)
		require.NoError(t, err)
		require.Empty(t, left, name)
	}
}
