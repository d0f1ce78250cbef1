package runner

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// taskIDVariable marks every process of an attempt, wherever it escaped to.
const taskIDVariable = "FLOWFORGE_TASK_ID="

func allPids() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// orphans returns the processes that were reparented to this one; the kernel assigns them
// to the main thread.
func orphans() []int {
	return readPids("/proc/self/task/" + strconv.Itoa(os.Getpid()) + "/children")
}

// adopted returns the orphans that this process did not start itself.
func (f *forker) adopted() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(orphans(), func(pid int) bool {
		_, started := f.pids[pid]
		return started
	})
}

// environment returns the value of a variable ("NAME=") in the initial environment of
// pid.
func environment(pid int, variable string) (string, bool) {
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return "", false
	}
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte(variable)); ok {
			return string(value), true
		}
	}
	return "", false
}

// sweepLimit bounds the wait for killed processes: a process that the kernel cannot end
// now is reaped later.
const sweepLimit = time.Second

// sweepOrphans reaps reparented zombies and kills the processes, with all descendants,
// whose attempt, as returned by owner, satisfies kill. The children of a killed process
// are orphans of the next round.
func (f *forker) sweepOrphans(owner func(pid int) string, kill func(taskID string) bool) {
	deadline := time.Now().Add(sweepLimit)
	for f.sweepOnce(owner, kill) > 0 && time.Now().Before(deadline) {
		<-time.After(time.Millisecond) // a killed process needs a moment to become a zombie
	}
}

func (f *forker) sweepOnce(owner func(pid int) string, kill func(taskID string) bool) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	alive := 0
	for _, pid := range orphans() {
		if _, ours := f.pids[pid]; ours {
			continue
		}
		if reaped, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil); err != nil || reaped == pid {
			continue
		}
		if kill(owner(pid)) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			alive++
		}
	}
	return alive
}

// killLeftovers kills every process that an earlier runner of dir left behind.
func killLeftovers(dir string) int {
	prefix := filepath.Join(dir, attemptsFolder) + string(filepath.Separator)
	killed := 0
	for _, pid := range allPids() {
		if pid == os.Getpid() {
			continue
		}
		outputs, ok := environment(pid, "FLOWFORGE_OUTPUTS=")
		if ok && strings.HasPrefix(outputs, prefix) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			killed++
		}
	}
	return killed
}
