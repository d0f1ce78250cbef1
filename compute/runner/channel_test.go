package runner

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/flowforge/flowforge/data/channel"
	"github.com/flowforge/flowforge/data/channel/codec"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// large returns the text of a file that is large enough to share, different for each
// name.
func large(name string) string { return strings.Repeat(name+"\n", linkAtLeast/(len(name)+1)+1) }

// store writes content to a store's folder, as the server of this machine does.
func store(t *testing.T, dir, sha, content string) string {
	t.Helper()
	path := storedAt(dir, sha)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// reader returns an attempt that has the file with hash sha as its input x.
func reader(id, dir, sha string, size int, script string) *flowforgev1.AttemptSpec {
	spec := shell(id, script)
	spec.StoreDir = dir
	spec.InputsJson = `{"x": {"$blob": ""}}`
	spec.Files = []*flowforgev1.InputFile{{Input: "x", Pointer: "/x", Sha256: sha, Size: int64(size), Filename: "x.txt", Channel: string(channel.LocalDisk)}}
	return spec
}

// inputX is shell text that sets f to the path of input x.
const inputX = `f=$(sed 's/.*"x":"\([^"]*\)".*/\1/' "$FLOWFORGE_INPUTS"); `

func onlyInput(t *testing.T, f *flowforgev1.Finished) *flowforgev1.PlacedInput {
	t.Helper()
	if len(f.Inputs) != 1 {
		t.Fatalf("%d inputs are reported: %v", len(f.Inputs), f.Inputs)
	}
	return f.Inputs[0]
}

func TestLocalDiskSharesTheStoresFile(t *testing.T) {
	t.Parallel()
	b, dir := setup(t), t.TempDir()
	b.blobs.links = true // as for every user except root
	content := large("shared")
	sha := b.server.put(content)
	stored := store(t, dir, sha, content)
	inode, _ := os.Stat(stored)
	want := fmt.Sprint(inodeOf(t, inode))
	f := b.run(t, reader("linked", dir, sha, len(content), inputX+`test "$(stat -c %i "$f")" = `+want+` && test "$(stat -c %A "$f")" = -r--r--r-- && tail -n 1 "$f"`))
	wantOutcome(t, f, succeeded)
	if got := b.server.lines("linked", "stdout"); len(got) != 1 || got[0] != "shared" {
		t.Errorf("the command read %q", got)
	}
	in := onlyInput(t, f)
	if in.Channel != string(channel.LocalDisk) || in.Copied != 0 || in.Moved != 0 || in.Note != "" || in.Size != int64(len(content)) || in.Micros <= 0 {
		t.Errorf("told %v", in)
	}
}

func TestLocalDiskSaysWhenItCopies(t *testing.T) {
	t.Parallel()
	b, dir := setup(t), t.TempDir()
	b.blobs.links = false
	content := large("copied")
	sha := b.server.put(content)
	store(t, dir, sha, content)
	spec := reader("root", dir, sha, len(content), inputX+`echo more >> "$f"; wc -c < "$f"`)
	f := b.run(t, spec)
	wantOutcome(t, f, succeeded)
	in := onlyInput(t, f)
	if in.Channel != string(channel.LocalDisk) || in.Copied != int64(len(content)) || in.Note != copiedForRoot {
		t.Errorf("told %v", in)
	}
	if got, _ := hashOf(storedAt(dir, sha)); got != sha {
		t.Error("the command's own file was the store's")
	}

	b.blobs.links = true
	spec = reader("mode", dir, sha, len(content), inputX+`echo more >> "$f"`)
	spec.Files[0].Mode = 0o666
	f = b.run(t, spec)
	wantOutcome(t, f, succeeded)
	if in := onlyInput(t, f); in.Copied != int64(len(content)) {
		t.Errorf("told %v", in)
	}
	if got, _ := hashOf(storedAt(dir, sha)); got != sha {
		t.Error("a file with different permissions is the store's")
	}
}

func TestLocalDiskGoesToTheServerForWhatIsNotRight(t *testing.T) {
	t.Parallel()
	b, dir := setup(t), t.TempDir()
	b.blobs.links = true
	content := large("good")
	for id, prepare := range map[string]func(sha string) string{
		"missing": func(string) string { return "not in the store's folder" },
		"damaged": func(sha string) string {
			store(t, dir, sha, strings.Replace(content, "good", "baad", 1))
			return errWrongBytes.Error()
		},
		"short": func(sha string) string { store(t, dir, sha, content[1:]); return errWrongBytes.Error() },
	} {
		sha := b.server.put(content)
		note := prepare(sha)
		f := b.run(t, reader(id, dir, sha, len(content), inputX+`sha256sum < "$f"`))
		wantOutcome(t, f, succeeded)
		if got := b.server.lines(id, "stdout"); len(got) != 1 || !strings.HasPrefix(got[0], sha) {
			t.Errorf("%s: the command read bytes with the hash %q", id, got)
		}
		if in := onlyInput(t, f); in.Channel != string(channel.Distributed) || !strings.Contains(in.Note, note) {
			t.Errorf("%s: told %v", id, in)
		}
		_ = os.Remove(storedAt(dir, sha))
	}
}

// TestInputsAreNotChangedForOthers runs as root, which can write read-only files.
func TestInputsAreNotChangedForOthers(t *testing.T) {
	t.Parallel()
	b, dir := setup(t), t.TempDir()
	b.blobs.links = true
	content := large("mine")
	sha := b.server.put(content)
	stored := store(t, dir, sha, content)

	f := b.run(t, reader("chmod", dir, sha, len(content), inputX+`chmod u+w "$f"`))
	wantOutcome(t, f, succeeded)
	if info, err := os.Stat(stored); err != nil || info.Mode().Perm() != 0o444 {
		t.Errorf("the store's file has the mode %v (%v)", info.Mode(), err)
	}
	f = b.run(t, reader("writes", dir, sha, len(content), inputX+`chmod u+w "$f"; printf X | dd of="$f" bs=1 conv=notrunc 2>/dev/null`))
	wantOutcome(t, f, failed)
	if !strings.Contains(f.Message, "changed the file of its input x in place") {
		t.Errorf("the message is %q", f.Message)
	}
	if _, err := os.Stat(stored); !os.IsNotExist(err) {
		t.Error("wrong bytes are still in the store")
	}
	f = b.run(t, reader("next", dir, sha, len(content), inputX+`sha256sum < "$f"`))
	wantOutcome(t, f, succeeded)
	if got := b.server.lines("next", "stdout"); len(got) != 1 || !strings.HasPrefix(got[0], sha) {
		t.Errorf("the next attempt reads %q", got)
	}
}

func TestFoldersAreShared(t *testing.T) {
	t.Parallel()
	b, dir := setup(t), t.TempDir()
	b.blobs.links = true
	one, two := large("one"), "small"
	first, second := b.server.put(one), b.server.put(two)
	store(t, dir, first, one)
	store(t, dir, second, two)
	list := fmt.Sprintf(`{"entries":[{"path":"a/one","sha256":%q,"size":%d,"mode":420},{"path":"two","sha256":%q,"size":%d,"mode":420}]}`, first, len(one), second, len(two))
	spec := reader("folder", dir, b.server.put(list), len(list), inputX+`tail -n 1 "$f/a/one"; cat "$f/two"`)
	spec.Files[0].MediaType = DirectoryMediaType
	f := b.run(t, spec)
	wantOutcome(t, f, succeeded)
	if got := strings.Join(b.server.lines("folder", "stdout"), " "); got != "one small" {
		t.Errorf("the command read %q", got)
	}
	if in := onlyInput(t, f); in.Channel != string(channel.LocalDisk) || in.Copied != int64(len(two)) || in.Size != int64(len(one)+len(two)) {
		t.Errorf("told %v", in)
	}
}

// peer is a server on another machine.
type peer struct {
	blobs  map[string][]byte
	coding atomic.Value // of the last PUT
	old    bool         // it does not support content codings
	bytes  atomic.Int64 // of bodies in both directions
}

func (p *peer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	sha := filepath.Base(r.URL.Path)
	switch r.Method {
	case http.MethodPut:
		c := channel.Compression(r.Header.Get("Content-Encoding"))
		p.coding.Store(string(c))
		if p.old && c != channel.None {
			http.Error(w, "other hash", http.StatusUnprocessableEntity)
			return
		}
		var n int64
		plain, err := codec.NewReader(&counted{r.Body, &n}, c)
		if err == nil {
			p.blobs[sha], err = io.ReadAll(plain)
		}
		if err != nil {
			panic(err)
		}
		p.bytes.Store(n)
		w.WriteHeader(http.StatusCreated)
	case http.MethodPost:
		http.Error(w, "send it", http.StatusConflict)
	case http.MethodHead:
		http.NotFound(w, r)
	default:
		var packed bytes.Buffer
		c := channel.Compression(strings.TrimPrefix(r.Header.Get("Accept-Encoding"), "identity"))
		writer, err := codec.NewWriter(&packed, c)
		if err != nil {
			panic(err)
		}
		_, _ = writer.Write(p.blobs[sha])
		_ = writer.Close()
		if c != channel.None {
			w.Header().Set("Content-Encoding", string(c))
		}
		_, _ = w.Write(packed.Bytes())
	}
}

func TestFilesTravelPacked(t *testing.T) {
	t.Parallel()
	for _, old := range []bool{false, true} {
		p := &peer{blobs: map[string][]byte{}, old: old}
		web := httptest.NewServer(p)
		defer web.Close()
		s := Endpoint{URL: web.URL}.connect()
		content := large("a,b,c")
		path := filepath.Join(t.TempDir(), "table.csv")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		sha, _ := hashOf(path)
		if err := s.upload(t.Context(), "t", outgoing{sha: sha, path: path, size: int64(len(content))}, nil); err != nil {
			t.Fatal(err)
		}
		if string(p.blobs[sha]) != content {
			t.Errorf("old %v: other bytes arrived", old)
		}
		if packed := p.bytes.Load() < int64(len(content))/10; packed == old {
			t.Errorf("old %v: %d bytes travelled, as %q", old, p.bytes.Load(), p.coding.Load())
		}
		for _, c := range []channel.Compression{channel.None, channel.LZ4, channel.Zstd} {
			var transferred transferStats
			got, err := newBlobCache(t.TempDir(), s).fetchPacked(context.Background(), "t", sha, c, &transferred)
			if err != nil {
				t.Fatal(err)
			}
			if h, _ := hashOf(got); h != sha || transferred.packed != c || transferred.written != int64(len(content)) || (transferred.bytes < transferred.written/10) != (c != channel.None) {
				t.Errorf("%q: %+v, hash %s", c, transferred, h)
			}
		}
	}
}

func TestStoreTakesOutputsOver(t *testing.T) {
	t.Parallel()
	b, dir := setup(t), t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "handover"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, takes := range []bool{true, false} {
		b.server.mu.Lock()
		b.server.adopts = takes
		b.server.handover = filepath.Join(dir, "handover")
		b.server.mu.Unlock()
		id := fmt.Sprintf("takes-%v", takes)
		spec := shell(id, `yes `+id+` | head -c 5000000 > "$FLOWFORGE_OUTPUTS/y"; echo small > "$FLOWFORGE_OUTPUTS/z"`)
		spec.StoreDir = dir
		spec.Outputs = []*flowforgev1.OutputSpec{blob("y", "File"), blob("z", "File")}
		f := b.run(t, spec)
		wantOutcome(t, f, succeeded)
		b.server.mu.Lock()
		adopted, sent := len(b.server.adopted), len(b.server.blobs)
		b.server.adopted = nil
		for _, o := range f.Outputs {
			if b.server.blobs[o.GetBlob().Sha256] == nil {
				t.Errorf("%s: output %s is not in the store", id, o.Name)
			}
		}
		b.server.mu.Unlock()
		if (adopted == 1) != takes || sent == 0 {
			t.Errorf("%s: %d adopted, %d in the store", id, adopted, sent)
		}
		if left, _ := os.ReadDir(filepath.Join(dir, "handover")); len(left) > 0 {
			t.Errorf("%s: %v is left", id, left)
		}
	}
}

func inodeOf(t *testing.T, info os.FileInfo) uint64 {
	t.Helper()
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatal("no inode")
	}
	return stat.Ino
}
