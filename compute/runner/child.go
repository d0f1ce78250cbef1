package runner

import (
	"os"
	"sync"
	"time"
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
	process, pipes, err := f.start(c, env, dir)
	if err != nil {
		return nil, err
	}
	ch := &child{process: process, pipes: pipes}
	for i, take := range [2]func([]byte){stdout, stderr} {
		ch.readers.Go(func() { readAll(ch.pipes[i], buffers, take) })
	}
	return ch, nil
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
	closeFiles(ch.pipes[:])
	return status, err
}
