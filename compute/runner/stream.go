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
	// streamPipe is how much of a stream is buffered in the pipe for its reader; the rest
	// waits in the file of the writer.
	streamPipe  = 1 << 20
	streamBlock = 256 << 10
	// streamFirst and streamMost bound the interval at which an unchanged file is
	// checked.
	streamFirst = 2 * time.Millisecond
	streamMost  = 50 * time.Millisecond
	followWait  = 20 * time.Second // how long the server may hold a response about a stream
	followAgain = 500 * time.Millisecond
)

// streamError stops an attempt that reads data that is not a complete result. The attempt
// runs again without using a retry.
type streamError string

func (e streamError) Error() string { return string(e) }

// stream is an input that the command reads while another attempt writes it: a pipe that
// this runner fills. The writer never waits for the reader, because unread data is in the
// writer's file, which the store needs anyway. The pipe ends only when the writer has
// succeeded and the data that was read is its result: a reader that reaches the end has
// read all of it.
type stream struct {
	a       *attempt
	file    *flowforgev1.InputFile
	arrival *flowforgev1.PlacedInput
	path    string
	pipe    *os.File // open at both ends, so that opening it never blocks

	began    time.Time
	took     time.Duration
	hash     hash.Hash
	block    []byte // copy buffer
	sent     int64
	head     []byte      // beginning of the data that was sent, if the store is remote
	detached atomic.Bool // the reader has ended: bytes are only hashed
	from     *os.File    // output file of a writer on this machine, once it exists
	pieces   int32       // chunks received from a remote writer
	moved    int64       // bytes received over the network
	done     chan struct{}
}

// placeStream creates the pipe of an input and starts to fill it.
func (f *inputFiles) placeStream(file *flowforgev1.InputFile, i int) (string, error) {
	folder, err := f.folder(i)
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
	if raw, err := pipe.SyscallConn(); err == nil { // a smaller buffer also works
		_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, streamPipe) })
	}
	st := &stream{
		a: f.a, file: file, path: path, pipe: pipe, began: time.Now(), hash: sha256.New(), block: make([]byte, streamBlock), done: make(chan struct{}),
		arrival: &flowforgev1.PlacedInput{Input: file.Input, Pointer: file.Pointer, Channel: string(channel.Streaming)},
	}
	f.streams.add(st)
	f.placed = append(f.placed, st.arrival)
	return path, nil
}

// run fills the pipe until everything has been written or ctx is cancelled.
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
			st.a.stop(streamError(fmt.Sprintf("The input %s could not be read further: %s.", st.file.Input, err)), st.a.grace())
			return
		case n > 0:
			pause = streamFirst
		case st.writer() != nil:
			sleepContext(ctx, pause)
			pause = min(2*pause, streamMost)
		case st.follow(ctx):
			return
		}
	}
}

// writer returns the writing attempt if it belongs to this runner and the server does not
// yet know its end.
func (st *stream) writer() *attempt {
	s := st.a.s
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.attempts[st.file.Stream.TaskId]
}

// grown forwards what a writer on this machine has written since the last call.
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
		if st.writer() != w { // another attempt may have its folder by now
			_ = file.Close()
			return 0, nil
		}
		st.from = file
	}
	return st.pass(st.from)
}

// openOutput opens the file of an output that is being written; nil when it does not
// exist yet.
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

// pass forwards the data of r.
func (st *stream) pass(r io.Reader) (int64, error) {
	// Plain interfaces prevent shortcuts that would bypass the hash.
	return io.CopyBuffer(struct{ io.Writer }{st}, struct{ io.Reader }{r}, st.block)
}

// Write forwards bytes to the reader while there is one.
func (st *stream) Write(p []byte) (int, error) {
	_, _ = st.hash.Write(p)
	st.sent += int64(len(p))
	if st.a.spec.StoreDir == "" && len(st.head) <= streamPipe {
		st.head = append(st.head, p...)
	}
	if st.detached.Load() {
		return len(p), nil
	}
	if _, err := st.pipe.Write(p); err != nil && !st.detached.Load() {
		return 0, err
	}
	return len(p), nil
}

// detachReader continues without a reader, after its command has ended.
func (st *stream) detachReader() {
	st.detached.Store(true)
	_ = st.pipe.Close()
}

// follow requests the state of the output from the server and reports whether it was the
// end.
func (st *stream) follow(ctx context.Context) bool {
	callCtx, cancel := context.WithTimeout(ctx, followWait+deliverLimit)
	defer cancel()
	req := connect.NewRequest(&flowforgev1.FollowStreamRequest{
		TaskId: st.a.spec.TaskId, Writer: st.file.Stream.TaskId, Output: st.file.Stream.Output, Pieces: st.pieces, WaitMs: followWait.Milliseconds(),
	})
	req.Header().Set("Authorization", "Bearer "+st.a.spec.Token)
	answer, err := st.a.s.server.tasks.FollowStream(callCtx, req)
	if err = rpcError("follow a stream", err); err != nil {
		if refused, ok := errors.AsType[*refusedError](err); ok && !tokenRefused(err) {
			st.a.stop(streamError(fmt.Sprintf("The input %s cannot be read further: %s.", st.file.Input, refused.message)), st.a.grace())
			return true
		}
		return !sleepContext(ctx, followAgain)
	}
	switch answer.Msg.State {
	case flowforgev1.StreamState_STREAM_STATE_GONE:
		st.a.stop(streamError(answer.Msg.Message), st.a.grace())
		return true
	case flowforgev1.StreamState_STREAM_STATE_WRITING, flowforgev1.StreamState_STREAM_STATE_ENDED:
	case flowforgev1.StreamState_STREAM_STATE_UNSPECIFIED:
		sleepContext(ctx, followAgain)
	}
	for _, piece := range answer.Msg.Pieces {
		if err := st.piece(ctx, piece); err != nil {
			return !sleepContext(ctx, followAgain) // the same chunks are requested again
		}
	}
	if answer.Msg.State != flowforgev1.StreamState_STREAM_STATE_ENDED || len(answer.Msg.Pieces) > 0 {
		return false
	}
	return st.finish(ctx, answer.Msg.Whole)
}

// piece forwards a chunk that a remote writer has uploaded to the store.
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
	_ = os.Remove(path) // it is not read again
	if err == nil && n != piece.Size {
		err = errWrongBytes
	}
	if err != nil { // a part of it may have been sent
		st.a.stop(streamError(fmt.Sprintf("The input %s could not be read further: %s.", st.file.Input, err)), st.a.grace())
	}
	return err
}

// finish forwards the rest of the complete output and ends the pipe if the reader has
// received exactly that output. It reports whether that was the end.
func (st *stream) finish(ctx context.Context, whole *flowforgev1.Blob) bool {
	changed := whole.GetMediaType() == DirectoryMediaType
	if !changed && st.from != nil {
		_, _ = st.pass(st.from)
	}
	if !changed && st.sent < whole.GetSize() {
		if err := st.sendRemainder(ctx, whole); err != nil {
			st.a.system(levelWarn, fmt.Sprintf("The rest of the input %s cannot be read now: %s.", st.file.Input, err))
			return !sleepContext(ctx, followAgain)
		}
	}
	if changed || hex.EncodeToString(st.hash.Sum(nil)) != whole.GetSha256() {
		st.a.stop(streamError(fmt.Sprintf("The data read from the input %s differs from the writer's final output. A streamed output must only be appended to.", st.file.Input)), st.a.grace())
		return true
	}
	if !st.detached.Load() {
		st.leaveFile(ctx, whole)
	}
	_ = st.pipe.Close()
	return true
}

// sendRemainder forwards the remaining bytes of the stored file.
func (st *stream) sendRemainder(ctx context.Context, whole *flowforgev1.Blob) error {
	path := ""
	if dir := st.a.spec.StoreDir; dir != "" && validSHA(whole.Sha256) && verifyStored(storedAt(dir, whole.Sha256), whole.Sha256, whole.Size) == nil {
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

// leaveFile replaces the pipe with the file itself, for programs that open it later. If
// the store is remote and the file is large, the path is removed: by then a reader has it
// open.
func (st *stream) leaveFile(ctx context.Context, whole *flowforgev1.Blob) {
	path, err := st.path+".whole", os.ErrNotExist
	if st.a.spec.StoreDir != "" {
		st.a.inputs.streams.mu.Lock()
		defer st.a.inputs.streams.mu.Unlock()
		p := &inputPlacement{
			a: st.a, file: &flowforgev1.InputFile{Input: st.file.Input},
			arrival: &flowforgev1.PlacedInput{Channel: string(channel.LocalDisk)},
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
