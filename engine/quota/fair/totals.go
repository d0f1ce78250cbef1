package fair

import (
	"cmp"
	"slices"
	"time"
)

// totals sums amounts by level, axis and state.
type totals struct {
	requests []int // waiting requests
	waiting  []amounts
	offered  []amounts
	ending   []amounts
	// starved is the part of waiting that lacks this axis, and first is the first such
	// request in the order of admission.
	starved []amounts
	first   []map[int]Key
}

func (s *state) totals() *totals {
	n := len(s.tree().levels)
	c := &totals{
		requests: make([]int, n), waiting: make([]amounts, n), offered: make([]amounts, n), ending: make([]amounts, n),
		starved: make([]amounts, n), first: make([]map[int]Key, n),
	}
	for _, nodes := range s.offers {
		for _, o := range nodes {
			s.sum(c.offered, o.level, o.demand, 1)
		}
	}
	for _, nodes := range s.held {
		for _, h := range nodes {
			if h.Ending {
				s.sum(c.ending, h.level, h.demand, 1)
			}
		}
	}
	var list []candidate
	for _, l := range s.queue.lines {
		level := max(l.level, 0)
		for i := level; i >= 0; i = s.tree().levels[i].parent {
			c.requests[i] += l.Len()
		}
		s.sum(c.waiting, level, l.demand, int64(l.Len()))
		if l.level >= 0 && !l.never {
			list = append(list, s.candidate(l, fit{}))
		}
	}
	ranked := s.ranked(list)
	for x := ranked.head(); x != nil; x = ranked.pop() {
		s.addStarved(c, x)
	}
	return c
}

// addStarved counts the resources that the line of x lacks.
func (s *state) addStarved(c *totals, x *candidate) {
	for _, q := range x.line.demand {
		if _, short := s.ledger.shortageOn(x.line.level, q, !x.line.preemptible); !short {
			continue
		}
		s.sum(c.starved, x.line.level, demand{q}, int64(x.line.Len()))
		for i := x.line.level; i >= 0; i = s.tree().levels[i].parent {
			if c.first[i] == nil {
				c.first[i] = map[int]Key{}
			}
			if _, ok := c.first[i][q.axis]; !ok {
				c.first[i][q.axis] = x.head.Key
			}
		}
	}
}

// sum adds n times k to level i and all above it.
func (s *state) sum(rows []amounts, i int, k demand, n int64) {
	for ; i >= 0; i = s.tree().levels[i].parent {
		for _, q := range k {
			rows[i] = rows[i].plus(q.axis, n*q.n)
		}
	}
}

// isRelevant reports whether any level limits, uses or waits for an axis.
func (c *totals) isRelevant(s *state, axis int) bool {
	if s.ledger.used[0].at(axis) != 0 || c.waiting[0].at(axis) != 0 {
		return true
	}
	return slices.ContainsFunc(s.tree().levels, func(n node) bool { return n.limitOn(axis) != noLimit })
}

// members returns the levels that draw on level i for an axis: the topmost levels with
// a limit below it, and projects without one.
func (s *state) members(i, axis int) (list []int) {
	for _, c := range s.tree().levels[i].children {
		n := &s.tree().levels[c]
		if n.limitOn(axis) != noLimit || len(n.children) == 0 {
			list = append(list, c)
		} else {
			list = append(list, s.members(c, axis)...)
		}
	}
	return list
}

// aboveGuarantee is the usage of level i above its guarantee.
func (s *state) aboveGuarantee(i, axis int) int64 {
	used, limit := s.ledger.used[i].at(axis), s.tree().levels[i].limitOn(axis)
	if limit == noLimit {
		return used
	}
	return max(0, used-limit)
}

// lent is how much of each guarantee relatives use. Use above guarantees counts first
// against the part of a level that is not guaranteed to its children, then against what
// the level borrows itself; the rest is lent by the members with idle guarantees, in
// proportion.
func (s *state) lent() []amounts {
	lent := make([]amounts, len(s.tree().levels))
	for i := range s.tree().levels {
		n := &s.tree().levels[i]
		for axis := range s.ledger.axes.count() {
			limit := n.limitOn(axis)
			if limit == noLimit {
				continue
			}
			members := s.members(i, axis)
			drawn, spare := lent[i].at(axis)-s.aboveGuarantee(i, axis), limit
			idle := make([]int64, len(members))
			for k, m := range members {
				drawn += s.aboveGuarantee(m, axis)
				if own := s.tree().levels[m].limitOn(axis); own != noLimit {
					spare -= own
					idle[k] = max(0, min(s.tree().levels[m].lendOn(axis), own-s.ledger.used[m].at(axis)))
				}
			}
			for k, n := range apportion(drawn-max(0, spare), idle) {
				lent[members[k]] = lent[members[k]].plus(axis, n)
			}
		}
	}
	return lent
}

// apportion divides total in proportion to idle, at most all of idle, by largest
// remainders.
func apportion(total int64, idle []int64) []int64 {
	var sum int64
	for _, n := range idle {
		sum += n
	}
	parts := make([]int64, len(idle))
	if total = min(total, sum); total <= 0 {
		return parts
	}
	order := make([]int, len(idle))
	rest := make([]float64, len(idle))
	left := total
	for k, n := range idle {
		exact := float64(n) * float64(total) / float64(sum)
		parts[k] = min(n, int64(exact))
		order[k], rest[k] = k, exact-float64(parts[k])
		left -= parts[k]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rest[b], rest[a]) })
	for _, k := range order {
		if left > 0 && parts[k] < idle[k] {
			parts[k]++
			left--
		}
	}
	return parts
}

// pairs finds, on every level, the members that wait and the relatives that could help.
func (s *state) pairs(c *totals) (pairs []Pair) {
	levels := s.tree().levels
	for i := range levels {
		for axis, r := range s.ledger.axes.names {
			if levels[i].limitOn(axis) == noLimit || c.starved[i].at(axis) == 0 {
				continue
			}
			members := s.members(i, axis)
			for _, m := range members {
				if demand := c.starved[m].at(axis); demand > 0 {
					pairs = append(pairs, s.pairsOf(m, axis, demand, members, Pair{Resource: r, Starved: levels[m].Ref(), First: c.first[m][axis]})...)
				}
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b Pair) int {
		return cmp.Or(trueFirst(a.Guaranteed, b.Guaranteed), a.Resource.Compare(b.Resource), cmp.Compare(b.Amount, a.Amount))
	})
	return pairs
}

// pairsOf pairs member m, which requests more, with those that borrow its guarantee, or
// else with those that do not lend their idle guarantee.
func (s *state) pairsOf(m, axis int, demand int64, members []int, pair Pair) (pairs []Pair) {
	limit := s.tree().levels[m].limitOn(axis)
	room := limit - s.ledger.used[m].at(axis)
	pair.Guaranteed = limit != noLimit && room > 0
	pair.Demand = demand
	if pair.Guaranteed {
		pair.Demand = min(demand, room)
	}
	for _, other := range members {
		if other == m {
			continue
		}
		pair.Other = s.tree().levels[other].Ref()
		if pair.Guaranteed {
			pair.Amount = s.aboveGuarantee(other, axis)
		} else {
			pair.Amount = s.ledger.reservedFor(other, axis, false)
		}
		if pair.Amount > 0 {
			pairs = append(pairs, pair)
		}
	}
	return pairs
}

// idleGuarantees lists guarantees that have been unused for at least after.
func (s *state) idleGuarantees(after time.Duration, lent []amounts) (list []Idle) {
	if s.idle.peaks == nil {
		return nil
	}
	before := s.now.Add(-after)
	for i := range s.tree().levels {
		n := &s.tree().levels[i]
		for axis, r := range s.ledger.axes.names {
			limit := n.limitOn(axis)
			if i == 0 || limit == noLimit {
				continue
			}
			most, since := s.idle.quiet(i, axis, before)
			if amount := limit - most; amount > 0 && !since.After(before) {
				list = append(list, Idle{n.Ref(), r, amount, limit, min(lent[i].at(axis), amount), since})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Idle) int { return cmp.Or(a.Since.Compare(b.Since), a.Resource.Compare(b.Resource)) })
	return list
}
