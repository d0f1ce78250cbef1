package fair

import (
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
)

// history is the decayed average use of each level: an exponential moving average with
// a half-life, advanced on access, at most once a second. Shorter work counts through
// the charge for its start.
type history struct {
	halfLife time.Duration
	weight   float64 // of history in a share
	penalty  float64 // part of an amount that a start adds to history at once
	at       time.Time
	average  [][]float64 // by level and axis
}

// tickEvery is the minimum interval between two advances of history.
const tickEvery = time.Second

// newHistory starts at zero use.
func newHistory(halfLife time.Duration, weight float64, entry time.Duration, levels int, now time.Time) history {
	h := history{halfLife: halfLife, weight: weight, at: now, average: make([][]float64, levels)}
	h.penalty = 1 - h.decay(entry)
	return h
}

// decay is the remaining fraction of past use after d.
func (h *history) decay(d time.Duration) float64 { return math.Exp2(-float64(d) / float64(h.halfLife)) }

func (h *history) clone() history {
	out := *h
	out.average = make([][]float64, len(h.average))
	for i, v := range h.average {
		out.average[i] = slices.Clone(v)
	}
	return out
}

// advance brings history to now, assuming the use was used since the last advance. It
// reports whether it advanced.
func (h *history) advance(used []amounts, now time.Time) bool {
	passed := now.Sub(h.at)
	if passed < tickEvery {
		return false
	}
	h.at = now
	left := h.decay(passed)
	for i, v := range used {
		for len(h.average[i]) < len(v) {
			h.average[i] = append(h.average[i], 0)
		}
		for a, n := range v {
			h.average[i][a] = h.average[i][a]*left + float64(n)*(1-left)
		}
	}
	return true
}

// charge adds the entry penalty of a start at level i, so that a flood of short
// work counts before its use does.
func (h *history) charge(t *Tree, i int, k demand) {
	for ; i >= 0; i = t.levels[i].parent {
		for _, q := range k {
			for len(h.average[i]) <= q.axis {
				h.average[i] = append(h.average[i], 0)
			}
			h.average[i][q.axis] += float64(q.n) * h.penalty
		}
	}
}

func (h *history) on(i, a int) float64 {
	if a >= len(h.average[i]) {
		return 0
	}
	return h.average[i][a]
}

// standing is the share of a level in what it shares with its siblings.
type standing struct {
	axis         int     // the dominant resource
	now, history float64 // of it
	share        float64 // both, by weight of history
}

// shares compares what levels use with what their siblings use.
type shares struct {
	ledger  *Ledger
	history *history
}

func (s *state) shares() shares { return shares{s.ledger, &s.history} }

// standing returns the dominant share of level i: the largest fraction, over all
// resources, of its parent's capacity that it uses (Ghodsi et al. 2011). Storage is not
// scheduled and does not count.
func (h shares) standing(i int) (best standing) {
	parent := h.ledger.tree.levels[i].parent
	if parent < 0 {
		return best
	}
	weight := h.history.weight
	for a := range h.ledger.axes.count() {
		pool := h.ledger.tree.levels[parent].poolOn(a)
		if pool <= 0 || a == storageAxis {
			continue
		}
		now, past := float64(h.ledger.used[i].at(a))/pool, h.history.on(i, a)/pool
		if share := (1-weight)*now + weight*past; share > best.share {
			best = standing{a, now, past, share}
		}
	}
	return best
}

// score orders siblings: the lowest goes first.
func (h shares) score(i int) float64 {
	return h.standing(i).share / h.ledger.tree.levels[i].Limits.Weight
}

// levelScore is standing for display: 1 is exactly the fair share of level i by its
// weight among its siblings.
func (h shares) levelScore(i int) LevelScore {
	n := &h.ledger.tree.levels[i]
	st := h.standing(i)
	weights := n.Limits.Weight
	if n.parent >= 0 {
		weights = 0
		for _, c := range h.ledger.tree.levels[n.parent].children {
			weights += h.ledger.tree.levels[c].Limits.Weight
		}
	}
	out := LevelScore{
		Level: n.Ref(), Weight: n.Limits.Weight, Share: st.now, History: st.history,
		Score: st.share * weights / n.Limits.Weight,
	}
	if st.share > 0 {
		out.Dominant = h.ledger.axes.names[st.axis]
	}
	return out
}

// pastUse returns the decayed use of every level that has any.
func (h shares) pastUse() map[uuid.UUID]map[Resource]float64 {
	all := map[uuid.UUID]map[Resource]float64{}
	for i, v := range h.history.average {
		use := map[Resource]float64{}
		for a, n := range v {
			if n > 0 {
				use[h.ledger.axes.names[a]] = n
			}
		}
		if len(use) > 0 {
			all[h.ledger.tree.levels[i].ID] = use
		}
	}
	return all
}

// setPastUse loads the use stored at a time into history, decayed to now.
func (h shares) setPastUse(at time.Time, all map[uuid.UUID]map[Resource]float64) {
	left := h.history.decay(max(0, h.history.at.Sub(at)))
	for id, use := range all {
		i, ok := h.ledger.tree.index[id]
		if !ok {
			continue
		}
		for r, n := range use {
			a := h.ledger.axes.of(r)
			for len(h.history.average[i]) <= a {
				h.history.average[i] = append(h.history.average[i], 0)
			}
			h.history.average[i][a] = n * left
		}
	}
}
