// Package spool is a bounded, durable queue of frames in segment files. Append returns
// when its frames are on disk; one consumer reads them in order and commits those that
// it has stored elsewhere. Committed frames stay readable for a while, for recent
// readers and for deduplication.
//
// Durability: an append returns after fdatasync. Appends that wait for the disk at the
// same time share one write and one sync.
package spool

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// ErrFull is returned by Append when the frames that are not committed yet use all the
// space of the spool.
var ErrFull = errors.New("the spool is full")

// Config sets the directory of the spool and its maximum size.
type Config struct {
	Dir          string
	MaxBytes     int64 // of all files together
	SegmentBytes int64 // size at which a new file begins; 0 is 8 MiB, or an eighth of MaxBytes
}

// retainShare is the part of MaxBytes that committed frames may keep.
const retainShare = 4

// maxRetained is the absolute maximum of committed frames.
const maxRetained = 64 << 20

// Spool is safe for use by any number of goroutines; Batch and Commit belong to one.
type Spool struct {
	cfg    Config
	writer uint64

	writing sync.Mutex // held by the goroutine that writes and syncs
	file    *os.File   // newest segment; owned by writing

	mu        sync.Mutex
	waiting   *group
	segments  []*segment
	refs      []Ref              // of all segments, by position
	groups    map[[16]byte][]Ref // the same by group
	next      uint64             // position of the next record
	durable   uint64             // last position on disk
	committed uint64
	inflight  uint64 // end of the batch that may have been stored already
	floor     uint64 // records up to here were dropped
	pending   int64  // bytes of frames that are not committed
	records   int64  // records that are not committed
	damaged   int64  // segments that ended in an unreadable frame at Open
	closed    bool
}

// Open recovers the spool in cfg.Dir, which it creates if necessary. visit is called
// for every frame that is still held, in order. The caller must be the only process
// that uses the directory.
func Open(cfg Config, visit func(Frame)) (*Spool, error) {
	if cfg.SegmentBytes == 0 {
		cfg.SegmentBytes = min(8<<20, cfg.MaxBytes/8)
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("spool folder: %w", err)
	}
	s := &Spool{cfg: cfg, groups: map[[16]byte][]Ref{}}
	if err := s.loadWriter(); err != nil {
		return nil, err
	}
	s.committed, s.inflight = loadState(cfg.Dir)
	if err := s.recover(visit); err != nil {
		return nil, err
	}
	return s, nil
}

// loadWriter reads the unique number of this spool, or creates it.
func (s *Spool) loadWriter() error {
	path := filepath.Join(s.cfg.Dir, "writer")
	if b, err := os.ReadFile(path); err == nil {
		if w, err := strconv.ParseUint(strings.TrimSpace(string(b)), 16, 64); err == nil && w != 0 {
			s.writer = w
			return nil
		}
	}
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	s.writer = binary.LittleEndian.Uint64(b[:]) | 1
	return writeFile(s.cfg.Dir, "writer", fmt.Appendf(nil, "%016x\n", s.writer))
}

// recover reads the segments. New frames always go to a new file, so unreadable data at
// the end of an old one is left in place.
func (s *Spool) recover(visit func(Frame)) error {
	segments, err := listSegments(s.cfg.Dir)
	if err != nil {
		return fmt.Errorf("spool folder: %w", err)
	}
	s.next = max(s.committed, s.inflight) + 1
	for _, seg := range segments {
		damaged, err := seg.scan(func(f Frame, ref Ref) {
			s.index(ref)
			s.durable = ref.Last()
			visit(f)
		})
		if err != nil {
			return fmt.Errorf("spool segment: %w", err)
		}
		if damaged {
			s.damaged++
		}
		s.next = max(s.next, seg.first, seg.last+1)
		if seg.last < seg.first {
			_ = os.Remove(seg.path) // empty; ignore a failure to remove it
			continue
		}
		s.segments = append(s.segments, seg)
	}
	s.durable = s.next - 1
	s.floor = s.next - 1
	if len(s.refs) > 0 {
		s.floor = s.refs[0].First - 1
	}
	return nil
}

// index makes ref readable. The caller holds mu, or is recover.
func (s *Spool) index(ref Ref) {
	s.refs = append(s.refs, ref)
	s.groups[ref.Group] = append(s.groups[ref.Group], ref)
	if ref.Last() > s.committed {
		s.pending += int64(ref.size)
		s.records += int64(ref.Count)
	}
}

// Writer is the unique number of this spool; it survives restarts.
func (s *Spool) Writer() uint64 { return s.writer }

// Close makes later appends fail. Everything appended is on disk already.
func (s *Spool) Close() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}

// Stats is the current content of the spool.
type Stats struct {
	PendingBytes   int64
	PendingRecords int64
	MaxBytes       int64  // of pending frames
	Durable        uint64 // last position on disk
	Committed      uint64
	Damaged        int64 // segments that ended in an unreadable frame at Open
}

// Stats returns the current content of the spool.
func (s *Spool) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{PendingBytes: s.pending, PendingRecords: s.records, MaxBytes: s.maxPending(),
		Durable: s.durable, Committed: s.committed, Damaged: s.damaged}
}

func (s *Spool) maxRetained() int64 { return min(maxRetained, s.cfg.MaxBytes/retainShare) }
func (s *Spool) maxPending() int64  { return s.cfg.MaxBytes - s.maxRetained() }
