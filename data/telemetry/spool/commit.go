package spool

import (
	"fmt"
	"os"
	"path/filepath"
)

// loadState reads the file "state": a line "committed inflight". Without it, or with an
// older one, frames are delivered again: the consumer deduplicates them.
func loadState(dir string) (committed, inflight uint64) {
	b, err := os.ReadFile(filepath.Join(dir, "state"))
	if err != nil {
		return 0, 0
	}
	if _, err := fmt.Sscanf(string(b), "%d %d", &committed, &inflight); err != nil {
		return 0, 0
	}
	return committed, max(committed, inflight)
}

func saveState(dir string, committed, inflight uint64) error {
	return writeFile(dir, "state", fmt.Appendf(nil, "%d %d\n", committed, inflight))
}

// Commit records that the consumer has stored b, and drops the oldest committed
// segments above the retained share. It returns the new floor.
func (s *Spool) Commit(b *Batch) (uint64, error) {
	if err := saveState(s.cfg.Dir, b.To, b.To); err != nil {
		return 0, err
	}
	s.mu.Lock()
	s.committed = b.To
	for i := range b.Refs {
		s.pending -= int64(b.Refs[i].size)
		s.records -= int64(b.Refs[i].Count)
	}
	dropped := s.drop()
	floor := s.floor
	s.mu.Unlock()
	for _, seg := range dropped {
		if err := os.Remove(seg.path); err != nil && !os.IsNotExist(err) {
			return floor, fmt.Errorf("drop spool segment: %w", err)
		}
	}
	return floor, nil
}

// drop removes the oldest segments from the index while committed bytes exceed their
// share. The caller holds mu.
func (s *Spool) drop() []*segment {
	var kept int64
	for _, seg := range s.segments {
		kept += seg.bytes
	}
	kept -= s.pending
	n := 0
	for n < len(s.segments)-1 && kept > s.maxRetained() && s.segments[n].last <= s.committed {
		kept -= s.segments[n].bytes
		n++
	}
	if n == 0 {
		return nil
	}
	dropped := append([]*segment(nil), s.segments[:n]...)
	s.segments = append([]*segment(nil), s.segments[n:]...)
	s.floor = dropped[n-1].last
	i := 0
	for i < len(s.refs) && s.refs[i].Last() <= s.floor {
		g := s.refs[i].Group
		if rest := s.groups[g][1:]; len(rest) > 0 {
			s.groups[g] = rest
		} else {
			delete(s.groups, g)
		}
		i++
	}
	s.refs = s.refs[i:]
	return dropped
}
