package runner

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is a started child that leads a process group.
type process struct {
	forker *forker
	pid    int
	pidfd  *os.File // nil if the kernel does not support it
	forked bool     // from another process than the runner

	mu     sync.Mutex
	reaped bool
}

// exit describes how a process ended.
type exit struct {
	code    int            // 0 to 255; 128 + signal when killed
	signal  syscall.Signal // 0 unless killed
	cpu     time.Duration
	peakRSS int64 // bytes, of the leader or a child for which it waited; 0: unknown
}

func newProcess(f *forker, pid, pidfd int) *process {
	p := &process{forker: f, pid: pid}
	if pidfd >= 0 {
		// Non-blocking makes the runtime's poller watch it instead of a thread.
		if err := unix.SetNonblock(pidfd, true); err == nil {
			p.pidfd = os.NewFile(uintptr(pidfd), "pidfd")
		} else {
			_ = unix.Close(pidfd)
		}
	}
	return p
}

// signal sends sig to the whole group. It does nothing after wait: another process could
// have the number by then.
func (p *process) signal(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = syscall.Kill(-p.pid, sig)
	}
}

// alive reports whether the process still has its number.
func (p *process) alive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.reaped
}

// wait kills the remaining processes of the group when the leader has ended, then
// returns.
func (p *process) wait() (exit, error) {
	p.awaitExit()
	p.mu.Lock()
	defer p.mu.Unlock()
	// The zombie keeps its number until it is waited for, so the group is still ours.
	_ = syscall.Kill(-p.pid, syscall.SIGKILL)
	var status syscall.WaitStatus
	var usage syscall.Rusage
	for {
		_, err := syscall.Wait4(p.pid, &status, 0, &usage)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EINTR) {
			return exit{}, fmt.Errorf("wait for process %d: %w", p.pid, err)
		}
	}
	p.reaped = true
	p.forker.reaped(p.pid)
	if p.pidfd != nil {
		_ = p.pidfd.Close()
	}
	e := exitOf(status, usage)
	if !p.forked && p.forker.inherited(e.peakRSS) {
		e.peakRSS = 0
	}
	return e, nil
}

// awaitExit returns when the leader is a zombie.
func (p *process) awaitExit() {
	if p.pidfd == nil {
		_ = ignoringEINTR(func() error {
			return unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		})
		return
	}
	raw, err := p.pidfd.SyscallConn()
	if err == nil {
		var info unix.Siginfo
		err = raw.Read(func(uintptr) bool {
			info = unix.Siginfo{}
			err := ignoringEINTR(func() error {
				return unix.Waitid(unix.P_PID, p.pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
			})
			return err != nil || info.Signo != 0
		})
	}
	if err != nil { // the descriptor cannot be polled
		_ = ignoringEINTR(func() error {
			return unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		})
	}
}

func ignoringEINTR(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

func exitOf(status syscall.WaitStatus, usage syscall.Rusage) exit {
	e := exit{
		cpu:     time.Duration(usage.Utime.Nano() + usage.Stime.Nano()),
		peakRSS: usage.Maxrss << 10,
	}
	if status.Signaled() {
		e.signal = status.Signal()
		e.code = 128 + int(e.signal)
	} else {
		e.code = status.ExitStatus()
	}
	return e
}
