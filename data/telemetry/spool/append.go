package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// errClosed is returned by Append after Close.
var errClosed = errors.New("the spool is closed")

// group is a batch of appends that are written and synced together.
type group struct {
	buf     []byte
	refs    []Ref // offsets are relative to buf until the group is written
	last    uint64
	written bool
	err     error
}

// Append stores the entries and returns the positions of their first records. It
// returns when they are on disk. Either all or none of them are stored: ErrFull when
// there is no space for them, or the error of the disk.
func (s *Spool) Append(entries []Entry) ([]uint64, error) {
	s.mu.Lock()
	if err := s.admit(entries); err != nil {
		s.mu.Unlock()
		return nil, err
	}
	if s.waiting == nil {
		s.waiting = &group{}
	}
	g := s.waiting
	firsts := make([]uint64, len(entries))
	size := 0
	for i := range entries {
		size += frameSize(&entries[i])
	}
	g.buf = slices.Grow(g.buf, size)
	for i := range entries {
		e := &entries[i]
		firsts[i] = s.next
		offset := len(g.buf)
		g.buf = appendFrame(g.buf, e, s.next)
		g.refs = append(g.refs, Ref{Kind: e.Kind, Group: e.Group, First: s.next, Count: e.Count,
			offset: int64(offset), size: len(g.buf) - offset})
		s.next += uint64(e.Count) //nolint:gosec // counts are positive
	}
	g.last = s.next - 1
	s.mu.Unlock()

	s.writing.Lock()
	defer s.writing.Unlock()
	if !g.written { // otherwise another goroutine wrote it while we waited
		s.mu.Lock()
		s.waiting = nil
		s.mu.Unlock()
		g.err = s.write(g)
		g.written = true
	}
	return firsts, g.err
}

// admit checks the limits of an append. The caller holds mu.
func (s *Spool) admit(entries []Entry) error {
	if s.closed {
		return errClosed
	}
	total := s.pending
	if s.waiting != nil {
		total += int64(len(s.waiting.buf))
	}
	for i := range entries {
		if entries[i].Count < 1 || len(entries[i].Payload) > maxBody-bodyHeader {
			return fmt.Errorf("spool: an entry of %d records and %d bytes", entries[i].Count, len(entries[i].Payload))
		}
		total += int64(frameSize(&entries[i]))
	}
	if total > s.maxPending() {
		return ErrFull
	}
	return nil
}

// write puts the group on disk and makes it readable. The caller holds writing.
func (s *Spool) write(g *group) error {
	seg, err := s.current(g.refs[0].First)
	if err != nil {
		return err
	}
	start := seg.bytes
	if _, err = s.file.WriteAt(g.buf, start); err == nil {
		err = unix.Fdatasync(int(s.file.Fd()))
	}
	if err != nil {
		// A partial write must not be read as confirmed: truncate it, and start a new
		// file, because a later sync of this one cannot be trusted.
		_ = s.file.Truncate(start)
		_ = s.file.Close()
		s.file = nil
		return fmt.Errorf("write spool: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ref := range g.refs {
		ref.seg = seg
		ref.offset += start
		s.index(ref)
	}
	seg.bytes += int64(len(g.buf))
	seg.last = g.last
	s.durable = g.last
	return nil
}

// current returns the segment to write to and begins a new one when the newest
// is large enough or there is none yet. The caller holds writing.
func (s *Spool) current(first uint64) (*segment, error) {
	if s.file != nil {
		if seg := s.newest(); seg.bytes < s.cfg.SegmentBytes {
			return seg, nil
		}
		if err := s.file.Close(); err != nil {
			return nil, fmt.Errorf("close spool segment: %w", err)
		}
		s.file = nil
	}
	seg := &segment{path: segmentPath(s.cfg.Dir, first), first: first, last: first - 1, bytes: int64(len(magic))}
	f, err := os.OpenFile(seg.path, os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("new spool segment: %w", err)
	}
	if _, err = f.WriteAt([]byte(magic), 0); err == nil {
		err = syncDir(s.cfg.Dir)
	}
	if err != nil {
		_ = f.Close()
		_ = os.Remove(seg.path)
		return nil, fmt.Errorf("new spool segment: %w", err)
	}
	s.file = f
	s.mu.Lock()
	s.segments = append(s.segments, seg)
	s.mu.Unlock()
	return seg, nil
}

// newest returns the segment that is written to; only the holder of writing adds
// to it or begins another.
func (s *Spool) newest() *segment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.segments[len(s.segments)-1]
}

// writeFile replaces dir/name atomically, and durably except for the rename itself.
func writeFile(dir, name string, content []byte) error {
	tmp := filepath.Join(dir, name+".tmp")
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("spool %s: %w", name, err)
	}
	if _, err = f.Write(content); err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp, filepath.Join(dir, name))
	}
	if err != nil {
		return fmt.Errorf("spool %s: %w", name, err)
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}
