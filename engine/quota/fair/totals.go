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

func (p snapshotter) totals() *totals {
	n := len(p.s.tree().levels)
	c := &totals{
		requests: make([]int, n), waiting: make([]amounts, n), offered: make([]amounts, n), ending: make([]amounts, n),
		starved: make([]amounts, n), first: make([]map[int]Key, n),
	}
	for _, nodes := range p.s.offers {
		for _, o := range nodes {
			p.s.tree().sum(c.offered, o.level, o.demand, 1)
		}
	}
	for _, nodes := range p.s.held {
		for _, h := range nodes {
			if h.Ending {
				p.s.tree().sum(c.ending, h.level, h.demand, 1)
			}
		}
	}
	var list []candidate
	for _, l := range p.s.queue.lines {
		level := max(l.level, 0)
		for i := level; i >= 0; i = p.s.tree().levels[i].parent {
			c.requests[i] += l.Len()
		}
		p.s.tree().sum(c.waiting, level, l.demand, int64(l.Len()))
		if l.level >= 0 && !l.never {
			list = append(list, p.s.candidate(l, fit{}))
		}
	}
	ranked := p.s.ranked(list)
	for x := ranked.head(); x != nil; x = ranked.pop() {
		p.addStarved(c, x)
	}
	return c
}

// addStarved counts the resources that the line of x lacks.
func (p snapshotter) addStarved(c *totals, x *candidate) {
	for _, q := range x.line.demand {
		if _, short := p.s.ledger.shortageOn(x.line.level, q, !x.line.preemptible); !short {
			continue
		}
		p.s.tree().sum(c.starved, x.line.level, demand{q}, int64(x.line.Len()))
		for i := x.line.level; i >= 0; i = p.s.tree().levels[i].parent {
			if c.first[i] == nil {
				c.first[i] = map[int]Key{}
			}
			if _, ok := c.first[i][q.axis]; !ok {
				c.first[i][q.axis] = x.head.Key
			}
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

// aboveGuarantee is the usage of level i above its guarantee.
func (b *Ledger) aboveGuarantee(i, axis int) int64 {
	used, limit := b.used[i].at(axis), b.tree.levels[i].limitOn(axis)
	if limit == noLimit {
		return used
	}
	return max(0, used-limit)
}

// lent is how much of each guarantee relatives use. Use above guarantees counts first
// against the part of a level that is not guaranteed to its children, then against what
// the level borrows itself; the rest is lent by the members with idle guarantees, in
// proportion.
func (b *Ledger) lent() []amounts {
	lent := make([]amounts, len(b.tree.levels))
	for i := range b.tree.levels {
		n := &b.tree.levels[i]
		for axis := range b.axes.count() {
			limit := n.limitOn(axis)
			if limit == noLimit {
				continue
			}
			members := b.tree.members(i, axis)
			drawn, spare := lent[i].at(axis)-b.aboveGuarantee(i, axis), limit
			idle := make([]int64, len(members))
			for k, m := range members {
				drawn += b.aboveGuarantee(m, axis)
				if own := b.tree.levels[m].limitOn(axis); own != noLimit {
					spare -= own
					idle[k] = max(0, min(b.tree.levels[m].lendOn(axis), own-b.used[m].at(axis)))
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
func (b *Ledger) pairs(c *totals) (pairs []Pair) {
	levels := b.tree.levels
	for i := range levels {
		for axis, r := range b.axes.names {
			if levels[i].limitOn(axis) == noLimit || c.starved[i].at(axis) == 0 {
				continue
			}
			members := b.tree.members(i, axis)
			for _, m := range members {
				if demand := c.starved[m].at(axis); demand > 0 {
					pairs = append(pairs, b.pairsOf(m, axis, demand, members, Pair{Resource: r, Starved: levels[m].Ref(), First: c.first[m][axis]})...)
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
func (b *Ledger) pairsOf(m, axis int, demand int64, members []int, pair Pair) (pairs []Pair) {
	limit := b.tree.levels[m].limitOn(axis)
	room := limit - b.used[m].at(axis)
	pair.Guaranteed = limit != noLimit && room > 0
	pair.Demand = demand
	if pair.Guaranteed {
		pair.Demand = min(demand, room)
	}
	for _, other := range members {
		if other == m {
			continue
		}
		pair.Other = b.tree.levels[other].Ref()
		if pair.Guaranteed {
			pair.Amount = b.aboveGuarantee(other, axis)
		} else {
			pair.Amount = b.reservedFor(other, axis, false)
		}
		if pair.Amount > 0 {
			pairs = append(pairs, pair)
		}
	}
	return pairs
}

// idleGuarantees lists guarantees that have been unused for at least after.
func (p snapshotter) idleGuarantees(after time.Duration, lent []amounts) (list []Idle) {
	if p.s.idle.peaks == nil {
		return nil
	}
	before := p.s.now.Add(-after)
	for i := range p.s.tree().levels {
		n := &p.s.tree().levels[i]
		for axis, r := range p.s.ledger.axes.names {
			limit := n.limitOn(axis)
			if i == 0 || limit == noLimit {
				continue
			}
			most, since := p.s.idle.quiet(i, axis, before)
			if amount := limit - most; amount > 0 && !since.After(before) {
				list = append(list, Idle{n.Ref(), r, amount, limit, min(lent[i].at(axis), amount), since})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Idle) int { return cmp.Or(a.Since.Compare(b.Since), a.Resource.Compare(b.Resource)) })
	return list
}
