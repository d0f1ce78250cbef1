package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tailLines is how many lines of pip's output an error repeats.
const tailLines = 12

// environments keeps virtual environments under the hash of their content.
type environments struct {
	dir       string
	installer environ
	python    string
	run       func(ctx context.Context, c command, env environ, dir string, line func(string)) (exit, error)

	mu   sync.Mutex
	busy map[string]chan struct{} // an entry exists during a build
}

// venvKey returns the key of the environment for an interpreter and a set of
// requirements.
func venvKey(python string, requirements []string) string {
	sorted := slices.Sorted(slices.Values(requirements))
	sum := sha256.Sum256([]byte(python + "\n" + strings.Join(sorted, "\n")))
	return hex.EncodeToString(sum[:16])
}

// ensure returns the environment with the requirements and builds it if it is missing. It
// reports progress with line.
func (e *environments) ensure(ctx context.Context, requirements []string, line func(string)) (string, error) {
	python, err := findPython(e.installer, "/", e.python)
	if err != nil {
		return "", err
	}
	key := venvKey(python, requirements)
	dir := filepath.Join(e.dir, key)
	release, err := e.acquire(ctx, key, line)
	if err != nil {
		return "", err
	}
	defer release()
	unlock, err := lockFile(ctx, dir+".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	ready := filepath.Join(dir, ".flowforge-ready")
	if _, err := os.Stat(ready); err == nil {
		now := time.Now()
		_ = os.Chtimes(ready, now, now)
		return dir, nil
	}
	if err := os.RemoveAll(dir); err != nil { // left by an interrupted build
		return "", err
	}
	if err := e.build(ctx, python, dir, requirements, line); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, os.WriteFile(ready, []byte(strings.Join(requirements, "\n")+"\n"), 0o600)
}

// acquire waits until no other goroutine builds key.
func (e *environments) acquire(ctx context.Context, key string, line func(string)) (release func(), err error) {
	if err := os.MkdirAll(e.dir, 0o700); err != nil {
		return nil, err
	}
	for said := false; ; said = true {
		e.mu.Lock()
		other, busy := e.busy[key]
		if !busy {
			mine := make(chan struct{})
			e.busy[key] = mine
			e.mu.Unlock()
			return func() {
				e.mu.Lock()
				delete(e.busy, key)
				e.mu.Unlock()
				close(mine)
			}, nil
		}
		e.mu.Unlock()
		if !said {
			line("Waiting for another node that is installing the same requirements.")
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-other:
		}
	}
}

// lockFile takes an exclusive lock on path, which other processes respect.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = file.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			_ = file.Close()
			return nil, context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (e *environments) build(ctx context.Context, python, dir string, requirements []string, line func(string)) error {
	line("Installing requirements into a new environment: " + strings.Join(requirements, ", "))
	begin := time.Now()
	if err := e.step(ctx, command{python, []string{python, "-m", "venv", dir}}, "create a virtual environment", line); err != nil {
		return err
	}
	file := dir + ".txt"
	defer os.Remove(file)
	if err := os.WriteFile(file, []byte(strings.Join(requirements, "\n")+"\n"), 0o600); err != nil {
		return err
	}
	// The interpreter finds its environment through the name by which it is called.
	own := filepath.Join(dir, "bin", "python3")
	pip := command{own, []string{
		own, "-m", "pip", "install", "--no-input", "--disable-pip-version-check",
		"--progress-bar", "off", "-r", file,
	}}
	if err := e.step(ctx, pip, "install the requirements", line); err != nil {
		return err
	}
	line("Requirements installed in " + time.Since(begin).Round(100*time.Millisecond).String() + ".")
	return nil
}

func (e *environments) step(ctx context.Context, c command, what string, line func(string)) error {
	var tail []string
	status, err := e.run(ctx, c, e.installer, e.dir, func(text string) {
		line(text)
		if tail = append(tail, text); len(tail) > tailLines {
			tail = tail[1:]
		}
	})
	switch {
	case err != nil:
		return fmt.Errorf("could not %s: %w", what, err)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case status.code != 0:
		return fmt.Errorf("could not %s (exit code %d):\n%s", what, status.code, strings.Join(tail, "\n"))
	}
	return nil
}
