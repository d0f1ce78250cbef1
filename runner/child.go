package runner

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// drainLimit is how long the output of an ended process is waited for when
	// a process that cannot be killed holds its pipe.
	drainLimit = 2 * time.Second
	readBuffer = 32 << 10
)

// child is a process whose two output streams are read.
type child struct {
	*process
	pipes   [2]*os.File
	readers sync.WaitGroup
}

// startChild starts c in dir. The functions take what it writes, each from one
// goroutine, until wait returns.
func (f *forker) startChild(c command, env environ, dir string, buffers *sync.Pool, stdout, stderr func([]byte)) (*child, error) {
	stdin, err := os.Open(os.DevNull)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", os.DevNull, err)
	}
	defer stdin.Close()
	ch := &child{}
	var ends [2]int
	for i := range ends {
		ch.pipes[i], ends[i], err = outputPipe()
		if err != nil {
			ch.closePipes()
			closeAll(ends[:i])
			return nil, err
		}
	}
	ch.process, err = f.start(c.path, c.argv, &syscall.ProcAttr{
		Dir: dir, Env: env.list(),
		Files: []uintptr{stdin.Fd(), uintptr(ends[0]), uintptr(ends[1])},
	})
	closeAll(ends[:])
	if err != nil {
		ch.closePipes()
		return nil, err
	}
	for i, take := range [2]func([]byte){stdout, stderr} {
		ch.readers.Go(func() { readAll(ch.pipes[i], buffers, take) })
	}
	return ch, nil
}

// outputPipe returns a pipe whose read end is watched by the runtime's poller
// and whose write end blocks, as programs expect.
func outputPipe() (read *os.File, write int, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, 0, fmt.Errorf("pipe: %w", err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		closeAll(fds[:])
		return nil, 0, fmt.Errorf("pipe: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "output"), fds[1], nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

func (ch *child) closePipes() {
	for _, pipe := range ch.pipes {
		if pipe != nil {
			_ = pipe.Close()
		}
	}
}

func readAll(pipe *os.File, buffers *sync.Pool, take func([]byte)) {
	buffer := buffers.Get().(*[readBuffer]byte)
	defer buffers.Put(buffer)
	for {
		n, err := pipe.Read(buffer[:])
		if n > 0 {
			take(buffer[:n])
		}
		if err != nil {
			return
		}
	}
}

// wait returns when the process has ended, sweep has dealt with what escaped
// from its group, and its output is read to the end.
func (ch *child) wait(sweep func()) (exit, error) {
	status, err := ch.process.wait()
	sweep()
	for _, pipe := range ch.pipes {
		_ = pipe.SetReadDeadline(time.Now().Add(drainLimit))
	}
	ch.readers.Wait()
	ch.closePipes()
	return status, err
}
