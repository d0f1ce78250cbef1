// Package memory returns the unused memory of an idle process to the system.
package memory

import (
	"bufio"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Return returns the free memory of the heap, and the pages of the program's file. A start executes
// most of the program once, and its pages count as memory of the process from then on. They stay in the
// page cache, from which the kernel maps those that are used again.
func Return() {
	debug.FreeOSMemory()
	for _, m := range program() {
		// On failure, the pages stay mapped.
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start, unix.MADV_DONTNEED)
	}
}

// mapping is a range of addresses.
type mapping struct{ start, end uintptr }

// program returns the mappings of the program's file that this process has not changed, so that the
// file contains all of their pages. Without /proc, there are none.
func program() (list []mapping) {
	path, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil
	}
	file, err := os.Open("/proc/self/smaps")
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	clean, found := true, mapping{}
	add := func() {
		if clean && found.end > 0 {
			list = append(list, found)
		}
	}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) == 3 && fields[0] == "Anonymous:": // pages that were changed
			clean = fields[1] == "0"
		case len(fields) >= 5 && !strings.HasSuffix(fields[0], ":"): // the header of the next mapping
			add()
			clean, found = true, mapping{}
			if len(fields) > 5 && strings.HasSuffix(lines.Text(), " "+path) && !strings.Contains(fields[1], "w") {
				found = parse(fields[0])
			}
		}
	}
	add()
	return list
}

// parse returns the range "start-end" of /proc/self/smaps (proc_pid_smaps(5)), or an empty one.
func parse(text string) mapping {
	from, to, _ := strings.Cut(text, "-")
	start, failed := strconv.ParseUint(from, 16, strconv.IntSize)
	end, wrong := strconv.ParseUint(to, 16, strconv.IntSize)
	if failed != nil || wrong != nil {
		return mapping{}
	}
	return mapping{uintptr(start), uintptr(end)}
}
