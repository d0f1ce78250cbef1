package runner

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowforge/flowforge/data/channel"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

func inline(name, kind string) *flowforgev1.OutputSpec {
	return &flowforgev1.OutputSpec{Name: name, Kind: kind, Inline: true}
}

func blob(name, kind string) *flowforgev1.OutputSpec {
	return &flowforgev1.OutputSpec{Name: name, Kind: kind}
}

func TestOutputs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spec := shell("outputs", `cd "$FLOWFORGE_OUTPUTS"
		echo hello > greeting; echo '"quoted"' > quoted; echo ' 0.5 ' > loss; echo True > ok
		echo '{"a": [1, 2]}' > stats.json; echo '[]' > results.json
		echo a,b > table.csv; printf '\000\001' > model.pkl; echo '<p>' > report.html
		mkdir -p tree/sub; echo 1 > tree/one; echo 2 > tree/sub/two; chmod 755 tree/one; mkfifo tree/pipe
		echo extra > unknown`)
	spec.Outputs = []*flowforgev1.OutputSpec{
		inline("greeting", "String"), inline("quoted", "Text"), inline("loss", "Float"), inline("ok", "Boolean"), inline("stats", "JSON"),
		blob("table", "Table"), blob("model", "Model"), blob("report", "Report"), blob("tree", "Directory"), blob("absent", "File"),
	}
	f := b.run(t, spec)
	wantOutcome(t, f, succeeded)
	want := map[string]string{
		"greeting": `"hello"`, "quoted": `"quoted"`, "loss": "0.5", "ok": "true", "stats": `{"a":[1,2]}`, "results": "[]",
		"table": "table.csv text/csv", "model": "model.pkl application/octet-stream",
		"report": "report.html text/html; charset=utf-8", "tree": "tree " + DirectoryMediaType,
	}
	if diff := cmp.Diff(want, values(f)); diff != "" {
		t.Error(diff)
	}
	for _, o := range f.Outputs {
		blob := o.GetBlob()
		if blob == nil {
			continue
		}
		content, ok := b.server.blobs[blob.Sha256]
		if !ok || int64(len(content)) != blob.Size {
			t.Errorf("blob of %s: %d bytes, there %v", o.Name, len(content), ok)
		}
		if o.Name == "tree" && !strings.Contains(string(content), `{"path":"sub/two"`) {
			t.Errorf("manifest %s", content)
		}
	}
	notes := strings.Join(b.server.lines("outputs", "system"), "\n")
	for _, note := range []string{`"unknown"`, `"tree/pipe"`} {
		if !strings.Contains(notes, note) {
			t.Errorf("notes %q do not name %s", notes, note)
		}
	}
}

func TestOutputsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, test := range map[string]struct {
		script  string
		spec    *flowforgev1.OutputSpec
		message string
	}{
		"link":      {"ln -s /etc/passwd x", blob("x", "File"), "not a regular file"},
		"value":     {"ln -s /etc/passwd x", inline("x", "String"), "not a regular file"},
		"pipe":      {"mkfifo x", blob("x", "File"), "not a regular file"},
		"number":    {"echo many > x", inline("x", "Integer"), "does not contain a JSON value"},
		"large":     {"head -c 1100000 /dev/zero > x", inline("x", "String"), "1100000 bytes"},
		"folder":    {"mkdir x", inline("x", "JSON"), "it is a folder"},
		"ambiguous": {"touch x.a x.b", blob("x", "File"), "x.a, x.b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := shell("bad-"+name, `cd "$FLOWFORGE_OUTPUTS"; `+test.script)
			spec.Outputs = []*flowforgev1.OutputSpec{test.spec}
			f := b.run(t, spec)
			wantOutcome(t, f, outputFailed)
			if !strings.Contains(f.Message, test.message) || len(f.Outputs) > 0 {
				t.Errorf("message %q, outputs %v", f.Message, f.Outputs)
			}
		})
	}
}

func TestUploadThatTheServerRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.server.refuse = http.StatusRequestEntityTooLarge
	spec := shell("refused", `echo 1 > "$FLOWFORGE_OUTPUTS/x"`)
	spec.Outputs = []*flowforgev1.OutputSpec{blob("x", "File")}
	f := b.run(t, spec)
	wantOutcome(t, f, outputFailed)
	if !strings.Contains(f.Message, "413") {
		t.Errorf("message %q", f.Message)
	}
}

func TestOutputsOfAFailureAreNotStored(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spec := shell("fails", `echo 1 > "$FLOWFORGE_OUTPUTS/x"; exit 1`)
	spec.Outputs = []*flowforgev1.OutputSpec{inline("x", "Integer")}
	if f := b.run(t, spec); len(f.Outputs) > 0 {
		t.Errorf("outputs %v", f.Outputs)
	}
}

type tarEntry struct {
	name, link, content string
	kind                byte
}

func tarball(t testing.TB, entries ...tarEntry) string {
	t.Helper()
	var buffer bytes.Buffer
	zipped := gzip.NewWriter(&buffer)
	archive := tar.NewWriter(zipped)
	for _, e := range entries {
		if e.kind == 0 {
			e.kind = tar.TypeReg
		}
		header := &tar.Header{Name: e.name, Linkname: e.link, Typeflag: e.kind, Size: int64(len(e.content)), Mode: 0o755}
		if err := archive.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(e.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.String()
}

func TestPackageIsTheWorkingDirectory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sha := b.server.put(tarball(t,
		tarEntry{name: "./", kind: tar.TypeDir}, tarEntry{name: "./lib/helper.py", content: "WORD = 'packed'\n"},
		tarEntry{name: "main.py", content: "from lib.helper import WORD\nprint(WORD)\nopen('main.py', 'w').write('ruined')\n"},
	))
	for _, id := range []string{"package-1", "package-2"} {
		spec := argv(id, "python3", "main.py")
		spec.PackageSha256 = sha
		wantOutcome(t, b.run(t, spec), succeeded)
		if diff := cmp.Diff([]string{"packed"}, b.server.lines(id, "stdout")); diff != "" {
			t.Error(diff)
		}
	}
}

func TestPackagesThatLeadOut(t *testing.T) {
	t.Parallel()
	for name, entry := range map[string]tarEntry{
		"parent":    {name: "../evil", content: "x"},
		"inner":     {name: "a/../../evil", content: "x"},
		"absolute":  {name: "/evil", content: "x"},
		"link":      {name: "evil", link: "/etc/passwd", kind: tar.TypeSymlink},
		"hard link": {name: "evil", link: "/etc/passwd", kind: tar.TypeLink},
		"device":    {name: "evil", kind: tar.TypeChar},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "p.tar.gz")
			target := filepath.Join(dir, "target")
			if err := os.WriteFile(file, []byte(tarball(t, entry)), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(target, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := unpack(file, target); err == nil {
				t.Error("the package was unpacked")
			}
			if _, err := os.Lstat(filepath.Join(dir, "evil")); err == nil {
				t.Error("a file was written outside")
			}
		})
	}
}

// TestPackageBombsAreRefused: an archive that expands beyond the limits is refused by the
// sizes that its entries announce, before anything is written.
func TestPackageBombsAreRefused(t *testing.T) {
	t.Parallel()
	many := make([]tarEntry, maxPackageEntries+1)
	for i := range many {
		many[i] = tarEntry{name: fmt.Sprintf("f%d", i)}
	}
	for name, test := range map[string]struct{ archive, want string }{
		"size":    {announcing(t, maxPackageBytes+1), "bytes unpacked"},
		"entries": {tarball(t, many...), "entries"},
		"no gzip": {strings.Repeat("x", 1000), "not a tar.gz"},
		"cut off": {tarball(t, tarEntry{name: "a", content: "x"})[:40], ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, target := filepath.Join(t.TempDir(), "p.tar.gz"), t.TempDir()
			if err := os.WriteFile(file, []byte(test.archive), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := unpack(file, target); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// announcing returns an archive whose only entry announces size bytes.
func announcing(t *testing.T, size int64) string {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	if err := tar.NewWriter(zipped).WriteHeader(&tar.Header{Name: "zeros", Typeflag: tar.TypeReg, Size: size, Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestManifestsThatLeadOut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	inner := b.server.put("x")
	for _, path := range []string{"../evil", "/evil", "a/../../evil", "."} {
		sha := b.server.put(`{"entries":[{"path":"` + path + `","sha256":"` + inner + `","size":1}]}`)
		_, err := b.blobs.restoreDirectory(t.Context(), "t", sha, filepath.Join(t.TempDir(), "in"))
		if err == nil || !strings.Contains(err.Error(), "is outside") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestSpoolOfTheSDKIsDelivered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spec := shell("spool", `mkdir -p "$FLOWFORGE_SPOOL"; cd "$FLOWFORGE_SPOOL"
		echo '{"taskId":"spool","logs":[{"message":"late","stream":"sdk","sequence":"1","level":"INFO"}],"metrics":[{"name":"loss","value":1,"sequence":"1"}],"new":1}' > 1.json
		echo broken > 2.json`)
	wantOutcome(t, b.run(t, spec), succeeded)
	if diff := cmp.Diff([]string{"late"}, b.server.lines("spool", "sdk")); diff != "" {
		t.Error(diff)
	}
	if b.server.metrics["spool"] != 1 {
		t.Errorf("%d metric points", b.server.metrics["spool"])
	}
	if notes := b.server.lines("spool", "system"); len(notes) != 1 || !strings.Contains(notes[0], `"2.json"`) {
		t.Errorf("notes %q", notes)
	}
}

// TestUndeclaredOutputs: a task that keeps all of its outputs reports values, files and
// folders by name, with their metadata.
func TestUndeclaredOutputs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spec := shell("undeclared", `cd "$FLOWFORGE_OUTPUTS"
		echo '{"rows": 3}' > stats; echo hello > greeting; echo true > ok.json; echo a,b > table.csv
		mkdir tree; echo 1 > tree/one; printf '\000\001\377' > bytes; echo 7 > declared; echo x > .hidden
		echo '{"accuracy": 0.9}' > .table.csv.metadata`)
	spec.Outputs = []*flowforgev1.OutputSpec{inline("declared", "Integer"), {Name: channel.AllOutputs}}
	f := b.run(t, spec)
	wantOutcome(t, f, succeeded)
	want := map[string]string{
		"declared": "7", "stats": `{"rows":3}`, "greeting": `"hello"`, "ok": "true", "table.csv": "table.csv text/csv",
		"tree": "tree " + DirectoryMediaType, "bytes": "bytes application/octet-stream",
	}
	if diff := cmp.Diff(want, values(f)); diff != "" {
		t.Error(diff)
	}
	for _, o := range f.Outputs {
		if o.Name == "table.csv" && o.Metadata != `{"accuracy": 0.9}`+"\n" {
			t.Errorf("metadata %q", o.Metadata)
		}
	}
}
