package fair

import "time"

// endedReservations remembers reservations that ended here, for remember or somewhat
// longer, in two generations, so that forgetting costs nothing.
type endedReservations struct {
	young, old map[Key]released
	turned     time.Time // when young became old
}

// released is a reservation that ended here.
type released struct {
	Held

	at time.Time
}

// remember is how long a released reservation can be taken back at least.
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

// turn forgets the older generation when it is time.
func (d *endedReservations) turn(now time.Time) {
	if now.Sub(d.turned) >= remember {
		d.young, d.old, d.turned = map[Key]released{}, d.young, now
	}
}
