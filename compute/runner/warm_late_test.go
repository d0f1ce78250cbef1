package runner

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A fork that answers after the runner has given it up runs nothing: the program runs in another
// process, and only there.
func TestForksThatAnswerTooLateRunNothing(t *testing.T) {
	const own = "RUNNER_TEST_LATE"
	if os.Getenv(own) == "" { // forks become children of a subreaper, which other tests must not be
		t.Parallel()
		again := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1", "-test.v")
		again.Env = append(os.Environ(), own+"=1")
		if text, err := again.CombinedOutput(); err != nil || !strings.Contains(string(text), "--- PASS: "+t.Name()) {
			t.Fatalf("%v\n%s", err, text)
		}
		return
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	_, parent := warmed(t, "", Warm{Parents: 1, MemoryMiB: 1000})
	p := parent(environ{})
	folder := t.TempDir()
	program := &pythonProgram{interpreter: p.interpreter, script: filepath.Join(folder, "main.py"), folder: folder, shared: p.env, env: maps.Clone(p.env), sdk: p.sdk}
	program.env["FLOWFORGE_TASK_ID"], program.env["FLOWFORGE_OUTPUTS"] = "late", folder
	if err := os.WriteFile(program.script, []byte("open('ran', 'a').write('once')"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	late, err := p.split(forkNow)
	p.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	request := warmRequest{program.interpreter, program.script, []string{}, folder, program.env}
	if err := late.offer(request, []*os.File{null, null, null}); err != nil {
		t.Fatal(err)
	}
	_ = late.socket.Close() // the runner waits no longer
	if _, err := late.wait(); err != nil {
		t.Fatal(err)
	}
	ran := func() string {
		text, _ := os.ReadFile(filepath.Join(folder, "ran"))
		return string(text)
	}
	if ran() != "" {
		t.Fatal("the fork ran the program")
	}
	second, err := p.fork(program)
	if err != nil {
		t.Fatal(err)
	}
	defer closeFiles(second.outputs[:])
	if err := second.run(); err != nil {
		t.Fatal(err)
	}
	if _, err := second.wait(); err != nil {
		t.Fatal(err)
	}
	second.report()
	if ran() != "once" {
		t.Errorf("the program wrote %q", ran())
	}
}
