package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// untilPrepared waits until the inputs of the only attempt of b are written, and returns its slot.
func (b *testBundle) untilPrepared(t *testing.T) string {
	t.Helper()
	var found []string
	require.Eventually(t, func() bool {
		found, _ = filepath.Glob(filepath.Join(b.dir, attemptsFolder, "*", "inputs.json"))
		return len(found) == 1
	}, 30*time.Second, time.Millisecond)
	return filepath.Dir(found[0])
}

// waiting returns the number of prepared attempts.
func (s *Supervisor) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.prepared)
}

func TestAPreparedAttemptRunsOnceAfterItsStart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ran := filepath.Join(t.TempDir(), "ran")
	spec := shell("prepared", "echo x >> "+ran)
	b.Prepare(spec)
	b.Prepare(spec)
	b.untilPrepared(t)
	require.Empty(t, b.List(), "a prepared attempt does not run yet")
	require.NoFileExists(t, ran)

	wantOutcome(t, b.run(t, proto.CloneOf(spec)), succeeded)
	b.Prepare(spec)
	require.Zero(t, b.waiting(), "the attempt is known")
	content, err := os.ReadFile(ran)
	require.NoError(t, err)
	require.Equal(t, "x\n", string(content))
}

func TestAnAttemptThatDiffersFromThePreparedOneReplacesIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Prepare(shell("changed", "exit 1"))
	b.untilPrepared(t)
	wantOutcome(t, b.run(t, shell("changed", "exit 0")), succeeded)
	require.Zero(t, b.waiting())
}

func TestADiscardedAttemptLeavesACleanSlotAndItsCheckpoints(t *testing.T) {
	t.Parallel()
	b := setup(t)
	saved := filepath.Join(b.dir, checkpointsFolder, "key-discarded")
	require.NoError(t, os.MkdirAll(saved, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(saved, "state"), []byte("7"), 0o600))
	spec := shell("discarded", "exit 1")
	b.Prepare(spec)
	slot := b.untilPrepared(t)
	require.NoDirExists(t, saved)

	b.discard(b.prepared[spec.TaskId])
	require.Eventually(t, func() bool {
		b.slots.mu.Lock()
		defer b.slots.mu.Unlock()
		return len(b.slots.free) == 1 || !exists(slot)
	}, 30*time.Second, time.Millisecond)
	require.FileExists(t, filepath.Join(saved, "state"))
	b.server.mu.Lock()
	defer b.server.mu.Unlock()
	require.Empty(t, b.server.finished, "nothing is reported")
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestThePreparationMayFailBeforeTheStart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spec := argv("missing", "no-such-program")
	b.Prepare(spec)
	b.untilPrepared(t)
	wantOutcome(t, b.run(t, spec), notStarted)
}

func TestAttemptsThatNeedTheServerAreNotPrepared(t *testing.T) {
	t.Parallel()
	b := setup(t)
	files := shell("files", "true")
	files.Files = []*flowforgev1.InputFile{{Input: "a", Text: "x", Pointer: "/a"}}
	secret := shell("secret", "true")
	secret.Secrets = []*flowforgev1.InputSecret{{Variable: "S", Grant: &flowforgev1.SecretGrant{Name: "s"}}}
	unknown := shell("unknown", "true")
	unknown.PackageSha256 = strings.Repeat("ab", 32)
	for _, spec := range []*flowforgev1.AttemptSpec{files, secret, unknown} {
		b.Prepare(spec)
	}
	require.Zero(t, b.waiting())
}

func TestAttemptsWithAPackageOfTheCacheArePrepared(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sha := b.server.put(tarball(t, tarEntry{name: "greeting", content: "hello"}))
	first, second := shell("first", "cat greeting"), shell("second", "cat greeting")
	first.PackageSha256, second.PackageSha256 = sha, sha
	wantOutcome(t, b.run(t, first), succeeded)
	b.Prepare(second)
	require.Equal(t, 1, b.waiting())
	wantOutcome(t, b.run(t, second), succeeded)
}

func TestCloseDiscardsPreparedAttempts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ran := filepath.Join(t.TempDir(), "ran")
	b.Prepare(shell("closed", "touch "+ran))
	b.untilPrepared(t)
	b.Close()
	require.NoFileExists(t, ran)
}
