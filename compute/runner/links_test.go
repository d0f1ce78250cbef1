package runner

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// TestLinksInFoldersStayLinks, wherever they lead: nothing behind them is read.
func TestLinksInFoldersStayLinks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	fill := fmt.Sprintf(`mkdir -p "$d/sub"; echo 5 > "$d/sub/five"; cd "$d"
		ln -s sub/five latest; ln -s %[1]s/secret absolute; ln -s ../../.. up; ln -s nowhere broken; ln -s sub folder; ln -s ../latest sub/again; `, outside)
	external := filepath.Join(t.TempDir(), "out")
	spec := shell("links", `d="$FLOWFORGE_OUTPUTS/x"; `+fill+`d=`+external+`; `+fill)
	spec.Outputs = []*flowforgev1.OutputSpec{blob("x", "Folder"), {Name: "y", Kind: "Folder", Path: external}}
	f := b.run(t, spec)
	wantOutcome(t, f, succeeded)
	if len(f.Outputs) != 2 {
		t.Fatalf("outputs %v", f.Outputs)
	}
	for _, o := range f.Outputs {
		in := filepath.Join(t.TempDir(), "in")
		if _, err := b.blobs.restoreDirectory(t.Context(), "t", o.GetBlob().Sha256, in); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{
			"latest": "sub/five", "absolute": outside + "/secret", "up": "../../..", "broken": "nowhere", "folder": "sub", "sub/again": "../latest",
		} {
			if got, err := os.Readlink(filepath.Join(in, name)); got != want {
				t.Errorf("%s: %s leads to %q, not to %q: %v", o.Name, name, got, want, err)
			}
		}
		if text, err := os.ReadFile(filepath.Join(in, "sub/again")); string(text) != "5\n" {
			t.Errorf("%s: read %q through two links: %v", o.Name, text, err)
		}
	}
	for _, text := range b.server.blobs {
		if string(text) == "secret" {
			t.Error("the file behind an absolute link was uploaded")
		}
	}
}

// TestManifestsThatLeadOutThroughLinks: no entry of a folder is written through a link.
func TestManifestsThatLeadOutThroughLinks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	outside := t.TempDir()
	entry := func(path, content string, mode fs.FileMode) string {
		return fmt.Sprintf(`{"path":%q,"sha256":%q,"size":%d,"mode":%d}`, path, b.server.put(content), len(content), mode)
	}
	link := func(path, to string) string { return entry(path, to, fs.ModeSymlink|0o777) }
	for name, entries := range map[string]string{
		"a file behind a link":        link("a", outside) + "," + entry("a/evil", "x", 0o600),
		"a link behind a link":        link("a", outside) + "," + link("a/evil", "x"),
		"a folder behind a link":      link("a", outside) + "," + link("a/b/evil", "x"),
		"a link out of the folder":    link("../evil", "x"),
		"a link in place of a file":   entry("a", "x", 0o600) + "," + link("a", outside),
		"a link longer than any path": link("a", large("x")),
	} {
		sha := b.server.put(`{"entries":[` + entries + `]}`)
		in := filepath.Join(t.TempDir(), "in")
		if _, err := b.blobs.restoreDirectory(t.Context(), "t", sha, in); err == nil {
			t.Errorf("%s was accepted", name)
		}
		if names, _ := readNames(outside); len(names) > 0 {
			t.Fatalf("%s: %q appeared outside", name, names)
		}
		if names, _ := readNames(filepath.Dir(in)); len(names) != 1 {
			t.Fatalf("%s: %q is beside the folder", name, names)
		}
	}
}

// TestLinksOfCheckpointsStayLinks: "latest" is a link in many training programs.
func TestLinksOfCheckpointsStayLinks(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "step-5"), []byte("5"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("step-5", filepath.Join(folder, "latest")); err != nil {
		t.Fatal(err)
	}
	saver := newFolderSaver(&attempt{paths: paths{checkpoints: folder}})
	m, size, err := saver.manifest(false)
	if err != nil || size != 7 || len(m.Entries) != 2 || !m.Entries[0].isLink() || m.targets[m.Entries[0].SHA256] != "step-5" {
		t.Errorf("%+v %d %v", m, size, err)
	}
}
