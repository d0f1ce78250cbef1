package record

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// Machine is the kind of machine of a run. Only runs on the same kind are comparable.
type Machine struct {
	Processor  string `json:"processor"`
	Processors int    `json:"processors"`
	Memory     string `json:"memory"`
	Go         string `json:"go"`
}

// Same reports whether two runs used the same kind of machine. The version of Go may differ: its
// effect belongs to the result.
func (m Machine) Same(other Machine) bool {
	m.Go, other.Go = "", ""
	return m == other
}

func (m Machine) String() string {
	return fmt.Sprintf("%s, %d cores, %s, %s", m.Processor, m.Processors, m.Memory, m.Go)
}

// ThisMachine describes the machine of this process.
func ThisMachine() Machine {
	return Machine{Processor: field("/proc/cpuinfo", "model name"), Processors: runtime.NumCPU(), Memory: memory(), Go: runtime.Version()}
}

func memory() string {
	var kib int
	if _, err := fmt.Sscan(field("/proc/meminfo", "MemTotal"), &kib); err != nil {
		return "memory unknown"
	}
	return fmt.Sprintf("%d GiB", kib>>20)
}

// Load returns the load averages of 1, 5 and 15 minutes.
func Load() string {
	data, err := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(data))
	if err != nil || len(fields) < 3 {
		return "unknown"
	}
	return strings.Join(fields[:3], ", ")
}

// Commit returns the commit of the working tree, with "+changes" if files differ from it.
func Commit(ctx context.Context) string {
	hash, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=8", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	commit := strings.TrimSpace(string(hash))
	changes, err := exec.CommandContext(ctx, "git", "status", "--porcelain").Output()
	if err != nil || len(changes) > 0 {
		commit += "+changes"
	}
	return commit
}

// field returns the value of a line such as "name : value" of a file.
func field(path, key string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}
