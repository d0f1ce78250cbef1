package fair

import "time"

// endedReservations remembers reservations that ended here, for at least remember, in
// two generations, so that dropping old ones is cheap.
type endedReservations struct {
	young, old map[Key]released
	rotatedAt  time.Time // when young became old
}

// released is a reservation that ended here.
type released struct {
	Held

	at time.Time
}

// remember is the minimum time during which a release can be undone.
const remember = 2 * time.Minute

func (d *endedReservations) find(key Key) (released, bool) {
	if r, ok := d.young[key]; ok {
		return r, true
	}
	r, ok := d.old[key]
	return r, ok
}

func (d *endedReservations) forget(key Key) {
	delete(d.young, key)
	delete(d.old, key)
}

// rotate drops the older generation once it is old enough.
func (d *endedReservations) rotate(now time.Time) {
	if now.Sub(d.rotatedAt) >= remember {
		d.young, d.old, d.rotatedAt = map[Key]released{}, d.young, now
	}
}
