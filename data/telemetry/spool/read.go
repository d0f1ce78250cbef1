package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
)

// Since returns the frames of group that hold records after position after, if the
// spool still holds them: compare after with Floor.
func (s *Spool) Since(group [16]byte, after uint64) []Ref {
	s.mu.Lock()
	defer s.mu.Unlock()
	refs := s.groups[group]
	i := sort.Search(len(refs), func(i int) bool { return refs[i].Last() > after })
	return append([]Ref(nil), refs[i:]...)
}

// AllPending returns the frames of all groups that are not committed, by position.
func (s *Spool) AllPending() []Ref {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := sort.Search(len(s.refs), func(i int) bool { return s.refs[i].Last() > s.committed })
	return append([]Ref(nil), s.refs[i:]...)
}

// Pending returns the frames of group that are not committed.
func (s *Spool) Pending(group [16]byte) []Ref { return s.Since(group, s.Committed()) }

// Durable is the last position on disk, Committed the last one that the consumer
// has stored, and Floor the last one that is no longer held here.
func (s *Spool) Durable() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.durable
}

// Committed is the last position that the consumer has stored elsewhere.
func (s *Spool) Committed() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.committed
}

// Floor is the last position that is no longer held here.
func (s *Spool) Floor() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.floor
}

// ErrDropped is returned by Read for frames whose segment was dropped: they were
// committed since their Ref was taken.
var ErrDropped = errors.New("the frame was committed and dropped")

// Read calls visit for each of the frames. visit must not keep a payload.
func (s *Spool) Read(refs []Ref, visit func(Frame) error) error {
	var (
		file *os.File
		seg  *segment
		buf  []byte
	)
	defer func() {
		if file != nil {
			_ = file.Close() // only read
		}
	}()
	for i := range refs {
		ref := &refs[i]
		if ref.seg != seg {
			if file != nil {
				_ = file.Close() // only read
			}
			var err error
			if file, err = os.Open(ref.seg.path); err != nil {
				if errors.Is(err, os.ErrNotExist) {
					return ErrDropped
				}
				return fmt.Errorf("read spool: %w", err)
			}
			seg = ref.seg
		}
		buf = slices.Grow(buf[:0], ref.size)[:ref.size]
		_, err := file.ReadAt(buf, ref.offset)
		var frame Frame
		if err == nil {
			frame, err = parseFrame(buf)
		}
		if err != nil {
			return fmt.Errorf("read spool %s at %d: %w", filepath.Base(seg.path), ref.offset, err)
		}
		if err := visit(frame); err != nil {
			return err
		}
	}
	return nil
}

// Batch is a run of frames for the consumer. Its bounds are on disk before it is
// returned: after a crash, the same batch is returned again, so that From and To
// identify it to a store that deduplicates.
type Batch struct {
	From, To uint64
	Refs     []Ref
}

// Batch returns the frames after the last commit, up to maxRecords or maxBytes
// but at least one; nil when there are none.
func (s *Spool) Batch(maxRecords int, maxBytes int64) (*Batch, error) {
	s.mu.Lock()
	i := sort.Search(len(s.refs), func(i int) bool { return s.refs[i].Last() > s.committed })
	rest := s.refs[i:]
	if len(rest) == 0 {
		s.mu.Unlock()
		return nil, nil
	}
	repeat := s.inflight >= rest[0].Last()
	n, records, bytes := 0, 0, int64(0)
	for ; n < len(rest); n++ {
		if repeat && rest[n].Last() > s.inflight {
			break
		}
		if !repeat && n > 0 && (records+rest[n].Count > maxRecords || bytes+int64(rest[n].size) > maxBytes) {
			break
		}
		records += rest[n].Count
		bytes += int64(rest[n].size)
	}
	b := &Batch{From: rest[0].First, To: rest[n-1].Last(), Refs: append([]Ref(nil), rest[:n]...)}
	committed := s.committed
	s.mu.Unlock()
	if repeat {
		return b, nil
	}
	if err := saveState(s.cfg.Dir, committed, b.To); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.inflight = b.To
	s.mu.Unlock()
	return b, nil
}
