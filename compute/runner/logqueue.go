package runner

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const (
	logMemory  = 128 << 10 // bytes of entries kept in memory before they go to disk
	logBacklog = 256 << 20 // bytes on disk at which a task's writes block
	logBatch   = 256 << 10 // bytes of entries taken at a time
	entryCost  = 48        // bytes that an entry needs beside its message
)

// logQueue holds the log entries of one attempt that the server has not taken:
// the oldest that are in flight, then those in memory, then those in a file.
// Entries go to the file when the memory share is full or the server is away.
type logQueue struct {
	taskID, token string
	path          string // of the overflow file, the head stands beside it; "": none yet
	away          func() bool
	appended      func() // called after every append, without the lock

	mu       sync.Mutex
	room     *sync.Cond // entries were taken from the file, or the queue is abandoned
	inflight []*flowforgev1.LogEntry
	memory   []*flowforgev1.LogEntry
	bytes    int
	file     *os.File
	read     int64 // where unsent frames begin
	written  int64
	gone     bool // nobody takes entries any more
	ended    bool // what writes has ended: append does not block
	dropped  int  // entries that could not be written
}

func newLogQueue(taskID, token string, away func() bool, appended func()) *logQueue {
	q := &logQueue{taskID: taskID, token: token, away: away, appended: appended}
	q.room = sync.NewCond(&q.mu)
	return q
}

// at says where the overflow file is to be.
func (q *logQueue) at(path string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.path = path
}

// append adds entries in order. It blocks while the backlog on disk is full,
// which makes the task wait instead of losing lines.
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
	case q.written > q.read || q.bytes >= logMemory || q.away():
		if err := q.appendFile(entries); err != nil {
			// A full disk: memory is the last place left.
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
		if frames, err = (proto.MarshalOptions{}).MarshalAppend(frames, e); err != nil {
			return fmt.Errorf("encode log entry: %w", err)
		}
	}
	if _, err := q.file.WriteAt(frames, q.written); err != nil {
		return fmt.Errorf("log overflow: %w", err)
	}
	q.written += int64(len(frames))
	return nil
}

// take returns the next entries, at most about logBatch bytes. They stay in
// flight until commit; a second take without commit returns them again.
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
			// What cannot be read back is lost; count it and go on.
			q.dropped++
			end = q.written
		}
		q.inflight, q.read = entries, end
		q.room.Broadcast()
	}
	return q.inflight
}

// commit forgets the entries that the last take returned.
func (q *logQueue) commit() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.inflight = nil
	if q.file != nil && q.read == q.written && len(q.memory) == 0 {
		q.removeFile()
	}
}

// pending returns about how many bytes wait.
func (q *logQueue) pending() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes + int(q.written-q.read)
}

// lost returns how many entries found no place.
func (q *logQueue) lost() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}

// persist makes the queue outlive the process.
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

// release lets those go on who wait for room: the command has ended, and what is left of
// its output is less than its pipes hold.
func (q *logQueue) release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.room.Broadcast()
}

// backlogged reports whether entries wait on disk.
func (q *logQueue) backlogged() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.written > q.read
}

// abandon frees those who wait for room and refuses further entries.
func (q *logQueue) abandon() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.gone = true
	q.room.Broadcast()
}

// close abandons the queue and closes its file, which stays where it is.
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

// writeHead is called with the lock held.
func (q *logQueue) writeHead() error {
	head := &flowforgev1.SpooledLog{TaskId: q.taskID, Token: q.token, Offset: q.read}
	head.Head = append(append(head.Head, q.inflight...), q.memory...)
	return writeMessage(q.headPath(), head)
}

// removeFile is called with the lock held.
func (q *logQueue) removeFile() {
	_ = q.file.Close()
	_ = os.Remove(q.path)
	_ = os.Remove(q.headPath())
	q.file, q.read, q.written = nil, 0, 0
}

// openLogQueue reads back what persist left; nil when there is nothing.
func openLogQueue(path string, away func() bool, appended func()) (*logQueue, error) {
	var head flowforgev1.SpooledLog
	q := newLogQueue("", "", away, appended)
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

// readFrames reads entries from [from, to) of file, about logBatch bytes, and
// returns where the next begin. A frame cut short by a crash ends the file.
func readFrames(file *os.File, from, to int64) ([]*flowforgev1.LogEntry, int64, error) {
	reader := bufio.NewReader(io.NewSectionReader(file, from, to-from))
	var entries []*flowforgev1.LogEntry
	at := from
	for at < to && at-from < logBatch {
		size, err := binary.ReadUvarint(reader)
		if err != nil || size > 2*maxLine {
			return entries, to, fmt.Errorf("spooled log at %d: bad frame", at)
		}
		frame := make([]byte, size)
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

// writeMessage writes m to path in one step.
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
