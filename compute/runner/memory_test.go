package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowforge/flowforge/data/channel"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

func inMemory(t *testing.T, links bool) *testBundle {
	t.Helper()
	b := setup(t)
	b.Close()
	b.memory = newMemoryPool("/dev/shm", t.TempDir())
	if b.memory.dir == "" {
		t.Fatal("the tests need an in-memory file system at /dev/shm")
	}
	pool := b.memory
	b.open(t)
	b.Supervisor.memory = pool
	t.Cleanup(pool.close)
	b.blobs.links = links
	return b
}

func TestFilesAreSharedThroughMemory(t *testing.T) {
	t.Parallel()
	for _, links := range []bool{true, false} {
		b := inMemory(t, links)
		content := large("tensor")
		spec := shell("make", `yes tensor | head -c `+fmt.Sprint(len(content))+` > "$FLOWFORGE_OUTPUTS/y.bin"`)
		spec.Outputs = []*flowforgev1.OutputSpec{{Name: "y", Kind: "File", Storage: channel.HintMemory}}
		made := b.run(t, spec)
		wantOutcome(t, made, succeeded)
		blob := made.Outputs[0].GetBlob()
		if b.server.blobs[blob.Sha256] == nil {
			t.Error("the store lacks a file that went through memory")
		}
		read := reader("read", "", blob.Sha256, len(content), inputX+`case "$f" in /dev/shm/*) sha256sum < "$f";; esac`)
		read.Files[0].Channel = string(channel.Memory)
		f := b.run(t, read)
		wantOutcome(t, f, succeeded)
		if got := b.server.lines("read", "stdout"); len(got) != 1 || !strings.HasPrefix(got[0], blob.Sha256) {
			t.Errorf("the command read %q", got)
		}
		in := onlyInput(t, f)
		if in.Channel != string(channel.Memory) || in.Moved != 0 || (in.Copied == 0) != links {
			t.Errorf("links %v: reported %v", links, in)
		}
		if left, _ := os.ReadDir(filepath.Join(b.memory.dir, "attempts")); len(left) > 0 || b.memory.used != int64(len(content)) {
			t.Errorf("%d attempts hold memory, %d bytes are counted", len(left), b.memory.used)
		}

		b.memory.mu.Lock()
		b.memory.drop(blob.Sha256)
		b.memory.mu.Unlock()
		again := reader("again", "", blob.Sha256, len(content), inputX+`sha256sum < "$f"`)
		again.Files[0].Channel = string(channel.Memory)
		f = b.run(t, again)
		wantOutcome(t, f, succeeded)
		if in := onlyInput(t, f); in.Channel != string(channel.Distributed) || !strings.Contains(in.Note, "no longer in memory") {
			t.Errorf("told %v", in)
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	pool := newMemoryPool("/dev/shm", t.TempDir())
	defer pool.close()
	pool.limit = 100
	put := func(name string, n int) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(strings.Repeat(name[:1], n)), 0o600); err != nil {
			t.Fatal(err)
		}
		sha, err := hashOf(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := pool.keep(path, sha, int64(n)); err != nil {
			t.Fatal(err)
		}
		return sha
	}
	has := func(sha string) bool { return pool.has(manifest{Entries: []manifestEntry{{SHA256: sha}}}) }
	a, b := put("a", 40), put("b", 40)
	_, done := pool.use(a, false)
	c := put("c", 60) // b is evicted, a is in use
	if !has(a) || has(b) || !has(c) || pool.used != 100 {
		t.Errorf("a %v, b %v, c %v, %d bytes", has(a), has(b), has(c), pool.used)
	}
	if d := put("d", 61); has(d) {
		t.Error("a file exceeds the limit next to files in use")
	}
	done()
	if e := put("e", 101); has(e) {
		t.Error("a file larger than the pool is kept")
	}
	if path, _ := pool.use(a, true); path == "" || has(c) || pool.used != 80 {
		t.Errorf("a copy must also fit: %q, c %v, %d bytes", path, has(c), pool.used)
	}
	if err := os.Chmod(pool.path(a), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(pool.path(a), []byte(strings.Repeat("z", 40)), 0o600); err != nil {
		t.Fatal(err)
	}
	if path, _ := pool.use(a, false); path != "" {
		t.Error("a modified file is used")
	}
	if nothing := newMemoryPool("/proc", "x"); nothing.dir != "" {
		t.Error("a file system on disk is used as memory")
	}
}

func TestMemoryOfKilledRunnersIsReleased(t *testing.T) {
	t.Parallel()
	killed, alive := newMemoryPool("/dev/shm", t.TempDir()), newMemoryPool("/dev/shm", t.TempDir())
	defer alive.close()
	if err := killed.lock.Close(); err != nil { // as the kernel does when a process ends
		t.Fatal(err)
	}
	next := newMemoryPool("/dev/shm", t.TempDir())
	defer next.close()
	if _, err := os.Stat(killed.dir); !os.IsNotExist(err) {
		t.Error("the memory of a killed runner is not freed")
	}
	if _, err := os.Stat(alive.dir); err != nil {
		t.Error("a live runner lost its memory")
	}
}
