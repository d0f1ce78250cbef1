package runner

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const (
	logMemory  = 128 << 10 // bytes of entries kept in memory before they go to disk
	logBacklog = 256 << 20 // bytes on disk at which writes of the task block
	logBatch   = 256 << 10 // bytes of entries per batch
	entryCost  = 48        // bytes of an entry in addition to its message
)

// logQueue holds the log entries of one attempt that the server has not accepted: the
// oldest are in flight, the next in memory, the rest in a file. Entries go to the file
// when memory is full or the server is unreachable.
type logQueue struct {
	taskID, token string
	path          string // of the overflow file, next to its head file; "": none yet
	unreachable   func() bool
	appended      func() // called after every append, without the lock

	mu       sync.Mutex
	room     *sync.Cond // entries were taken from the file, or the queue is abandoned
	inflight []*flowforgev1.LogEntry
	memory   []*flowforgev1.LogEntry
	bytes    int
	file     *os.File
	read     int64 // offset of the first unsent frame
	written  int64
	gone     bool // the queue rejects entries
	ended    bool // the writer has ended: append does not block
	dropped  int  // entries that could not be written
}

func newLogQueue(taskID, token string, unreachable func() bool, appended func()) *logQueue {
	q := &logQueue{taskID: taskID, token: token, unreachable: unreachable, appended: appended}
	q.room = sync.NewCond(&q.mu)
	return q
}

// at sets the path of the overflow file.
func (q *logQueue) at(path string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.path = path
}

// append adds entries in order. It blocks while the backlog on disk is full, so that the
// task waits instead of losing lines.
func (q *logQueue) append(entries []*flowforgev1.LogEntry) {
	if len(entries) == 0 {
		return
	}
	q.mu.Lock()
	for q.written-q.read >= logBacklog && !q.gone && !q.ended {
		q.room.Wait()
	}
	switch {
	case q.gone:
		q.dropped += len(entries)
	case q.written > q.read || q.bytes >= logMemory || q.unreachable():
		if err := q.appendFile(entries); err != nil {
			// The disk is full: fall back to memory.
			q.appendMemory(entries)
		}
	default:
		q.appendMemory(entries)
	}
	q.mu.Unlock()
	q.appended()
}

func (q *logQueue) appendMemory(entries []*flowforgev1.LogEntry) {
	if q.bytes > logBacklog {
		q.dropped += len(entries)
		return
	}
	q.memory = append(q.memory, entries...)
	for _, e := range entries {
		q.bytes += len(e.Message) + entryCost
	}
}

func (q *logQueue) appendFile(entries []*flowforgev1.LogEntry) error {
	if q.file == nil {
		if q.path == "" {
			return errNoFolder
		}
		file, err := os.OpenFile(q.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return fmt.Errorf("log overflow: %w", err)
		}
		q.file, q.read, q.written = file, 0, 0
		if err := q.writeHead(); err != nil {
			return err
		}
	}
	var frames []byte
	for _, e := range entries {
		frames = binary.AppendUvarint(frames, uint64(proto.Size(e))) //nolint:gosec // not negative
		var err error
		if frames, err = (proto.MarshalOptions{UseCachedSize: true}).MarshalAppend(frames, e); err != nil {
			return fmt.Errorf("encode log entry: %w", err)
		}
	}
	if _, err := q.file.WriteAt(frames, q.written); err != nil {
		return fmt.Errorf("log overflow: %w", err)
	}
	q.written += int64(len(frames))
	return nil
}

// take returns the next entries, about logBatch bytes at most. They stay in flight until
// commit; another take before commit returns them again.
func (q *logQueue) take() []*flowforgev1.LogEntry {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.inflight) > 0 {
		return q.inflight
	}
	if len(q.memory) > 0 {
		n, size := 0, 0
		for n < len(q.memory) && size < logBatch {
			size += len(q.memory[n].Message) + entryCost
			n++
		}
		q.inflight, q.memory = q.memory[:n:n], q.memory[n:]
		q.bytes -= size
		return q.inflight
	}
	if q.written > q.read {
		entries, end, err := readFrames(q.file, q.read, q.written)
		if err != nil && len(entries) == 0 {
			// Entries that cannot be read are lost: count them and continue.
			q.dropped++
			end = q.written
		}
		q.inflight, q.read = entries, end
		q.room.Broadcast()
	}
	return q.inflight
}

// commit removes the entries that the last take returned.
func (q *logQueue) commit() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.inflight = nil
	if q.file != nil && q.read == q.written && len(q.memory) == 0 {
		q.removeFile()
	}
}

// pending returns the approximate number of bytes in the queue.
func (q *logQueue) pending() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes + int(q.written-q.read)
}

// lost returns the number of entries that could not be stored.
func (q *logQueue) lost() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}

// persist writes the queue to disk so that it survives the process.
func (q *logQueue) persist() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.inflight) == 0 && len(q.memory) == 0 && q.written == q.read {
		return nil
	}
	if q.path == "" {
		return errNoFolder
	}
	return q.writeHead()
}

// release unblocks writers that wait for space: the command has ended, and its pipes hold
// little more output.
func (q *logQueue) release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.room.Broadcast()
}

// backlogged reports whether entries are waiting on disk.
func (q *logQueue) backlogged() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.written > q.read
}

// abandon unblocks waiting writers and rejects further entries.
func (q *logQueue) abandon() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.gone = true
	q.room.Broadcast()
}

// close abandons the queue and closes its file, which remains on disk.
func (q *logQueue) close() {
	q.abandon()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.file != nil {
		_ = q.file.Close()
		q.file = nil
	}
}

var errNoFolder = errors.New("the attempt has no folder")

func (q *logQueue) headPath() string { return q.path + ".head" }

// writeHead requires the lock.
func (q *logQueue) writeHead() error {
	head := &flowforgev1.SpooledLog{TaskId: q.taskID, Token: q.token, Offset: q.read}
	head.Head = append(append(head.Head, q.inflight...), q.memory...)
	return writeMessage(q.headPath(), head)
}

// removeFile requires the lock.
func (q *logQueue) removeFile() {
	_ = q.file.Close()
	_ = os.Remove(q.path)
	_ = os.Remove(q.headPath())
	q.file, q.read, q.written = nil, 0, 0
}

// openLogQueue reads the queue that persist wrote; nil when there is none.
func openLogQueue(path string, unreachable func() bool, appended func()) (*logQueue, error) {
	var head flowforgev1.SpooledLog
	q := newLogQueue("", "", unreachable, appended)
	q.path = path
	if err := readMessage(q.headPath(), &head); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	q.taskID, q.token = head.TaskId, head.Token
	q.appendMemory(head.Head)
	file, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		return q, nil
	}
	if err != nil {
		return nil, fmt.Errorf("spooled log: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("spooled log: %w", err)
	}
	q.file, q.read, q.written = file, min(head.Offset, info.Size()), info.Size()
	return q, nil
}

// readFrames reads entries from [from, to) of file, about logBatch bytes, and returns the
// offset of the next ones. A frame that a crash truncated ends the file.
func readFrames(file *os.File, from, to int64) ([]*flowforgev1.LogEntry, int64, error) {
	reader := bufio.NewReaderSize(io.NewSectionReader(file, from, to-from), 64<<10)
	var entries []*flowforgev1.LogEntry
	var frame []byte // an entry copies its texts
	at := from
	for at < to && at-from < logBatch {
		size, err := binary.ReadUvarint(reader)
		if err != nil || size > 2*maxLine {
			return entries, to, fmt.Errorf("spooled log at %d: bad frame", at)
		}
		frame = slices.Grow(frame[:0], int(size))[:size]
		if _, err := io.ReadFull(reader, frame); err != nil {
			return entries, to, fmt.Errorf("spooled log at %d: %w", at, err)
		}
		entry := &flowforgev1.LogEntry{}
		if err := proto.Unmarshal(frame, entry); err != nil {
			return entries, to, fmt.Errorf("spooled log at %d: %w", at, err)
		}
		entries = append(entries, entry)
		at += int64(len(binary.AppendUvarint(nil, size))) + int64(size)
	}
	return entries, at, nil
}

// newEntry returns a log entry with the time now.
func newEntry(stream string, sequence int64, level, message string, now time.Time) *flowforgev1.LogEntry {
	return &flowforgev1.LogEntry{
		Timestamp: now.UnixMilli(), Level: level, Message: message, Stream: stream, Sequence: sequence,
	}
}

// writeMessage writes m to path atomically.
func writeMessage(path string, m proto.Message) error {
	data, err := proto.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

func readMessage(path string, m proto.Message) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := proto.Unmarshal(data, m); err != nil {
		return fmt.Errorf("decode %s: %w", path, err)
	}
	return nil
}
