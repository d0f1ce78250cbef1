package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sys/unix"

	"github.com/flowforge/flowforge/data/channel"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const (
	// streamPipe is how much of a stream waits in the pipe for its reader; the rest
	// waits in the file that is written.
	streamPipe  = 1 << 20
	streamBlock = 256 << 10
	// streamFirst and streamMost bound how long a file is left alone that has not grown.
	streamFirst = 2 * time.Millisecond
	streamMost  = 50 * time.Millisecond
	followWait  = 20 * time.Second // that the server may hold back an answer about a stream
	followAgain = 500 * time.Millisecond
)

// streamError stops an attempt that reads what turned out to be no whole result. It runs
// again, for nothing.
type streamError string

func (e streamError) Error() string { return string(e) }

// stream is an input that the command reads while another attempt writes it: a pipe
// that this runner fills. The writer never waits for the reader, because what is not
// read yet stands in its file, which the store needs anyway. The pipe ends when the
// writer has succeeded and what was read is its result, and at no other time: a reader
// that comes to the end has read all of it.
type stream struct {
	a    *attempt
	file *flowforgev1.InputFile
	told *flowforgev1.PlacedInput
	path string
	pipe *os.File // open at both ends, so that opening it never waits

	began  time.Time
	took   time.Duration
	hash   hash.Hash
	block  []byte // through which all goes
	sent   int64
	head   []byte      // of what was sent, where no store is at hand
	silent atomic.Bool // nobody reads any more: bytes are looked at alone
	from   *os.File    // what a writer of this machine writes, once it has begun
	pieces int32       // of a writer elsewhere, that have come
	moved  int64       // bytes through a connection
	done   chan struct{}
}

// placeStream makes the pipe of an input and begins to fill it.
func (a *attempt) placeStream(file *flowforgev1.InputFile, i int) (string, error) {
	folder, err := a.filesFolder(i)
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, inputFileName(file))
	if err := unix.Mkfifo(path, 0o600); err != nil {
		return "", fmt.Errorf("make a pipe: %w", err)
	}
	pipe, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", fmt.Errorf("open the pipe: %w", err)
	}
	if raw, err := pipe.SyscallConn(); err == nil { // a smaller one does as well
		_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, streamPipe) })
	}
	st := &stream{
		a: a, file: file, path: path, pipe: pipe, began: time.Now(), hash: sha256.New(), block: make([]byte, streamBlock), done: make(chan struct{}),
		told: &flowforgev1.PlacedInput{Input: file.Input, Pointer: file.Pointer, Channel: string(channel.Streaming)},
	}
	a.streams.add(st)
	a.placed = append(a.placed, st.told)
	return path, nil
}

// run fills the pipe until everything has been written, or ctx ends.
func (st *stream) run(ctx context.Context) {
	defer close(st.done)
	defer func() {
		st.took = time.Since(st.began)
		if st.from != nil {
			_ = st.from.Close()
		}
	}()
	pause := streamFirst
	for ctx.Err() == nil {
		n, err := st.grown()
		switch {
		case err != nil:
			st.a.stop(streamError(fmt.Sprintf("The input %s could not be read on: %s.", st.file.Input, err)), st.a.grace())
			return
		case n > 0:
			pause = streamFirst
		case st.writer() != nil:
			waited(ctx, pause)
			pause = min(2*pause, streamMost)
		case st.follow(ctx):
			return
		}
	}
}

// writer is the attempt that writes, as long as it is one of this runner whose end the
// server does not know.
func (st *stream) writer() *attempt {
	s := st.a.s
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.attempts[st.file.Stream.TaskId]
}

// grown passes on what a writer of this machine has written since the last time.
func (st *stream) grown() (int64, error) {
	if st.from == nil {
		w := st.writer()
		if w == nil {
			return 0, nil
		}
		w.mu.Lock()
		outputs := w.paths.outputs
		w.mu.Unlock()
		file := openOutput(outputs, st.file.Stream.Output)
		if file == nil {
			return 0, nil
		}
		if st.writer() != w { // its folder may be another's by now
			_ = file.Close()
			return 0, nil
		}
		st.from = file
	}
	return st.pass(st.from)
}

// openOutput opens the file of an output that is being written; nil when there is none
// yet.
func openOutput(dir, output string) *os.File {
	if dir == "" {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	c := &collector{}
	if c.names, err = readNames(dir); err != nil {
		return nil
	}
	name, err := c.match(&flowforgev1.OutputSpec{Name: output})
	if err != nil || name == "" {
		return nil
	}
	file, _, err := openRegular(root, name)
	if err != nil {
		return nil
	}
	return file
}

// pass passes on what r has.
func (st *stream) pass(r io.Reader) (int64, error) {
	// Neither side may take a short cut around the hash.
	return io.CopyBuffer(struct{ io.Writer }{st}, struct{ io.Reader }{r}, st.block)
}

// Write passes bytes on to the reader, as long as there is one.
func (st *stream) Write(p []byte) (int, error) {
	_, _ = st.hash.Write(p)
	st.sent += int64(len(p))
	if st.a.spec.StoreDir == "" && len(st.head) <= streamPipe {
		st.head = append(st.head, p...)
	}
	if st.silent.Load() {
		return len(p), nil
	}
	if _, err := st.pipe.Write(p); err != nil && !st.silent.Load() {
		return 0, err
	}
	return len(p), nil
}

// silence goes on without a reader: its command has ended.
func (st *stream) silence() {
	st.silent.Store(true)
	_ = st.pipe.Close()
}

// follow asks the server how the output stands, and reports whether that was the end.
func (st *stream) follow(ctx context.Context) bool {
	asking, cancel := context.WithTimeout(ctx, followWait+deliverLimit)
	defer cancel()
	req := connect.NewRequest(&flowforgev1.FollowStreamRequest{
		TaskId: st.a.spec.TaskId, Writer: st.file.Stream.TaskId, Output: st.file.Stream.Output, Pieces: st.pieces, WaitMs: followWait.Milliseconds(),
	})
	req.Header().Set("Authorization", "Bearer "+st.a.spec.Token)
	answer, err := st.a.s.server.tasks.FollowStream(asking, req)
	if err = rpcError("follow a stream", err); err != nil {
		if refused, ok := errors.AsType[*refusedError](err); ok && !tokenRefused(err) {
			st.a.stop(streamError(fmt.Sprintf("The input %s cannot be read on: %s.", st.file.Input, refused.message)), st.a.grace())
			return true
		}
		return !waited(ctx, followAgain)
	}
	switch answer.Msg.State {
	case flowforgev1.StreamState_STREAM_STATE_GONE:
		st.a.stop(streamError(answer.Msg.Message), st.a.grace())
		return true
	case flowforgev1.StreamState_STREAM_STATE_WRITING, flowforgev1.StreamState_STREAM_STATE_ENDED:
	case flowforgev1.StreamState_STREAM_STATE_UNSPECIFIED:
		waited(ctx, followAgain)
	}
	for _, piece := range answer.Msg.Pieces {
		if err := st.piece(ctx, piece); err != nil {
			return !waited(ctx, followAgain) // the same pieces are asked for again
		}
	}
	if answer.Msg.State != flowforgev1.StreamState_STREAM_STATE_ENDED || len(answer.Msg.Pieces) > 0 {
		return false
	}
	return st.finish(ctx, answer.Msg.Whole)
}

// piece passes on a part that a writer elsewhere has brought to the store.
func (st *stream) piece(ctx context.Context, piece *flowforgev1.Blob) error {
	var moved transferStats
	path, err := st.a.s.blobs.fetchPacked(ctx, st.a.spec.Token, piece.Sha256, channel.PackFor(piece.Size, "", ""), &moved)
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	st.moved += moved.bytes
	st.pieces++
	n, err := st.pass(file)
	_ = os.Remove(path) // nobody reads it again
	if err == nil && n != piece.Size {
		err = errWrongBytes
	}
	if err != nil { // a part of it may have gone out
		st.a.stop(streamError(fmt.Sprintf("The input %s could not be read on: %s.", st.file.Input, err)), st.a.grace())
	}
	return err
}

// finish passes on the rest of what the writer has left, and ends the pipe when the
// reader has got that and nothing else. It reports whether that was the end.
func (st *stream) finish(ctx context.Context, whole *flowforgev1.Blob) bool {
	changed := whole.GetMediaType() == DirectoryMediaType
	if !changed && st.from != nil {
		_, _ = st.pass(st.from)
	}
	if !changed && st.sent < whole.GetSize() {
		if err := st.sendRemainder(ctx, whole); err != nil {
			st.a.system(levelWarn, fmt.Sprintf("The rest of the input %s cannot be had now: %s.", st.file.Input, err))
			return !waited(ctx, followAgain)
		}
	}
	if changed || hex.EncodeToString(st.hash.Sum(nil)) != whole.GetSha256() {
		st.a.stop(streamError(fmt.Sprintf("What was read of the input %s is not what its writer left in the end: a stream is only added to.", st.file.Input)), st.a.grace())
		return true
	}
	if !st.silent.Load() {
		st.leaveFile(ctx, whole)
	}
	_ = st.pipe.Close()
	return true
}

// sendRemainder passes on what follows of the stored file.
func (st *stream) sendRemainder(ctx context.Context, whole *flowforgev1.Blob) error {
	path := ""
	if dir := st.a.spec.StoreDir; dir != "" && validSHA(whole.Sha256) && right(storedAt(dir, whole.Sha256), whole.Sha256, whole.Size) == nil {
		path = storedAt(dir, whole.Sha256)
	}
	if path == "" {
		var moved transferStats
		var err error
		packing := channel.PackFor(whole.Size, whole.MediaType, "")
		if st.a.s.server.local {
			packing = channel.None
		}
		if path, err = st.a.s.blobs.fetchPacked(ctx, st.a.spec.Token, whole.Sha256, packing, &moved); err != nil {
			return err
		}
		st.moved += moved.bytes
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Seek(st.sent, io.SeekStart); err != nil {
		return err
	}
	_, err = st.pass(file)
	return err
}

// leaveFile puts the file itself in the place of the pipe, for whoever opens it from
// now on. Where the store is elsewhere and the file is large, nothing stands there: by
// then a reader has it open.
func (st *stream) leaveFile(ctx context.Context, whole *flowforgev1.Blob) {
	path, err := st.path+".whole", os.ErrNotExist
	if st.a.spec.StoreDir != "" {
		st.a.streams.mu.Lock()
		defer st.a.streams.mu.Unlock()
		p := &inputPlacement{
			a: st.a, file: &flowforgev1.InputFile{Input: st.file.Input},
			told: &flowforgev1.PlacedInput{Channel: string(channel.LocalDisk)},
		}
		err = p.one(ctx, manifestEntry{SHA256: whole.Sha256, Size: whole.Size, Mode: 0o644}, path)
	} else if int64(len(st.head)) == st.sent {
		err = os.WriteFile(path, st.head, 0o600)
	}
	if err == nil {
		err = os.Rename(path, st.path)
	}
	if err != nil {
		_ = os.Remove(st.path)
	}
}
