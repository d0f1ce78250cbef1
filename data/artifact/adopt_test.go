package artifact

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/channel/mark"
)

// leave hands a file over like a runner: by a hard link to the task's file.
func leave(t *testing.T, s *DiskStore, content, hash string) (output string) {
	t.Helper()
	output = filepath.Join(t.TempDir(), "model.bin")
	require.NoError(t, os.WriteFile(output, []byte(content), 0o644))
	require.NoError(t, os.Link(output, handoverPath(s.dir, "task", hash)))
	return output
}

// handoverPath is where the runner of a task leaves the file with hash for the store in dir.
func handoverPath(dir, task, hash string) string {
	return filepath.Join(dir, handover, task+"."+hash)
}

func inode(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info
}

func TestAdoptTakesTheFileItself(t *testing.T) { //nolint:paralleltest // a process that another test starts would inherit the open file for a moment
	s := newDisk(t)
	output := leave(t, s, "hello", helloHash)
	blob, err := s.Adopt(t.Context(), "task."+helloHash, helloHash)
	require.NoError(t, err)
	require.Equal(t, Blob{SHA256: helloHash, Size: 5}, blob)
	stored := s.join("data", "2c", "f2", helloHash)
	require.True(t, os.SameFile(inode(t, output), inode(t, stored)), "no byte is copied")
	require.Equal(t, os.FileMode(0o444), inode(t, stored).Mode().Perm())
	require.True(t, mark.Holds(stored, inode(t, stored)))
	require.NoFileExists(t, handoverPath(s.dir, "task", helloHash))
	require.NoError(t, verify(t.Context(), s, helloHash))

	// A repetition, as after a lost answer, finds three links, so the file is uploaded
	// instead.
	require.NoError(t, os.Link(output, handoverPath(s.dir, "task", helloHash)))
	_, err = s.Adopt(t.Context(), "task."+helloHash, helloHash)
	require.True(t, apperr.Is(err, apperr.Conflict), "%v", err)
	require.NoError(t, verify(t.Context(), s, helloHash))
}

func TestAdoptRefuses(t *testing.T) {
	t.Parallel()
	other := "486ea46224d1bb4fb680f34f7c9ad96a8f24ec88be73ea8e5a6c65260e9cb8a7" // of "world"
	for name, c := range map[string]struct {
		prepare func(t *testing.T, s *DiskStore) (name, hash string)
		want    apperr.Code
	}{
		"nothing there": {func(*testing.T, *DiskStore) (string, string) { return "task." + helloHash, helloHash }, apperr.Conflict},
		"other bytes": {func(t *testing.T, s *DiskStore) (string, string) {
			leave(t, s, "hello", other)
			return "task." + other, other
		}, apperr.Invalid},
		"a third name": {func(t *testing.T, s *DiskStore) (string, string) {
			output := leave(t, s, "hello", helloHash)
			require.NoError(t, os.Link(output, output+".kept"))
			return "task." + helloHash, helloHash
		}, apperr.Conflict},
		"a writer": {func(t *testing.T, s *DiskStore) (string, string) {
			f, err := os.OpenFile(leave(t, s, "hello", helloHash), os.O_WRONLY, 0)
			require.NoError(t, err)
			t.Cleanup(func() { _ = f.Close() })
			return "task." + helloHash, helloHash
		}, apperr.Conflict},
		"a link": {func(t *testing.T, s *DiskStore) (string, string) {
			require.NoError(t, os.Symlink("/etc/passwd", handoverPath(s.dir, "task", helloHash)))
			return "task." + helloHash, helloHash
		}, apperr.Conflict},
		"a way out":  {func(*testing.T, *DiskStore) (string, string) { return "../data/x." + helloHash, helloHash }, apperr.Invalid},
		"no hash":    {func(*testing.T, *DiskStore) (string, string) { return "task.x", "x" }, apperr.Invalid},
		"other name": {func(*testing.T, *DiskStore) (string, string) { return "task." + other, helloHash }, apperr.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newDisk(t)
			file, hash := c.prepare(t, s)
			_, err := s.Adopt(t.Context(), file, hash)
			require.True(t, apperr.Is(err, c.want), "%v", err)
			_, err = s.Stat(t.Context(), helloHash)
			require.True(t, apperr.Is(err, apperr.NotFound), "nothing is stored: %v", err)
		})
	}
}

func TestStoredFilesAreMarked(t *testing.T) {
	t.Parallel()
	s := newDisk(t)
	file, err := os.Open(leave(t, s, "hello", helloHash))
	require.NoError(t, err)
	defer file.Close()
	_, err = s.Put(t.Context(), io.Reader(file), helloHash)
	require.NoError(t, err)
	stored := s.join("data", "2c", "f2", helloHash)
	require.True(t, mark.Holds(stored, inode(t, stored)), "a put is marked too")
	require.Zero(t, inode(t, stored).Mode().Perm()&0o222, "the file is read-only")
}
