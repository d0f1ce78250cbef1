package runner

import (
	"archive/zip"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// wheel writes a Python package that pip installs without a network.
func wheel(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tiny-1.0-py3-none-any.whl")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	archive := zip.NewWriter(file)
	for name, content := range map[string]string{
		"tiny.py":                     "WORD = 'tiny'\n",
		"tiny-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
		"tiny-1.0.dist-info/WHEEL":    "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		"tiny-1.0.dist-info/RECORD":   "tiny.py,,\ntiny-1.0.dist-info/METADATA,,\ntiny-1.0.dist-info/WHEEL,,\ntiny-1.0.dist-info/RECORD,,\n",
	} {
		w, err := archive.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRequirementsAreInstalledOnce(t *testing.T) {
	t.Parallel()
	needVenv(t)
	b := setup(t)
	requirement := wheel(t)
	attempt := func(id string) *flowforgev1.AttemptSpec {
		spec := shell(id, "")
		spec.Requirements = []string{requirement}
		spec.Work = &flowforgev1.AttemptSpec_Process{Process: &flowforgev1.Process{
			Interpreter: "python", Script: "import os, sys, tiny, flowforge\nprint(tiny.WORD, sys.prefix == os.environ['VIRTUAL_ENV'])\n",
		}}
		return spec
	}
	var both sync.WaitGroup
	ids := []string{"venv-1", "venv-2"}
	for _, id := range ids {
		both.Go(func() {
			if err := b.Start(attempt(id)); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	installed := 0
	for _, id := range ids {
		wantOutcome(t, b.server.awaitFinished(t, id), succeeded)
		if diff := cmp.Diff([]string{"tiny True"}, b.server.lines(id, "stdout")); diff != "" {
			t.Error(diff)
		}
		if strings.Contains(strings.Join(b.server.lines(id, "system"), "\n"), "Requirements installed in") {
			installed++
		}
	}
	if installed != 1 {
		t.Errorf("installed %d times", installed)
	}
	first, second := b.environmentNotes(t, ids[0]), b.environmentNotes(t, ids[1])
	one, other := first[len(first)-1], second[len(second)-1]
	if diff := cmp.Diff(one, other); diff != "" {
		t.Errorf("the attempts describe their environment differently: %s", diff)
	}
	if one.State != environmentReady || one.ID == "" || one.Installer != "pip" || one.BuildMs <= 0 || !strings.HasPrefix(one.Python, "3.") {
		t.Errorf("note %+v", one)
	}
	if diff := cmp.Diff([]string{"tiny==1.0"}, one.Packages); diff != "" {
		t.Error(diff)
	}
	if len(first) == len(second) {
		t.Errorf("both attempts have %d lines about the environment; only one built it", len(first))
	}
}

// environmentNotes are the notes in the log of an attempt, in order.
func (b *testBundle) environmentNotes(t *testing.T, id string) []environmentNote {
	t.Helper()
	b.server.mu.Lock()
	defer b.server.mu.Unlock()
	var keys []string
	for key, entry := range b.server.logs[id] {
		if strings.HasPrefix(key, "system:") && strings.Contains(entry.Extra, `"environment"`) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	notes := make([]environmentNote, len(keys))
	for i, key := range keys {
		if err := json.Unmarshal([]byte(b.server.logs[id][key].Extra), &notes[i]); err != nil {
			t.Fatal(err)
		}
	}
	return notes
}

// The configuration of pip applies to uv, which does not read it.
func TestRequirementsAreInstalledByUV(t *testing.T) {
	t.Parallel()
	folder := folderWithUV(t)
	file := wheel(t)
	index := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("uv requested %s from the index, in spite of PIP_NO_INDEX", r.URL.Path)
		http.NotFound(w, r)
	}))
	t.Cleanup(index.Close)
	settings := filepath.Join(folder, "pip.conf")
	if err := os.WriteFile(settings, []byte("[install]\nfind-links =\n    "+folder+"\n    "+filepath.Dir(file)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := &testBundle{server: newTaskServer(t), dir: t.TempDir(), environment: []string{
		"PATH=" + folder + string(os.PathListSeparator) + os.Getenv("PATH"), "PIP_NO_INDEX=1", "PIP_FIND_LINKS=", "PIP_CONFIG_FILE=" + settings,
		"PIP_INDEX_URL=" + index.URL,
	}}
	b.open(t)
	spec := shell("uv", "")
	spec.Requirements = []string{"tiny"}
	spec.Work = &flowforgev1.AttemptSpec_Process{Process: &flowforgev1.Process{Interpreter: "python", Script: "import tiny\nprint(tiny.WORD)\n"}}
	wantOutcome(t, b.run(t, spec), succeeded)
	if diff := cmp.Diff([]string{"tiny"}, b.server.lines("uv", "stdout")); diff != "" {
		t.Error(diff)
	}
	notes := b.environmentNotes(t, "uv")
	if last := notes[len(notes)-1]; last.Installer != "uv" || last.State != environmentReady || !strings.HasPrefix(last.Python, "3.") || !slices.Equal(last.Packages, []string{"tiny==1.0"}) {
		t.Errorf("note %+v", last)
	}
}

// folderWithUV returns a folder for PATH.
func folderWithUV(t *testing.T) string {
	t.Helper()
	uv := os.Getenv("FLOWFORGE_TEST_UV")
	if uv == "" && testing.Short() {
		t.Skip("scripts/environment sets FLOWFORGE_TEST_UV")
	}
	if _, err := os.Stat(uv); err != nil {
		t.Fatalf("run scripts/setup, and this test with scripts/environment: FLOWFORGE_TEST_UV: %v", err)
	}
	folder := t.TempDir()
	if err := os.Symlink(uv, filepath.Join(folder, "uv")); err != nil {
		t.Fatal(err)
	}
	return folder
}

// uv does not start without a folder for its cache, and the home of most pods is / and read-only.
func TestInstallersInPodsHaveAWritableHome(t *testing.T) {
	t.Parallel()
	file, scratch := wheel(t), t.TempDir()
	server := newTaskServer(t)
	s, err := New(Config{
		Dir: t.TempDir(), Server: Endpoint{URL: server.tcp(t)}, Pod: &Pod{Grace: 20 * time.Second, Scratch: scratch}, Heartbeat: oftenBeats,
		Environ: []string{"PATH=" + folderWithUV(t) + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=/", "PIP_NO_INDEX=1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	spec := shell("home", "echo installed")
	spec.Requirements = []string{file}
	end, err := s.runOne(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, end.Finished, succeeded)
	if _, err := os.Stat(filepath.Join(scratch, "home", ".cache", "uv")); err != nil {
		t.Errorf("the cache of uv: %v", err)
	}
}

func TestRequirementsThatCannotBeInstalled(t *testing.T) {
	t.Parallel()
	needVenv(t)
	b := setup(t)
	spec := argv("no-venv", "true")
	spec.Requirements = []string{"./no-such-package-1.0-py3-none-any.whl"}
	f := b.run(t, spec)
	wantOutcome(t, f, notStarted)
	if !strings.Contains(f.Message, "could not install the requirements") || !strings.Contains(f.Message, "no-such-package") {
		t.Errorf("message %q", f.Message)
	}
	if notes := b.environmentNotes(t, "no-venv"); notes[len(notes)-1].State != environmentFailed || notes[len(notes)-1].ID == "" {
		t.Errorf("notes %+v", notes)
	}
	if left, _ := filepath.Glob(filepath.Join(b.dir, "cache", "venvs", "*", "bin")); len(left) > 0 {
		t.Errorf("half an environment is left: %v", left)
	}
}

// needVenv skips a test where Python cannot make virtual environments, as Debian's does not
// without the package python3-venv.
func needVenv(t *testing.T) {
	t.Helper()
	if err := exec.Command("python3", "-c", "import ensurepip").Run(); err != nil {
		t.Skip("python3 cannot make virtual environments here: install python3-venv")
	}
}
