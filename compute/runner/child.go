package runner

import (
	"os"
	"sync"
	"time"
)

const (
	// drainLimit bounds the wait for the output of an ended process when a process that
	// cannot be killed still has its pipe open.
	drainLimit = 2 * time.Second
	readBuffer = 32 << 10
)

// child is a process with two output streams that are read.
type child struct {
	*process
	pipes   [2]*os.File
	readers sync.WaitGroup
}

// startChild starts c in dir. Each function receives one stream, from one goroutine,
// until wait returns.
func (f *forker) startChild(c command, env environ, dir string, buffers *sync.Pool, stdout, stderr func([]byte)) (*child, error) {
	return f.startChildOn(nil, c, env, dir, buffers, stdout, stderr)
}

// startChildOn is startChild with a standard input.
func (f *forker) startChildOn(stdin *os.File, c command, env environ, dir string, buffers *sync.Pool, stdout, stderr func([]byte)) (*child, error) {
	process, pipes, err := f.start(stdin, c, env, dir)
	if err != nil {
		return nil, err
	}
	return newChild(process, pipes, buffers, stdout, stderr), nil
}

// newChild reads the output of a process.
func newChild(process *process, pipes [2]*os.File, buffers *sync.Pool, stdout, stderr func([]byte)) *child {
	ch := &child{process: process, pipes: pipes}
	for i, take := range [2]func([]byte){stdout, stderr} {
		ch.readers.Go(func() { readAll(ch.pipes[i], buffers, take) })
	}
	return ch
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

// wait returns when the process has ended, sweep has handled the processes that escaped
// from its group, and all output has been read.
func (ch *child) wait(sweep func()) (exit, error) {
	status, err := ch.process.wait()
	sweep()
	for _, pipe := range ch.pipes {
		_ = pipe.SetReadDeadline(time.Now().Add(drainLimit))
	}
	ch.readers.Wait()
	closeFiles(ch.pipes[:])
	return status, err
}
