package fair

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"
)

// holdersOf caches the largest holders of a resource: finding them visits every
// reservation.
type holdersOf struct {
	at time.Time
	by map[levelAxis][]Holder
}

// levelAxis is an axis at a level.
type levelAxis struct{ level, axis int }

// holders returns the executions that hold most of an axis at or below a level. For
// stored reasons of a busy cluster, the result may be a second old.
func (s *state) holders(level, axis, limit int) []Holder {
	if limit > maxHolders || len(s.held) <= rankOften {
		return s.findHolders(level, axis, limit)
	}
	if s.most.by == nil || s.now.Sub(s.most.at) >= fresh {
		s.most = holdersOf{s.now, map[levelAxis][]Holder{}}
	}
	most, ok := s.most.by[levelAxis{level, axis}]
	if !ok {
		most = s.findHolders(level, axis, limit)
		s.most.by[levelAxis{level, axis}] = most
	}
	return most
}

func (s *state) findHolders(level, axis, limit int) []Holder {
	levels := s.tree().levels
	all := make([]Holder, 0, len(s.held))
	for id, nodes := range s.held {
		h, largest := Holder{Execution: id}, (*holding)(nil)
		for _, r := range nodes {
			n := r.demand.on(axis)
			if n == 0 || !s.tree().isBelow(r.level, level) {
				continue
			}
			h.Amount += n
			h.Nodes++
			if largest == nil || n > largest.demand.on(axis) || n == largest.demand.on(axis) && r.Node < largest.Node {
				largest = r
			}
		}
		if largest != nil {
			owner := s.tree().branch(largest.level, level)
			h.Node, h.Project, h.Owner = largest.Node, levels[largest.level].Ref(), levels[owner].Ref()
			h.Borrowed = s.ledger.used[owner].at(axis) > levels[owner].limitOn(axis)
			h.EndsFrom, h.EndsTo = largest.ends(s.now)
			all = append(all, h)
		}
	}
	slices.SortFunc(all, func(a, b Holder) int {
		return cmp.Or(cmp.Compare(b.Amount, a.Amount), bytes.Compare(a.Execution[:], b.Execution[:]))
	})
	return all[:min(len(all), limit)]
}

// ends returns the band in which h probably ends, or nil.
func (h *holding) ends(now time.Time) (from, to *time.Time) {
	if !h.Expected.Known() || h.Granted.IsZero() {
		return nil, nil
	}
	low, high := h.endsAt(h.Expected.Low, now), h.endsAt(h.Expected.High, now)
	return &low, &high
}

// endsAt is when h ends if its duration is took. A holding that is already late gets
// another tenth of that.
func (h *holding) endsAt(took time.Duration, now time.Time) time.Time {
	at := h.Granted.Add(took)
	if soon := now.Add(took / 10); at.Before(soon) {
		return soon
	}
	return at
}

// heldBy returns the reservations at or below a level, largest dominant share first.
func (s *state) heldBy(level uuid.UUID) (list []Held) {
	above := 0
	if level != uuid.Nil {
		i, ok := s.tree().index[level]
		if !ok {
			return nil
		}
		above = i
	}
	for _, nodes := range s.held {
		for _, h := range nodes {
			if s.tree().isBelow(h.level, above) {
				list = append(list, h.Held)
			}
		}
	}
	slices.SortFunc(list, func(a, b Held) int {
		return cmp.Or(cmp.Compare(b.Amount.GPUs, a.Amount.GPUs), cmp.Compare(b.Amount.CPUMillis, a.Amount.CPUMillis),
			cmp.Compare(b.Amount.MemoryMiB, a.Amount.MemoryMiB), compareKeys(a.Key, b.Key))
	})
	return list
}
