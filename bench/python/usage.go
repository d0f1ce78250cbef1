package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// tick is the unit of times in /proc in milliseconds, fixed by the kernel's interface.
const tick = 10

// usage is the processor time that processes have used, in milliseconds.
type usage struct{ server, runner, forks float64 }

// usage reads the times of the server, of the runner, and of the ended children of the runner.
func (s *server) usage() (u usage, err error) {
	if u.server, _, err = timesOf(s.cmd.Process.Pid); err != nil {
		return u, err
	}
	text, err := os.ReadFile(s.runner)
	if err != nil {
		return u, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return u, fmt.Errorf("%s: %w", s.runner, err)
	}
	u.runner, u.forks, err = timesOf(pid)
	return u, err
}

// timesOf returns the processor time of a process, and that of its ended children.
func timesOf(pid int) (own, children float64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	// The fields are counted after the name, which may contain spaces.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	var times [4]float64 // utime, stime, cutime, cstime (proc_pid_stat(5))
	for i := range times {
		if times[i], err = strconv.ParseFloat(fields[11+i], 64); err != nil {
			return 0, 0, fmt.Errorf("/proc/%d/stat: %w", pid, err)
		}
	}
	return tick * (times[0] + times[1]), tick * (times[2] + times[3]), nil
}
