// Package testserver starts server processes for tests, and stops them when the tests end.
package testserver

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// readyLimit bounds the wait until a server accepts connections.
const readyLimit = time.Minute

// Process is a running server.
type Process struct {
	process *os.Process
	ended   chan struct{}
}

// Start starts cmd, which serves on address, and returns when it accepts connections. name is
// its name in errors. The kernel kills the process when the test binary ends.
func Start(t testing.TB, name, address string, cmd *exec.Cmd) *Process {
	t.Helper()
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started, ended := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // the kernel ties the process to the thread that started it
		defer runtime.UnlockOSThread()
		defer close(ended)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	p := &Process{cmd.Process, ended}
	for deadline := time.Now().Add(readyLimit); ; {
		conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", address)
		if err == nil {
			_ = conn.Close()
			return p
		}
		select {
		case <-ended:
			t.Fatalf("%s exited: %s", name, output.String())
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			p.Stop()
			t.Fatalf("%s is not responding: %v", name, err)
		}
	}
}

// Stop kills the server at once.
func (p *Process) Stop() {
	_ = p.process.Kill()
	<-p.ended
}

// maxDepth is the maximum depth of tests below the repository root.
const maxDepth = 6

// Installed returns the absolute path of a file that `scripts/setup` has put into the cache
// folder: FLOWFORGE_CACHE_DIR, or .cache of the repository. It returns "" if there is none.
func Installed(t testing.TB, path ...string) string {
	t.Helper()
	dirs := []string{os.Getenv("FLOWFORGE_CACHE_DIR")}
	for up := "."; len(dirs) < maxDepth; up = filepath.Join(up, "..") {
		dirs = append(dirs, filepath.Join(up, ".cache"))
	}
	for _, dir := range dirs {
		file := filepath.Join(append([]string{dir}, path...)...)
		if info, err := os.Stat(file); err != nil || dir == "" || info.IsDir() {
			continue
		}
		file, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	return ""
}
