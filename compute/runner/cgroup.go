package runner

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Classes of failures; launcher.Class has the same values.
const (
	classError   = "error"
	classMemory  = "out_of_memory"
	classTimeout = "timeout"
	classStart   = "start_failed"
	classToken   = "token_expired"
	classGang    = "gang"
	classStream  = "stream" // failure of an input that is read while it is written
)

// cgroup is the control group of this process: in a pod, that of its container; on a
// machine, one that other processes share. It supports versions 1 and 2, and machines
// without control groups.
type cgroup struct {
	memory, cpu string // folders; "": none
	unified     bool   // version 2
}

// ownCgroup finds the group of this process below mount, which is /sys/fs/cgroup. A
// container sees its own group at the mount, regardless of its path on the host.
func ownCgroup(self, mount string) cgroup {
	paths := make(map[string]string)
	for line := range strings.SplitSeq(self, "\n") {
		if fields := strings.SplitN(line, ":", 3); len(fields) == 3 {
			for controller := range strings.SplitSeq(fields[1], ",") {
				paths[controller] = fields[2]
			}
		}
	}
	find := func(controller, path, file string) string {
		for _, folder := range []string{filepath.Join(mount, controller, path), filepath.Join(mount, controller)} {
			if _, err := os.Stat(filepath.Join(folder, file)); err == nil {
				return folder
			}
		}
		return ""
	}
	if _, err := os.Stat(filepath.Join(mount, "cgroup.controllers")); err == nil {
		return cgroup{unified: true, memory: find("", paths[""], "memory.events"), cpu: find("", paths[""], "cpu.stat")}
	}
	return cgroup{
		memory: find("memory", paths["memory"], "memory.oom_control"),
		cpu:    find("cpuacct", paths["cpuacct"], "cpuacct.usage"),
	}
}

// readCgroup is ownCgroup for the running system.
func readCgroup() cgroup {
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return cgroup{}
	}
	return ownCgroup(string(self), "/sys/fs/cgroup")
}

// oomKills counts the processes of the group that the kernel killed because the group or the
// machine ran out of memory.
func (c cgroup) oomKills() int64 {
	file := "memory.oom_control"
	if c.unified {
		file = "memory.events"
	}
	n, _ := cgroupField(c.memory, file, "oom_kill")
	return n
}

// limit is the group's memory limit in bytes; 0: none.
func (c cgroup) limit() int64 {
	file := "memory.limit_in_bytes"
	if c.unified {
		file = "memory.max"
	}
	n, _ := cgroupNumber(c.memory, file)
	if n >= 1<<60 { // version 1 reports its largest number for no limit
		return 0
	}
	return n
}

// used returns the usage of the group: CPU time since its creation, and memory without
// the file cache that the kernel can drop.
func (c cgroup) used() (u taskUsage, ok bool) {
	var memory, inactive, cpu int64
	var hasMemory, hasCPU bool
	if c.unified {
		memory, hasMemory = cgroupNumber(c.memory, "memory.current")
		inactive, _ = cgroupField(c.memory, "memory.stat", "inactive_file")
		cpu, hasCPU = cgroupField(c.cpu, "cpu.stat", "usage_usec")
		cpu *= int64(time.Microsecond)
	} else {
		memory, hasMemory = cgroupNumber(c.memory, "memory.usage_in_bytes")
		inactive, _ = cgroupField(c.memory, "memory.stat", "total_inactive_file")
		cpu, hasCPU = cgroupNumber(c.cpu, "cpuacct.usage")
	}
	return taskUsage{memory: max(0, memory-inactive), cpu: time.Duration(cpu)}, hasMemory && hasCPU
}

func cgroupNumber(folder, file string) (int64, bool) {
	if folder == "" {
		return 0, false
	}
	text, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	return n, err == nil
}

func cgroupField(folder, file, field string) (int64, bool) {
	if folder == "" {
		return 0, false
	}
	text, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, field+" "); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
