package runner

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

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
