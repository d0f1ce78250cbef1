package runner

import (
	"errors"
	"runtime"
	"sync"
	"syscall"
)

// forker starts every child on one OS thread that lives as long as the runner:
// the kernel sends the parent-death signal when the forking thread ends, so a
// child forked on a thread that Go retires would be killed at random.
type forker struct {
	requests chan forkRequest
	quit     chan struct{}
	once     sync.Once

	mu   sync.Mutex // held from the fork until the pid is registered
	pids map[int]struct{}
}

type forkRequest struct {
	argv0 string
	argv  []string
	attr  *syscall.ProcAttr
	reply chan forkReply
}

type forkReply struct {
	pid, pidfd int
	err        error
}

var errForkerClosed = errors.New("the runner is going down")

func newForker() *forker {
	f := &forker{
		requests: make(chan forkRequest),
		quit:     make(chan struct{}),
		pids:     make(map[int]struct{}),
	}
	go f.loop()
	return f
}

// close ends the forking thread, and with it every child that still lives.
func (f *forker) close() { f.once.Do(func() { close(f.quit) }) }

func (f *forker) loop() {
	runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
	for {
		select {
		case <-f.quit:
			return
		case r := <-f.requests:
			r.reply <- f.fork(r)
		}
	}
}

func (f *forker) fork(r forkRequest) forkReply {
	pidfd := -1
	r.attr.Sys = &syscall.SysProcAttr{
		Setpgid:   true,
		Pdeathsig: syscall.SIGKILL,
		PidFD:     &pidfd,
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	pid, err := syscall.ForkExec(r.argv0, r.argv, r.attr)
	if err != nil {
		return forkReply{err: err}
	}
	f.pids[pid] = struct{}{}
	return forkReply{pid: pid, pidfd: pidfd}
}

// start forks and executes argv0 in a process group of its own.
func (f *forker) start(argv0 string, argv []string, attr *syscall.ProcAttr) (*process, error) {
	r := forkRequest{argv0: argv0, argv: argv, attr: attr, reply: make(chan forkReply, 1)}
	select {
	case <-f.quit:
		return nil, errForkerClosed
	case f.requests <- r:
	}
	reply := <-r.reply
	if reply.err != nil {
		return nil, reply.err
	}
	return newProcess(f, reply.pid, reply.pidfd), nil
}

// reap forgets pid after it has been waited for.
func (f *forker) reaped(pid int) {
	f.mu.Lock()
	delete(f.pids, pid)
	f.mu.Unlock()
}
