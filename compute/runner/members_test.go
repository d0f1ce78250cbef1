package runner

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMembersOfOneProcess: members run in dependency order, only the main member writes
// to stdout, and a failure prevents its dependents from running.
func TestMembersOfOneProcess(t *testing.T) {
	t.Parallel()
	sh := func(text string) []string { return []string{"sh", "-c", text} }
	for name, row := range map[string]struct {
		members []Member
		code    int
		stdout  string
		says    []string
	}{
		"in order": {[]Member{
			{Name: "main", Command: sh("echo out $WHO; echo err >&2"), After: []string{"b"}, Env: map[string]string{"WHO": "me"}},
			{Name: "b", Command: sh("echo of b"), After: []string{"a"}}, {Name: "a", Command: sh("echo of a; printf unended")},
		}, 0, "out me\n", []string{"[a] of a\n", "[a] unended\n", "[b] of b\n", "err\n"}},
		"what follows a failure does not run": {[]Member{
			{Name: "a", Command: sh("exit 4")}, {Name: "main", Command: sh("echo never"), After: []string{"a"}},
		}, 4, "", []string{"[a] exited with code 4.", "[main] did not run"}},
		"the code of main wins": {[]Member{{Name: "a", Command: sh("exit 4")}, {Name: "main", Command: sh("exit 5")}}, 5, "", []string{"[main] exited with code 5."}},
		"no such command":       {[]Member{{Name: "main", Command: []string{"/no/such/program"}}}, failedMember, "", []string{"/no/such/program"}},
		"variables":             {[]Member{{Name: "main", Command: []string{"echo", "$(TO)", "$$(TO)"}, Env: map[string]string{"WHO": `a "b"`, "TO": "to $(WHO)"}, Order: []string{"WHO", "TO"}}}, 0, "to a \"b\" $(TO)\n", nil},
		"retries":               {[]Member{{Name: "main", Command: sh("test -e again && exit 0; touch again; exit 1"), Retries: 1, Folder: t.TempDir()}}, 0, "", nil},
		"without main":          {[]Member{{Name: "a", Command: sh("kill -9 $$")}}, 137, "", []string{"[a] exited with code 137."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := make([]string, len(row.members))
			for i, m := range row.members {
				all[i] = m.Name
			}
			var stdout, stderr bytes.Buffer
			code, err := RunMembers(t.Context(), Members{Run: row.members, All: all, Main: "main", Lead: true}, os.Environ(), &stdout, &stderr)
			require.NoError(t, err)
			require.Equal(t, row.code, code, stderr.String())
			require.Equal(t, row.stdout, stdout.String())
			for _, says := range row.says {
				require.Contains(t, stderr.String(), says)
			}
		})
	}
}

// TestMembersOfSeveralProcesses: as containers of a pod, members communicate through the
// shared folder; none starts before the leader.
func TestMembersOfSeveralProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	began := filepath.Join(dir, "a.log")
	var group sync.WaitGroup
	group.Go(func() {
		code, err := RunMembers(t.Context(), Members{Dir: dir, Run: []Member{{Name: "a", Command: []string{"echo", "of a"}}}}, os.Environ(), &bytes.Buffer{}, &bytes.Buffer{})
		if err != nil || code != 0 {
			t.Errorf("member a: %d, %v", code, err)
		}
	})
	require.Never(t, func() bool { _, err := os.Stat(began); return err == nil }, 5*memberPoll, memberPoll)
	var stdout, stderr bytes.Buffer
	lead := Members{Dir: dir, Run: []Member{{Name: "main", Command: []string{"echo", "done"}, After: []string{"a"}}}, All: []string{"a", "main"}, Main: "main", Lead: true}
	code, err := RunMembers(t.Context(), lead, os.Environ(), &stdout, &stderr)
	require.NoError(t, err)
	require.Zero(t, code)
	require.Equal(t, "done\n", stdout.String())
	require.Contains(t, stderr.String(), "[a] of a\n")
	group.Wait()
}

// TestMemberThatWasKilled: a member that stops sending heartbeats does not block the
// others.
func TestMemberThatWasKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	alive := filepath.Join(dir, "a"+memberAlive)
	require.NoError(t, os.WriteFile(alive, nil, 0o600))
	long := time.Now().Add(-2 * memberDead)
	require.NoError(t, os.Chtimes(alive, long, long))
	var stderr bytes.Buffer
	code, err := RunMembers(t.Context(), Members{Dir: dir, Run: []Member{}, All: []string{"a"}, Main: "main", Lead: true}, os.Environ(), &bytes.Buffer{}, &stderr)
	require.NoError(t, err)
	require.Equal(t, 137, code)
	require.Contains(t, stderr.String(), "[a] it was killed.")
}

// TestMembersAreStopped: a process that is asked to stop ends its commands.
func TestMembersAreStopped(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	ready := filepath.Join(t.TempDir(), "ready")
	ended := make(chan error, 1)
	go func() {
		one := Member{Name: "main", Command: []string{"sh", "-c", "touch " + ready + "; exec sleep 60"}}
		_, err := RunMembers(ctx, Members{Run: []Member{one}, All: []string{"main"}, Main: "main", Lead: true}, os.Environ(), &bytes.Buffer{}, &bytes.Buffer{})
		ended <- err
	}()
	require.Eventually(t, func() bool { _, err := os.Stat(ready); return err == nil }, 30*time.Second, memberPoll)
	cancel()
	select {
	case err := <-ended:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(30 * time.Second):
		t.Fatal("the command is still running")
	}
}

// TestPartOf: a part of an artifact is inside it.
func TestPartOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "in"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "in", "a"), nil, 0o600))
	path, err := partOf(dir, "in//a")
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "in", "a"), path)
	for _, wrong := range []string{"../x", "/etc", "in/b", ".."} {
		_, err := partOf(dir, wrong)
		require.Error(t, err, wrong)
	}
	require.NoError(t, os.Symlink("/etc", filepath.Join(dir, "out")))
	_, err = partOf(dir, "out/passwd")
	require.Error(t, err, "a link leads outside")
	_, err = partOf(filepath.Join(dir, "in", "a"), "b")
	require.True(t, err != nil && strings.Contains(err.Error(), "not a folder"))
}

// TestChmodAll: files that have other links keep their mode there.
func TestChmodAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stored, folder := filepath.Join(dir, "stored"), filepath.Join(dir, "folder")
	require.NoError(t, os.WriteFile(stored, []byte("text"), 0o444))
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "in"), 0o755))
	require.NoError(t, os.Link(stored, filepath.Join(folder, "in", "linked")))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "own"), nil, 0o644))
	require.NoError(t, chmodAll(folder, 0o700))
	bits := func(name string) os.FileMode {
		info, err := os.Stat(name)
		require.NoError(t, err)
		return info.Mode().Perm()
	}
	require.Equal(t, os.FileMode(0o700), bits(filepath.Join(folder, "in", "linked")))
	require.Equal(t, os.FileMode(0o700), bits(filepath.Join(folder, "own")))
	require.Equal(t, os.FileMode(0o444), bits(stored), "the store's file")
}
