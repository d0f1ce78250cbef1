package spool

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const segmentSuffix = ".seg"

// segment is one file. first is in its name; last, bytes and frames grow while
// it is the newest.
type segment struct {
	path  string
	first uint64
	last  uint64 // position of its last record; first-1 while it is empty
	bytes int64
}

// Ref is the location of a frame. It stays readable until the spool drops its segment,
// which happens only after the commit of the frame.
type Ref struct {
	Kind  byte
	Group [16]byte
	First uint64
	Count int

	seg    *segment
	offset int64
	size   int
}

// Size is the number of bytes that reading the frame takes.
func (r *Ref) Size() int64 { return int64(r.size) }

// Last is the position of the frame's last record.
func (r *Ref) Last() uint64 { return r.First + uint64(r.Count) - 1 } //nolint:gosec // counts are positive

func segmentPath(dir string, first uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%020d%s", first, segmentSuffix))
}

// listSegments returns the segments of dir in the order of their positions.
func listSegments(dir string) ([]*segment, error) {
	entries, err := os.ReadDir(dir) // sorted by name, which is by position
	if err != nil {
		return nil, err
	}
	var out []*segment
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), segmentSuffix)
		if !ok {
			continue
		}
		first, err := strconv.ParseUint(name, 10, 64)
		if err != nil {
			continue
		}
		out = append(out, &segment{path: filepath.Join(dir, e.Name()), first: first, last: first - 1})
	}
	return out, nil
}

// scan calls visit for every whole frame of the segment and reports whether unreadable
// data follows.
func (s *segment) scan(visit func(Frame, Ref)) (damaged bool, err error) {
	f, err := os.Open(s.path)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }() // only read
	r := bufio.NewReaderSize(f, 1<<18)
	head := make([]byte, len(magic))
	if _, err := io.ReadFull(r, head); err != nil || string(head) != magic {
		return !errors.Is(err, io.EOF), nil
	}
	s.bytes = int64(len(magic))
	for {
		frame, size, err := readFrame(r)
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return true, nil
		}
		ref := Ref{Kind: frame.Kind, Group: frame.Group, First: frame.First, Count: frame.Count,
			seg: s, offset: s.bytes, size: size}
		s.bytes += int64(size)
		s.last = ref.Last()
		visit(frame, ref)
	}
}
