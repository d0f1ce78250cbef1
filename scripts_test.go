package flowforge_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// bareMachine returns the PATH of a machine with only the programs that the scripts
// themselves use, and an apt-get that records its arguments.
func bareMachine(t *testing.T) (path, calls string) {
	t.Helper()
	path, calls = t.TempDir(), filepath.Join(t.TempDir(), "calls")
	for _, name := range []string{"sh", "cat", "dirname", "env", "flock", "grep", "cut", "sort", "tail", "id", "uname", "mkdir", "mktemp", "mv", "rm"} {
		program, err := exec.LookPath(name)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(program, filepath.Join(path, name)))
	}
	script(t, filepath.Join(path, "apt-get"), `printf '%s\n' "$*" >>`+calls)
	script(t, filepath.Join(path, "sudo"), `shift; exec "$@"`)
	return path, calls
}

func script(t *testing.T, path, body string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755))
}

func setup(t *testing.T, path, part string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "scripts/setup", part)
	cmd.Env = []string{"PATH=" + path, "FLOWFORGE_CACHE_DIR=" + t.TempDir()}
	out, err := cmd.CombinedOutput()
	require.Error(t, err, "a bare machine has no npm") // The output describes what is missing.
	return string(out)
}

// TestSetupInstallsChromium: the script installs Chromium on a machine without it.
// `command -v` must not find a shell function of the script instead.
func TestSetupInstallsChromium(t *testing.T) {
	t.Parallel()
	path, calls := bareMachine(t)
	setup(t, path, "browser")
	requested, err := os.ReadFile(calls)
	require.NoError(t, err, "apt-get was never called")
	require.Contains(t, string(requested), "install -y --no-install-recommends chromium-headless-shell")

	script(t, filepath.Join(path, "chromium-headless-shell"), "exit 0")
	require.NoError(t, os.Remove(calls))
	require.Contains(t, setup(t, path, "browser"), "npm is needed")
	require.NoFileExists(t, calls, "this machine has Chromium")
}

// TestCIPlansWhatAChangeTouches: after make test, CI runs the parts of make test-all that
// read the changed files; without a base commit, those that need no cluster.
func TestCIPlansWhatAChangeTouches(t *testing.T) {
	t.Parallel()
	clone := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = clone
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
		out, err := cmd.Output()
		require.NoError(t, err, "%s %v", name, args)
		return strings.TrimSpace(string(out))
	}
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(clone, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
	}
	for _, name := range []string{"scripts/ci", "scripts/lib.sh"} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		write(name, string(text))
	}
	run("git", "init", "-q")
	run("git", "add", ".")
	run("git", "commit", "-qm", "first")
	require.Equal(t, "test long ha", run("scripts/ci", "--plan"), "nothing to compare with")
	change := func(paths ...string) string {
		t.Helper()
		before := run("git", "rev-parse", "HEAD")
		for _, path := range paths {
			write(path, "package x\n")
		}
		run("git", "add", ".")
		run("git", "commit", "-qm", "change")
		return run("env", "FLOWFORGE_CI_BASE="+before, "scripts/ci", "--plan")
	}
	require.Equal(t, "test", change("docs/design.md"))
	require.Equal(t, "test long ha race", change("engine/execution/loop.go", "engine/execution/loop_test.go"))
	require.Equal(t, "test kube", change("deploy/helm/flowforge/values.yaml"))
	require.Equal(t, "test race", change("access/auth/x_test.go"))
	require.Equal(t, "test pods", change("sdk/metaflow/deploy.py"), "flows run in pods")
}
