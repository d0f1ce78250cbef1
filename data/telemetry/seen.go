package telemetry

import (
	"slices"
	"sort"

	"github.com/google/uuid"
)

// streamID identifies a series of sequence numbers: a stream of an attempt's log, or
// (with stream "" and the metric's name) its metrics.
type streamID struct {
	kind      byte
	execution uuid.UUID
	node      int
	attempt   int
	stream    string
}

// maxRanges bounds the memory for one stream whose numbers have gaps. Beyond it, the
// lower half is dropped; ClickHouse still merges its duplicates.
const maxRanges = 1 << 16

// seen holds the sequence numbers of every stream in the spool, so that repeated
// records of a task or its runner are dropped before they are stored. It is not safe
// for concurrent use.
type seen struct {
	streams map[streamID]*ranges
}

func newSeen() *seen { return &seen{streams: map[streamID]*ranges{}} }

// add remembers seq of the stream. position is a position in the spool at or after the record's.
func (s *seen) add(id streamID, seq int64, position uint64) {
	r := s.of(id)
	r.last = max(r.last, position)
	r.add(seq)
}

func (s *seen) of(id streamID) *ranges {
	r := s.streams[id]
	if r == nil {
		r = &ranges{}
		s.streams[id] = r
	}
	return r
}

// divide remembers records and returns those that are new and those that are not, in order. Most records
// follow one of the same stream.
func (s *seen) divide(records []record, position uint64) (fresh, repeated []record) {
	var (
		r    *ranges
		last streamID // of the record before
	)
	for i := range records {
		one := &records[i]
		if r == nil || one.stream != last {
			r, last = s.of(one.stream), one.stream
			r.last = max(r.last, position)
		}
		switch isNew := r.add(one.seq); {
		case isNew && repeated == nil:
			fresh = records[:i+1]
		case isNew:
			fresh = append(fresh, *one)
		default:
			if repeated == nil {
				fresh = slices.Clone(records[:i])
			}
			repeated = append(repeated, *one)
		}
	}
	return fresh, repeated
}

// has reports whether seq is known in the stream.
func (s *seen) has(id streamID, seq int64) bool {
	r := s.streams[id]
	return r != nil && r.has(seq)
}

// remove reverts an add when its record could not be stored.
func (s *seen) remove(id streamID, seq int64) {
	if r := s.streams[id]; r != nil {
		r.remove(seq)
	}
}

// forget drops the streams that had nothing after position floor.
func (s *seen) forget(floor uint64) {
	for id, r := range s.streams {
		if r.last <= floor {
			delete(s.streams, id)
		}
	}
}

// span is a closed range of sequence numbers.
type span struct{ from, to int64 }

// ranges is a set of numbers as sorted, disjoint, non-adjacent spans.
type ranges struct {
	spans []span
	last  uint64
}

func (r *ranges) add(n int64) bool {
	// i is the first span that ends at or after n-1.
	i := sort.Search(len(r.spans), func(i int) bool { return r.spans[i].to >= n-1 })
	if i == len(r.spans) || r.spans[i].from > n+1 {
		r.spans = append(r.spans, span{})
		copy(r.spans[i+1:], r.spans[i:])
		r.spans[i] = span{n, n}
		if len(r.spans) > maxRanges {
			r.spans = append([]span(nil), r.spans[maxRanges/2:]...)
		}
		return true
	}
	sp := &r.spans[i]
	if sp.from <= n && n <= sp.to {
		return false
	}
	if n < sp.from {
		sp.from = n
		return true
	}
	sp.to = n
	if i+1 < len(r.spans) && r.spans[i+1].from == n+1 {
		sp.to = r.spans[i+1].to
		r.spans = append(r.spans[:i+1], r.spans[i+2:]...)
	}
	return true
}

func (r *ranges) has(n int64) bool {
	i := sort.Search(len(r.spans), func(i int) bool { return r.spans[i].to >= n })
	return i < len(r.spans) && r.spans[i].from <= n
}

func (r *ranges) remove(n int64) {
	i := sort.Search(len(r.spans), func(i int) bool { return r.spans[i].to >= n })
	if i == len(r.spans) || r.spans[i].from > n {
		return
	}
	sp := r.spans[i]
	var rest []span
	if sp.from < n {
		rest = append(rest, span{sp.from, n - 1})
	}
	if n < sp.to {
		rest = append(rest, span{n + 1, sp.to})
	}
	r.spans = append(r.spans[:i], append(rest, r.spans[i+1:]...)...)
}
