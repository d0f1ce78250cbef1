package datastore

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The logs of an attempt are four files: what the task wrote and what its runtime wrote, to both
// streams. Each line begins with [MFLOG|0|time|source|id].

// LogLine is a line of a log.
type LogLine struct {
	Time    time.Time // zero for lines before the first one with a time
	Runtime bool      // Metaflow's runtime wrote it, not the task
	Stderr  bool
	Text    string
}

// logFile is a file of the log of an attempt.
type logFile struct {
	name            string
	runtime, stderr bool
}

func logFiles(attempt int64) []logFile {
	var files []logFile
	for _, source := range []string{"runtime", "task"} {
		for _, stream := range []string{"stdout", "stderr"} {
			files = append(files, logFile{fmt.Sprintf("%d.%s_%s.log", attempt, source, stream), source == "runtime", stream == "stderr"})
		}
	}
	return files
}

// maxTail is how much of the end of each file is shown, in bytes.
const maxTail = 256 << 10

// MaxLines is how many lines are shown at once: short lines fit into maxTail by the hundred thousand.
const MaxLines = 5000

// Log follows the log of an attempt.
type Log struct {
	store   Store
	folder  string
	attempt int64
	at      map[string]*position
	cut     bool // by the last call of Next
}

// position is how far a file has been read.
type position struct {
	offset int64
	last   time.Time
}

// NewLog returns the log of an attempt; apperr.NotFound for names that no task has.
func NewLog(store Store, t Task, attempt int64) (*Log, error) {
	folder, err := t.folder()
	return &Log{store: store, folder: folder, attempt: attempt, at: map[string]*position{}}, err
}

// Cut reports whether lines before the first one that the last call of Next returned were left out.
func (l *Log) Cut() bool { return l.cut }

// Cursor is how far the log has been read.
func (l *Log) Cursor() string {
	var offsets []string
	for _, f := range logFiles(l.attempt) {
		offset := int64(0)
		if p := l.at[f.name]; p != nil {
			offset = p.offset
		}
		offsets = append(offsets, strconv.FormatInt(offset, 10))
	}
	return strings.Join(offsets, "-")
}

// Resume continues after a cursor; other texts begin at the start.
func (l *Log) Resume(cursor string) {
	for i, text := range strings.SplitN(cursor, "-", 4) {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 {
			l.at[logFiles(l.attempt)[i].name] = &position{offset: n}
		}
	}
}

// maxFiles is the maximum number of files of a task that are looked at.
const maxFiles = 1000

// Next returns the lines that were added since the last call, by time; at first the end of the log.
// A line without an end is returned with its end, or when the attempt has ended.
func (l *Log) Next(ctx context.Context, ended bool) ([]LogLine, error) {
	entries, err := l.store.List(ctx, l.folder, maxFiles)
	if err != nil {
		return nil, err
	}
	l.cut = false
	var lines []LogLine
	for _, f := range logFiles(l.attempt) {
		i := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == f.name && !e.Folder })
		if i < 0 {
			continue
		}
		more, err := l.read(ctx, f, entries[i].Size, ended)
		if err != nil {
			return nil, err
		}
		lines = append(lines, more...)
	}
	slices.SortStableFunc(lines, func(a, b LogLine) int { return a.Time.Compare(b.Time) })
	if over := len(lines) - MaxLines; over > 0 {
		l.cut, lines = true, lines[over:]
	}
	return lines, nil
}

// read returns the new lines of a file.
func (l *Log) read(ctx context.Context, f logFile, size int64, ended bool) ([]LogLine, error) {
	p := l.at[f.name]
	if p == nil {
		p = &position{}
		l.at[f.name] = p
	}
	if size <= p.offset {
		return nil, nil // the client writes the file again with every line
	}
	from := max(p.offset, size-maxTail)
	skipped := from > p.offset
	l.cut = l.cut || skipped
	data, _, err := l.store.Read(ctx, path.Join(l.folder, f.name), from, maxTail)
	if err != nil {
		return nil, err
	}
	if skipped { // the rest of a line
		cut := bytes.IndexByte(data, '\n') + 1
		data, from = data[cut:], from+int64(cut)
	}
	if end := bytes.LastIndexByte(data, '\n') + 1; !ended && int64(end) < maxTail {
		data = data[:end]
	}
	p.offset = from + int64(len(data))
	last := lastLines(data, MaxLines)
	l.cut = l.cut || len(last) < len(data)
	var lines []LogLine
	for raw := range bytes.Lines(last) {
		lines = append(lines, p.line(f, raw))
	}
	return lines, nil
}

// lastLines are the last n lines of data.
func lastLines(data []byte, n int) []byte {
	from := len(bytes.TrimSuffix(data, []byte("\n")))
	for range n {
		if from = bytes.LastIndexByte(data[:from], '\n'); from < 0 {
			return data
		}
	}
	return data[from+1:]
}

var header = regexp.MustCompile(`^(?:\[!)?\[MFLOG\|0\|(.{1,40}?)Z\|.{1,40}?\|.{1,100}?\]`)

// line reads a line. One without a header belongs to the line before it.
func (p *position) line(f logFile, raw []byte) LogLine {
	raw = bytes.TrimRight(raw, "\r\n")
	if found := header.FindSubmatch(raw); found != nil {
		if at, err := time.Parse("2006-01-02T15:04:05.999999", string(found[1])); err == nil {
			p.last, raw = at, raw[len(found[0]):]
		}
	}
	return LogLine{Time: p.last, Runtime: f.runtime, Stderr: f.stderr, Text: strings.ReplaceAll(strings.ToValidUTF8(string(raw), "\uFFFD"), "\x00", "\uFFFD")}
}

// maxLine is the maximum size of a line of a download that is merged by its time; longer ones are
// sent in parts.
const maxLine = 64 << 10

// source is a file of a download with its next line.
type source struct {
	file   io.ReadCloser
	reader *bufio.Reader
	at     position
	f      logFile
	next   LogLine
	open   bool
}

// WriteLog writes the whole log of an attempt as text, by time, without keeping it in memory.
// Errors before the first byte are those of the store.
func WriteLog(ctx context.Context, store Store, t Task, attempt int64, to io.Writer) error {
	folder, err := t.folder()
	if err != nil {
		return err
	}
	entries, err := store.List(ctx, folder, maxFiles)
	if err != nil {
		return err
	}
	var sources []*source
	defer func() {
		for _, s := range sources {
			_ = s.file.Close() // only read
		}
	}()
	for _, f := range logFiles(attempt) {
		if !slices.ContainsFunc(entries, func(e Entry) bool { return e.Name == f.name && !e.Folder }) {
			continue
		}
		file, _, err := store.Open(ctx, path.Join(folder, f.name))
		if err != nil {
			return err
		}
		s := &source{file: file, reader: bufio.NewReaderSize(file, maxLine), f: f, open: true}
		sources = append(sources, s)
		if err := s.advance(); err != nil {
			return err
		}
	}
	for {
		var first *source
		for _, s := range sources {
			if s.open && (first == nil || s.next.Time.Before(first.next.Time)) {
				first = s
			}
		}
		if first == nil {
			return nil
		}
		if _, err := io.WriteString(to, first.next.String()+"\n"); err != nil {
			return err //nolint:wrapcheck // of the reader of the download
		}
		if err := first.advance(); err != nil {
			return err
		}
	}
}

// advance reads the next line.
func (s *source) advance() error {
	raw, err := s.reader.ReadSlice('\n')
	if len(raw) == 0 && errors.Is(err, io.EOF) {
		s.open = false
		return nil
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return fmt.Errorf("read the log: %w", err)
	}
	s.next = s.at.line(s.f, raw)
	return nil
}

// String is the line of a download.
func (l LogLine) String() string {
	at := "-"
	if !l.Time.IsZero() {
		at = l.Time.Format("2006-01-02T15:04:05.000Z")
	}
	source, stream := "task", "stdout"
	if l.Runtime {
		source = "runtime"
	}
	if l.Stderr {
		stream = "stderr"
	}
	return at + " " + source + " " + stream + " " + l.Text
}

// LogName is the file name of a download of a log.
func LogName(t Task, attempt int64) string {
	return t.Flow + "-" + t.Run + "-" + t.Step + "-" + t.ID + "-" + strconv.FormatInt(attempt, 10) + ".log"
}
