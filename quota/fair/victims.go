package fair

// Victim is an attempt that has to make room: it gets the signal to write a
// checkpoint, a grace period, and goes back to READY. Who stops it releases it
// as usual; until then it counts as ending and is not chosen again.
type Victim struct {
	Held

	// For is the request that starts in its place, or the zero Key when a
	// limit was lowered.
	For Key
	// Level is what is above its guarantee, or above its ceiling.
	Level    LevelRef
	Resource Resource
	// Reason is what its node shows while it waits again; its code is Preempted.
	Reason Reason
}
