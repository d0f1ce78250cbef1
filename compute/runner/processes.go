package runner

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// taskUsage is the total usage of the living processes of an attempt.
type taskUsage struct {
	memory int64 // bytes
	cpu    time.Duration
}

// clockTick is the unit of times in /proc, fixed by the kernel's interface.
const clockTick = 10 * time.Millisecond

// processStat is one process as /proc/PID/stat describes it.
type processStat struct {
	pid, parent, group int
	threads            int
	started            uint64        // in ticks since the machine booted
	cpu                time.Duration // including the children for which it has waited
	rss                int64         // bytes; shared pages count in full
}

// key identifies a process permanently; its number alone is reused.
func (p processStat) key() processKey { return processKey{p.pid, p.started} }

type processKey struct {
	pid     int
	started uint64
}

// readStat returns false for a process that no longer exists.
func readStat(pid int) (processStat, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return processStat{}, false
	}
	// The fields are counted after the name, which may contain spaces.
	end := bytes.LastIndexByte(text, ')')
	if end < 0 {
		return processStat{}, false
	}
	fields := strings.Fields(string(text[end+1:]))
	if len(fields) < 22 {
		return processStat{}, false
	}
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(fields[i], 10, 64)
		return n
	}
	return processStat{
		pid: pid, parent: int(number(1)), group: int(number(2)), threads: int(number(17)),
		started: uint64(number(19)), //nolint:gosec // not negative
		cpu:     time.Duration(number(11)+number(12)+number(13)+number(14)) * clockTick,
		rss:     number(21) * int64(os.Getpagesize()),
	}, true
}

// childrenOf returns the children of all threads of a process.
func childrenOf(p processStat) []int {
	tasks := "/proc/" + strconv.Itoa(p.pid) + "/task/"
	if p.threads <= 1 {
		return readPids(tasks + strconv.Itoa(p.pid) + "/children")
	}
	threads, err := readNames(tasks)
	if err != nil {
		return nil
	}
	var children []int
	for _, thread := range threads {
		children = append(children, readPids(tasks+thread+"/children")...)
	}
	return children
}

func readPids(path string) []int {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var pids []int
	for field := range bytes.FieldsSeq(text) {
		if pid, err := strconv.Atoi(string(field)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// descendants returns pid and its descendants.
func descendants(pid int) []processStat {
	var found []processStat
	seen := make(map[int]bool)
	for next := []int{pid}; len(next) > 0; {
		pid := next[len(next)-1]
		next = next[:len(next)-1]
		if seen[pid] {
			continue
		}
		seen[pid] = true
		if p, ok := readStat(pid); ok {
			found = append(found, p)
			next = append(next, childrenOf(p)...)
		}
	}
	return found
}

// processTable finds the processes of attempts. It reads only the processes of this
// runner, because a machine may have many thousands of others.
type processTable struct {
	mu sync.Mutex
	// owners maps the processes of the last scan to their attempts: a process that was
	// seen below a command stays known after it has left that command.
	owners map[processKey]string
}

// scan returns the living processes of each attempt: its command, named by roots, all
// descendants, and the adopted processes that have escaped from it.
func (t *processTable) scan(roots map[string]int, adopted []int) map[string][]processStat {
	t.mu.Lock()
	defer t.mu.Unlock()
	found, owners := make(map[string][]processStat, len(roots)), make(map[processKey]string)
	leaders := make(map[int]string, len(roots))
	add := func(task string, processes []processStat) {
		for _, p := range processes {
			if _, twice := owners[p.key()]; !twice {
				owners[p.key()] = task
				found[task] = append(found[task], p)
			}
		}
	}
	for task, pid := range roots {
		leaders[pid] = task
		add(task, descendants(pid))
	}
	for _, pid := range adopted {
		processes := descendants(pid)
		if len(processes) > 0 {
			add(t.owner(processes[0], leaders), processes)
		}
	}
	t.owners = owners
	return found
}

// owner returns the attempt of an adopted process: the one in which it was last seen, the
// one of its process group, or the one in its environment; "": unknown.
func (t *processTable) owner(p processStat, leaders map[int]string) string {
	if task, seen := t.owners[p.key()]; seen {
		return task
	}
	if task, led := leaders[p.group]; led {
		return task
	}
	task, _ := environment(p.pid, taskIDVariable)
	return task
}

// ownerOf returns the attempt of an adopted process from its environment or the last
// scan; "": unknown.
func (t *processTable) ownerOf(pid int) string {
	p, ok := readStat(pid)
	if !ok {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.owner(p, nil)
}

// residentOf sums the resident sizes: never less than sharesOf, and cheaper to read.
func residentOf(processes []processStat) (sum int64) {
	for _, p := range processes {
		sum += p.rss
	}
	return sum
}

// sharesOf sums the proportional set sizes: a page that n processes share counts for an
// n-th in each. The kernel walks the page tables of every process for it.
func sharesOf(processes []processStat) (sum int64) {
	parents := make(map[int]bool, len(processes))
	for _, p := range processes {
		parents[p.pid] = true
	}
	for _, p := range processes {
		if parents[p.parent] && sameMemory(p.pid, p.parent) {
			continue
		}
		sum += shareOf(p)
	}
	return sum
}

// kcmpVM makes kcmp(2) compare the address spaces of two processes.
const kcmpVM = 1

// sameMemory reports whether a process runs in the memory of its parent, as between vfork
// and exec.
func sameMemory(pid, parent int) bool {
	order, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(pid), uintptr(parent), kcmpVM, 0, 0, 0)
	return errno == 0 && order == 0
}

// shareOf returns the resident size of a process whose share cannot be read, such as one
// of another user.
func shareOf(p processStat) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/smaps_rollup")
	if errors.Is(err, unix.ESRCH) || (errors.Is(err, fs.ErrNotExist) && unix.Kill(p.pid, 0) != nil) {
		return 0 // it has ended
	}
	if err != nil {
		return p.rss
	}
	return kibibytes(text, "Pss:")
}

// kibibytes returns the bytes of a line such as "Pss:   12 kB"; 0 when there is none.
func kibibytes(text []byte, name string) int64 {
	for line := range bytes.Lines(text) {
		value, ok := bytes.CutPrefix(line, []byte(name))
		if !ok {
			continue
		}
		n, _ := strconv.ParseInt(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(value), []byte("kB")))), 10, 64)
		return n << 10
	}
	return 0
}

// highWaterMark returns the largest resident size that this process has had, in bytes.
func highWaterMark() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	return kibibytes(text, "VmHWM:")
}
