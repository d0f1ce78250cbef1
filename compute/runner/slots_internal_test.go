package runner

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// TestEmptyDoesNotWaitForAPipe: a task can put a pipe in the place of its folder, and opening a
// pipe blocks until another process opens it.
func TestEmptyDoesNotWaitForAPipe(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(base, "outputs"), 0o700))
	require.NoError(t, syscall.Mkfifo(filepath.Join(base, "work"), 0o600))
	require.False(t, empty(paths{base: base, code: &slotCode{}}))
}

func TestEmptyRemovesTheContents(t *testing.T) {
	t.Parallel()
	base, outside := t.TempDir(), filepath.Join(t.TempDir(), "kept")
	require.NoError(t, os.WriteFile(outside, nil, 0o600))
	for _, folder := range []string{"work", "outputs"} {
		require.NoError(t, os.MkdirAll(filepath.Join(base, folder, "deep"), 0o700))
		require.NoError(t, os.Symlink(filepath.Dir(outside), filepath.Join(base, folder, "link")))
	}
	require.True(t, empty(paths{base: base, code: &slotCode{}}))
	require.FileExists(t, outside)
	for _, folder := range []string{"work", "outputs"} {
		names, err := readNames(filepath.Join(base, folder))
		require.NoError(t, err)
		require.Empty(t, names)
	}
}

// codeSlots returns slots, and a function that runs an attempt in one: it places the package and the
// script, calls task, and releases the slot.
func codeSlots(t *testing.T, packages map[string]map[string]string) func(sha, script string, task func(p paths)) {
	t.Helper()
	dir, unpacked := t.TempDir(), t.TempDir()
	for sha, files := range packages {
		require.NoError(t, os.Mkdir(filepath.Join(unpacked, sha), 0o700))
		for name, content := range files {
			require.NoError(t, os.WriteFile(filepath.Join(unpacked, sha, name), []byte(content), 0o600))
		}
	}
	s := newSlots(dir, "")
	require.NoError(t, os.Mkdir(s.dir, 0o700))
	return func(sha, script string, task func(p paths)) {
		work := &flowforgev1.Process{Interpreter: "python", Script: script}
		spec := &flowforgev1.AttemptSpec{PackageSha256: sha, Work: &flowforgev1.AttemptSpec_Process{Process: work}}
		p, _, err := s.take("task", "", nil, codeKey(spec))
		require.NoError(t, err)
		if sha != "" {
			require.NoError(t, p.code.copyFrom(filepath.Join(unpacked, sha)))
		}
		_, err = p.code.writeScript(work)
		require.NoError(t, err)
		task(p)
		s.release(p)
	}
}

// filesIn returns the content of the files in the working directory.
func filesIn(t *testing.T, p paths) map[string]string {
	t.Helper()
	names, err := readNames(p.work)
	require.NoError(t, err)
	found := make(map[string]string)
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(p.work, name))
		require.NoError(t, err)
		found[name] = string(text)
	}
	return found
}

func inode(t *testing.T, p paths, name string) uint64 {
	t.Helper()
	info, err := os.Lstat(filepath.Join(p.work, name))
	require.NoError(t, err)
	return info.Sys().(*syscall.Stat_t).Ino
}

func TestSlotsKeepTheCodeOfTheLastAttempt(t *testing.T) {
	t.Parallel()
	run := codeSlots(t, map[string]map[string]string{"aa": {"flow.py": "first", "script.py": "own"}, "bb": {"flow.py": "2", "more.py": ""}})
	var flow, script uint64
	run("aa", "long script", func(p paths) {
		flow, script = inode(t, p, "flow.py"), inode(t, p, "script1.py")
		require.NoError(t, os.WriteFile(filepath.Join(p.work, "made"), nil, 0o600))
	})
	run("aa", "short", func(p paths) {
		require.Equal(t, map[string]string{"flow.py": "first", "script.py": "own", "script1.py": "short"}, filesIn(t, p))
		require.Equal(t, []uint64{flow, script}, []uint64{inode(t, p, "flow.py"), inode(t, p, "script1.py")})
	})
	run("bb", "x", func(p paths) {
		require.Equal(t, map[string]string{"flow.py": "2", "more.py": "", "script.py": "x"}, filesIn(t, p))
	})
	run("", "y", func(p paths) { require.Equal(t, map[string]string{"script.py": "y"}, filesIn(t, p)) })
}

// The next attempt sees nothing that the last one did to its code.
func TestChangedCodeIsNotKept(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, flow, outside string) error{
		"content":     func(_ *testing.T, flow, _ string) error { return os.WriteFile(flow, []byte("other"), 0o600) },
		"permissions": func(_ *testing.T, flow, _ string) error { return os.Chmod(flow, 0o777) },
		"removed":     func(_ *testing.T, flow, _ string) error { return os.Remove(flow) },
		"linked":      func(_ *testing.T, flow, outside string) error { return os.Link(flow, outside+"-2") },
		"symbolic": func(_ *testing.T, flow, outside string) error {
			return errors.Join(os.Remove(flow), os.WriteFile(outside, []byte("kept"), 0o600), os.Symlink(outside, flow))
		},
		"pipe": func(_ *testing.T, flow, _ string) error {
			return errors.Join(os.Remove(flow), syscall.Mkfifo(flow, 0o600))
		},
		"folder": func(_ *testing.T, flow, _ string) error { return errors.Join(os.Remove(flow), os.Mkdir(flow, 0o700)) },
		"copy": func(_ *testing.T, flow, _ string) error {
			return errors.Join(os.Rename(flow, flow+"-2"), os.WriteFile(flow, []byte("first"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run, outside := codeSlots(t, map[string]map[string]string{"aa": {"flow.py": "first"}}), filepath.Join(t.TempDir(), "outside")
			var before os.FileInfo
			run("aa", "x", func(p paths) {
				var err error
				before, err = os.Lstat(filepath.Join(p.work, "flow.py"))
				require.NoError(t, err)
				require.NoError(t, change(t, filepath.Join(p.work, "flow.py"), outside))
			})
			run("aa", "x", func(p paths) {
				require.Equal(t, map[string]string{"flow.py": "first", "script.py": "x"}, filesIn(t, p))
				info, err := os.Lstat(filepath.Join(p.work, "flow.py"))
				require.NoError(t, err)
				require.Equal(t, before.Mode(), info.Mode())
			})
			if text, err := os.ReadFile(outside); err == nil {
				require.Equal(t, "kept", string(text))
			}
		})
	}
}
