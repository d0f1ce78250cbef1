package fair

import "time"

// idleness records, for every level and axis, since when the use has not exceeded its
// current value, from the samples of each tick. The zero idleness records nothing.
type idleness struct {
	since time.Time
	peaks [][][]peak // by level and axis
}

// peak is the last time at which at least n was used. Later peaks of one axis are
// lower.
type peak struct {
	n  int64
	at time.Time
}

const maxPeaks = 16

func newIdleness(levels int, now time.Time) idleness {
	return idleness{since: now, peaks: make([][][]peak, levels)}
}

// move transfers the records of the levels of one ledger to those of another.
func (d *idleness) move(from, to *Ledger) {
	if d.peaks == nil {
		return
	}
	peaks := make([][][]peak, len(to.tree.levels))
	for id, i := range to.tree.index {
		before, ok := from.tree.index[id]
		if !ok {
			continue
		}
		for a, stairs := range d.peaks[before] {
			axis := to.axes.of(from.axes.names[a])
			for len(peaks[i]) <= axis {
				peaks[i] = append(peaks[i], nil)
			}
			peaks[i][axis] = stairs
		}
	}
	d.peaks = peaks
}

// watch records the use at now.
func (d *idleness) watch(b *Ledger, now time.Time) {
	if d.peaks == nil {
		return
	}
	for i, used := range b.used {
		for len(d.peaks[i]) < len(used) {
			d.peaks[i] = append(d.peaks[i], nil)
		}
		for a, n := range used {
			if n == 0 && len(d.peaks[i][a]) == 0 {
				continue
			}
			stairs := d.peaks[i][a]
			for len(stairs) > 0 && stairs[len(stairs)-1].n <= n {
				stairs = stairs[:len(stairs)-1]
			}
			if len(stairs) == maxPeaks {
				stairs = append(stairs[:0], stairs[1:]...)
			}
			d.peaks[i][a] = append(stairs, peak{n, now})
		}
	}
}

// quiet returns the peak use of axis a by level i since after, and since when the use
// has not exceeded it.
func (d *idleness) quiet(i, a int, after time.Time) (most int64, since time.Time) {
	since = d.since
	if d.peaks == nil || a >= len(d.peaks[i]) {
		return 0, since
	}
	for _, p := range d.peaks[i][a] {
		if !p.at.Before(after) {
			return p.n, since
		}
		since = p.at
	}
	return 0, since
}
