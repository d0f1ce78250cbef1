package mark_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/flowforge/flowforge/data/channel/mark"
)

func TestMarkHoldsUntilSomebodyWrites(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "blob")
	if err := os.WriteFile(path, []byte("bytes"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setxattr(path, "user.flowforge.test", []byte("1"), 0); err != nil {
		t.Fatalf("the tests need a file system with attributes: %v", err)
	}
	holds := func(path string) bool {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return mark.Holds(path, info)
	}
	if holds(path) {
		t.Error("it is not marked")
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := mark.Set(file); err != nil {
		t.Fatal(err)
	}
	info, _ := file.Stat()
	if !holds(path) || info.Mode().Perm() != 0o444 {
		t.Errorf("marked: %v, mode %v", holds(path), info.Mode())
	}
	link := path + ".link"
	if err := os.Link(path, link); err != nil {
		t.Fatal(err)
	}
	if !holds(link) {
		t.Error("a link is the same file")
	}
	if err := os.Chmod(link, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(link, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if holds(path) {
		t.Error("the file was modified through the link")
	}
}
