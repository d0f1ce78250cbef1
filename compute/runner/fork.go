package runner

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// forker starts every child on one OS thread that lives as long as the runner: the kernel
// sends the parent-death signal when the forking thread ends, so a child that is forked
// on a thread that Go retires would be killed at random.
type forker struct {
	requests chan forkRequest
	quit     chan struct{}
	stdin    *os.File // /dev/null
	once     sync.Once

	mark atomic.Int64 // largest high-water mark read of this process' memory

	mu   sync.Mutex // held from the fork until the pid is registered
	pids map[int]struct{}
}

type forkRequest struct {
	argv0 string
	argv  []string
	env   []string
	dir   string
	stdin *os.File // nil: /dev/null
	reply chan forkReply
}

type forkReply struct {
	pid, pidfd int
	outputs    [2]*os.File // read ends of standard output and standard error
	err        error
}

var errForkerClosed = errors.New("the runner is shutting down")

func newForker() (*forker, error) {
	stdin, err := os.Open(os.DevNull)
	if err != nil {
		return nil, fmt.Errorf("standard input of tasks: %w", err)
	}
	f := &forker{
		stdin:    stdin,
		requests: make(chan forkRequest),
		quit:     make(chan struct{}),
		pids:     make(map[int]struct{}),
	}
	go f.loop()
	return f, nil
}

// close ends the forking thread and with it every child that is still alive.
func (f *forker) close() { f.once.Do(func() { close(f.quit) }) }

func (f *forker) loop() {
	runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
	defer f.stdin.Close()
	for {
		select {
		case <-f.quit:
			return
		case r := <-f.requests:
			r.reply <- f.fork(r)
		}
	}
}

// fork opens the pipes itself, for one attempt at a time: every open descriptor makes a
// fork more expensive.
func (f *forker) fork(r forkRequest) (reply forkReply) {
	var ends [2]int
	for i := range ends {
		if reply.outputs[i], ends[i], reply.err = outputPipe(); reply.err != nil {
			closeFDs(ends[:i])
			closeFiles(reply.outputs[:i])
			return reply
		}
	}
	defer closeFDs(ends[:])
	stdin := f.stdin
	if r.stdin != nil {
		stdin = r.stdin
	}
	reply.pidfd = -1
	f.mu.Lock()
	defer f.mu.Unlock()
	reply.pid, reply.err = syscall.ForkExec(r.argv0, r.argv, &syscall.ProcAttr{
		Dir: r.dir, Env: r.env,
		Files: []uintptr{stdin.Fd(), uintptr(ends[0]), uintptr(ends[1])},
		Sys: &syscall.SysProcAttr{
			Setpgid:   true,
			Pdeathsig: syscall.SIGKILL,
			PidFD:     &reply.pidfd,
		},
	})
	if reply.err != nil {
		closeFiles(reply.outputs[:])
		return reply
	}
	f.pids[reply.pid] = struct{}{}
	return reply
}

// outputPipe returns a pipe. The runtime's poller watches the read end; the write end
// blocks, as programs expect.
func outputPipe() (read *os.File, write int, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, 0, fmt.Errorf("pipe: %w", err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		closeFDs(fds[:])
		return nil, 0, fmt.Errorf("pipe: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "output"), fds[1], nil
}

func closeFDs(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

func closeFiles(files []*os.File) {
	for _, file := range files {
		_ = file.Close()
	}
}

// start forks and executes c in its own process group. Without stdin, its standard input is
// empty.
func (f *forker) start(stdin *os.File, c command, env environ, dir string) (*process, [2]*os.File, error) {
	r := forkRequest{argv0: c.path, argv: c.argv, env: env.list(), dir: dir, stdin: stdin, reply: make(chan forkReply, 1)}
	select {
	case <-f.quit:
		return nil, [2]*os.File{}, errForkerClosed
	case f.requests <- r:
	}
	reply := <-r.reply
	if reply.err != nil {
		return nil, reply.outputs, reply.err
	}
	return newProcess(f, reply.pid, reply.pidfd), reply.outputs, nil
}

// reaped removes pid from the table after it has been waited for.
func (f *forker) reaped(pid int) {
	f.mu.Lock()
	delete(f.pids, pid)
	f.mu.Unlock()
}

// inherited reports whether the peak of a child may be that of this process: until it
// executes its program, a child runs in the memory of the runner, and the kernel counts
// that memory.
func (f *forker) inherited(peak int64) bool {
	// The kernel counts pages per processor and adds them up from time to time.
	slack := func(mark int64) int64 { return mark + mark/8 + 1<<20 }
	if peak <= slack(f.mark.Load()) {
		return true
	}
	f.mark.Store(highWaterMark())
	return peak <= slack(f.mark.Load())
}
