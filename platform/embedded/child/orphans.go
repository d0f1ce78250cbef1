package child

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// In returns the processes that have dir as their working directory. Engines are
// started in (or change to) their data directory, so this finds them and all their
// children. Zombies have no working directory and are not included, even if init never
// reaps them, as in a container.
func In(dir string) []int {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		cwd, err := os.Readlink(filepath.Join("/proc", entry.Name(), "cwd"))
		if err == nil && cwd == real {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Reap stops every process that works in dir, as In finds them. The first step goes
// only to leader when it is one of them, because an engine's main process stops its own
// children in order; later steps go to all.
func Reap(ctx context.Context, dir string, leader int, steps ...Step) error {
	for i, step := range steps {
		left := In(dir)
		for _, pid := range left {
			if i > 0 || pid == leader || !slices.Contains(left, leader) {
				_ = syscall.Kill(pid, step.Signal) // ESRCH: it has already ended
			}
		}
		deadline := time.Now().Add(step.Grace)
		for len(In(dir)) > 0 && time.Now().Before(deadline) {
			if err := pause(ctx, 20*time.Millisecond); err != nil {
				return err
			}
		}
		if len(In(dir)) == 0 {
			return nil
		}
	}
	return fmt.Errorf("processes %v of an earlier run in %s do not stop", In(dir), dir)
}
