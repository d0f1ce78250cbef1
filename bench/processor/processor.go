// Package processor reads the processor time of the programs that a benchmark measures.
package processor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tick is the unit of times in /proc.
const tick = 10 * time.Millisecond

// Listener returns the process that listens on the socket of an address such as http+unix:///x.sock.
func Listener(ctx context.Context, address string) (int, error) {
	u, err := url.Parse(address)
	if err != nil {
		return 0, err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", u.Path)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, errors.New("the engine has no unix socket")
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, err
	}
	var credentials *syscall.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		credentials, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err = errors.Join(err, failed); err != nil {
		return 0, err
	}
	return int(credentials.Pid), nil
}

// stat is what /proc says about a process.
type stat struct {
	parent int
	used   time.Duration // by it and by its children that ended
}

func statOf(pid int) (stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name of the program may contain spaces
	fields := strings.Fields(rest)
	if len(fields) < 15 {
		return stat{}, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	var s stat
	s.parent, err = strconv.Atoi(fields[1])
	for _, field := range fields[11:15] { // of the process and of its children, in user and in system mode
		ticks, failed := strconv.Atoi(field)
		err = errors.Join(err, failed)
		s.used += time.Duration(ticks) * tick
	}
	return s, err
}

// Used returns the processor time of processes and all their descendants.
func Used(roots []int) time.Duration {
	var sum time.Duration
	for _, one := range family(roots) {
		sum += one.used
	}
	return sum
}

// Family returns processes and all their descendants.
func Family(roots ...int) []int { return slices.Sorted(maps.Keys(family(roots))) }

// family returns what /proc says about processes and all their descendants.
func family(roots []int) map[int]stat {
	paths, _ := filepath.Glob("/proc/[0-9]*")
	all := map[int]stat{}
	for _, path := range paths {
		pid, err := strconv.Atoi(filepath.Base(path))
		if err != nil {
			continue
		}
		if s, err := statOf(pid); err == nil { // others ended
			all[pid] = s
		}
	}
	members := map[int]stat{}
	for _, pid := range roots {
		members[pid] = all[pid]
	}
	for grown := true; grown; {
		grown = false
		for pid, s := range all {
			_, child := members[s.parent]
			if _, known := members[pid]; child && !known {
				members[pid], grown = s, true
			}
		}
	}
	return members
}

// Parent returns the parent of a process.
func Parent(pid int) (int, error) {
	s, err := statOf(pid)
	return s.parent, err
}
