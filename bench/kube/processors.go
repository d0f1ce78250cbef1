package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// jiffy is the unit of CPU times in /proc.
const jiffy = 10 * time.Millisecond

// times are CPU times by program, of the control plane and of this process.
type times map[string]time.Duration

// processors reads the CPU times of the control plane's programs on this machine. They show the
// cost of a pod independently of other load on the machine.
func processors() times {
	all := times{}
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return all
	}
	own := "/proc/" + strconv.Itoa(os.Getpid())
	for _, folder := range folders {
		command, err := os.ReadFile(folder + "/cmdline")
		if err != nil {
			continue
		}
		program, _, _ := strings.Cut(string(command), "\x00")
		program = filepath.Base(program)
		switch {
		case folder == own:
			program = "FlowForge"
		case !slices.Contains([]string{"kube-apiserver", "etcd", "kube-scheduler", "kube-controller-manager", "kwok"}, program):
			continue
		}
		all[program] += used(folder)
	}
	return all
}

// used returns the CPU time of one process.
func used(folder string) time.Duration {
	stat, err := os.ReadFile(folder + "/stat")
	if err != nil {
		return 0
	}
	// The program's name is in parentheses and may contain any character.
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	const user, system = 11, 12
	if len(fields) <= system {
		return 0
	}
	sum := 0
	for _, field := range []string{fields[user], fields[system]} {
		n, err := strconv.Atoi(field)
		if err != nil {
			return 0
		}
		sum += n
	}
	return time.Duration(sum) * jiffy
}

func (t times) since(before times) times {
	spent := times{}
	for program, d := range t {
		spent[program] = d - before[program]
	}
	return spent
}

// each describes the CPU time per pod for n pods, highest first.
func (t times) each(n int) string {
	var sum time.Duration
	programs := make([]string, 0, len(t))
	for program, d := range t {
		sum += d
		programs = append(programs, program)
	}
	slices.SortFunc(programs, func(a, b string) int { return cmp.Compare(t[b], t[a]) })
	for i, program := range programs {
		programs[i] = fmt.Sprintf("%s %.1f", program, milliseconds(t[program], n))
	}
	return fmt.Sprintf("%.1f ms: %s", milliseconds(sum, n), strings.Join(programs, ", "))
}

func milliseconds(d time.Duration, n int) float64 {
	return float64(d) / float64(time.Millisecond) / float64(n)
}
