package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBackupAndRestore moves a server to another directory: executions, artifacts and logs
// are there, keys still work, and it launches what was registered.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	id := s.launch(t, "digits.train", map[string]any{"epochs": 3})
	require.Equal(t, "SUCCEEDED", s.wait(t, id, ended).Status)
	paths := []string{"/executions/" + id, "/executions/" + id + "/artifacts", "/executions/" + id + "/logs?limit=200"}
	before := map[string]string{}
	for _, path := range paths {
		before[path] = s.get(t, path)
	}
	file := filepath.Join(s.dir, "flowforge.tar.gz")
	out, err := tool(s.dir, "backup", file)
	require.Error(t, err)
	require.Contains(t, out, "is using", "a running server is not backed up")
	s.stop()
	out, err = tool(s.dir, "backup", file)
	require.NoError(t, err, out)

	elsewhere := t.TempDir()
	out, err = tool(elsewhere, "restore", file)
	require.NoError(t, err, out)
	next, err := startServer(elsewhere)
	require.NoError(t, err)
	t.Cleanup(next.stop)
	require.Equal(t, s.token, next.token)
	for _, path := range paths {
		require.Equal(t, before[path], next.get(t, path), path)
	}
	again := next.launch(t, "digits.train", map[string]any{"epochs": 2})
	require.Equal(t, "SUCCEEDED", next.wait(t, again, ended).Status)
}

// get returns the body of a path of the API.
func (s *server) get(t *testing.T, path string) string {
	t.Helper()
	status, body := s.call(t, http.MethodGet, path, nil)
	require.Equal(t, http.StatusOK, status, "%s: %s", path, body)
	return string(body)
}

// tool runs a command of the binary on the data directory of a server in dir.
func tool(dir string, args ...string) (string, error) {
	cmd := exec.Command(setting("FLOWFORGE_BINARY", "bin/flowforge"), args...)
	cmd.Env = append(os.Environ(), "FLOWFORGE_DATA_DIR="+filepath.Join(dir, "data"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}
