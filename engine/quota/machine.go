package quota

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

const (
	slotsPerCPU   = 8
	minSlots      = 16
	memoryShare   = 85 // percent of the machine's memory that tasks may reserve
	fallbackMiB   = 2048
	bytesPerMiB   = 1 << 20
	kibPerMiB     = 1 << 10
	millisPerCore = 1000
)

// Machine returns the capacity of this machine or container: all its cores, most of its
// memory, as many processes as keep them busy, and no GPUs, which ParseGPUs or
// DetectGPUs add.
func Machine() Capacity {
	cpus := runtime.GOMAXPROCS(0)
	return Capacity{
		CPUMillis: cpus * millisPerCore,
		MemoryMiB: memoryMiB() * memoryShare / 100,
		Pods:      max(minSlots, cpus*slotsPerCPU),
	}
}

// memoryMiB returns the machine's memory, or the container's limit when that is lower.
func memoryMiB() int {
	total := fallbackMiB
	if data, err := os.ReadFile("/proc/meminfo"); err == nil {
		if kib, ok := memTotalKiB(data); ok {
			total = kib / kibPerMiB
		}
	}
	if data, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if limit, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil {
			total = min(total, limit/bytesPerMiB)
		}
	}
	return total
}

func memTotalKiB(meminfo []byte) (int, bool) {
	lines := bufio.NewScanner(bytes.NewReader(meminfo))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) >= 2 && fields[0] == "MemTotal:" {
			kib, err := strconv.Atoi(fields[1])
			return kib, err == nil
		}
	}
	return 0, false
}

// FreeDiskMiB returns the free space on the disk of dir.
func FreeDiskMiB(dir string) (int, error) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	return int(stat.Bavail * uint64(stat.Bsize) / bytesPerMiB), nil //nolint:gosec // sizes of a disk
}
