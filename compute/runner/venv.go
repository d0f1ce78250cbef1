package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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

// ensure returns the folder of the environment with the requirements and builds it if it is
// missing. It reports progress, and at the end what the environment is, with line.
func (e *environments) ensure(ctx context.Context, requirements []string, line func(string, environmentNote)) (string, error) {
	python, err := findPython(e.installer, "/", e.python)
	if err != nil {
		return "", err
	}
	key := venvKey(python, requirements)
	dir := filepath.Join(e.dir, key)
	say := func(text string) { line(text, environmentNote{ID: key}) }
	release, err := e.acquire(ctx, key, say)
	if err != nil {
		return "", err
	}
	defer release()
	unlock, err := lockFile(ctx, dir+".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	ready := filepath.Join(dir, readyFile)
	if text, err := os.ReadFile(ready); err == nil {
		now := time.Now()
		_ = os.Chtimes(ready, now, now)
		note := readNote(text, key)
		line("Using "+note.sentence(), note)
		return dir, nil
	}
	if err := os.RemoveAll(dir); err != nil { // left by an interrupted build
		return "", err
	}
	note, err := e.build(ctx, python, dir, requirements, say)
	if err != nil {
		note.ID, note.State = key, environmentFailed
		line("Environment "+key+" could not be built.", note)
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	note.ID, note.State = key, environmentReady
	text, err := json.Marshal(note)
	if err != nil {
		return "", err
	}
	took := time.Duration(note.BuildMs) * time.Millisecond
	line("Requirements installed in "+took.Round(100*time.Millisecond).String()+" by "+note.Installer+" for "+note.sentence(), note)
	return dir, os.WriteFile(ready, text, 0o600)
}

// acquire waits until no other goroutine builds key.
func (e *environments) acquire(ctx context.Context, key string, line func(string)) (release func(), err error) {
	if err := os.MkdirAll(e.dir, 0o700); err != nil {
		return nil, err
	}
	for logged := false; ; logged = true {
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
		if !logged {
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
