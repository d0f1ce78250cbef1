package runner

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// taskIDVariable marks every process of an attempt, wherever it escaped to.
const taskIDVariable = "FLOWFORGE_TASK_ID="

// groupUsage is what the living processes of a group use.
type groupUsage struct {
	rss int64 // bytes; shared pages count once per process
	cpu time.Duration
}

// clockTick is the unit of times in /proc, fixed by the kernel's interface.
const clockTick = 10 * time.Millisecond

// usageByGroup sums memory and CPU of all processes by process group.
func usageByGroup() map[int]groupUsage {
	usage := make(map[int]groupUsage)
	page := int64(os.Getpagesize())
	for _, pid := range allPids() {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			continue
		}
		// Fields are counted from behind the name, which may hold blanks.
		end := bytes.LastIndexByte(stat, ')')
		if end < 0 {
			continue
		}
		fields := strings.Fields(string(stat[end+1:]))
		if len(fields) < 22 {
			continue
		}
		group, _ := strconv.Atoi(fields[2])
		user, _ := strconv.ParseInt(fields[11], 10, 64)
		system, _ := strconv.ParseInt(fields[12], 10, 64)
		rss, _ := strconv.ParseInt(fields[21], 10, 64)
		u := usage[group]
		u.rss += rss * page
		u.cpu += time.Duration(user+system) * clockTick
		usage[group] = u
	}
	return usage
}

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

// orphans returns the processes that were reparented to this one: the kernel
// hands them to the main thread.
func orphans() []int {
	self := strconv.Itoa(os.Getpid())
	children, err := os.ReadFile("/proc/self/task/" + self + "/children")
	if err != nil {
		return nil
	}
	var pids []int
	for field := range bytes.FieldsSeq(children) {
		if pid, err := strconv.Atoi(string(field)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// environment returns the value of a variable ("NAME=") in the environment that
// pid was started with.
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

// sweepLimit is how long killed processes are waited for: one that the kernel
// cannot end now is reaped later.
const sweepLimit = time.Second

// sweepOrphans reaps reparented zombies and kills those processes that kill
// names, with all their descendants: the children of a killed process are
// orphans of the next round.
func (f *forker) sweepOrphans(kill func(taskID string) bool) {
	deadline := time.Now().Add(sweepLimit)
	for f.sweepOnce(kill) > 0 && time.Now().Before(deadline) {
		<-time.After(time.Millisecond) // a killed process needs a moment to become a zombie
	}
}

func (f *forker) sweepOnce(kill func(taskID string) bool) int {
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
		if taskID, _ := environment(pid, taskIDVariable); kill(taskID) {
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
