package fair

import "github.com/google/uuid"

// Edit is a change of the limits of one level.
type Edit struct {
	Level  uuid.UUID
	Limits Limits
}

// Preview is what edits would do at once.
type Preview struct {
	// Excess has to stop so that every level is within its ceiling; Reclaimed
	// would be stopped by requests that come within their guarantee.
	Excess    []Victim
	Reclaimed []Victim
	// OverCeiling are levels that stay above their ceiling until work ends that
	// is not preemptible.
	OverCeiling []Shortfall
	Admitted    []Waiting // start at once
	Blocked     []Waiting // wait now and could never start afterwards
	StillWait   int       // the others that wait before and after
	Before      Snapshot
	After       Snapshot // once all that has happened
}

// Shortfall is how much a level holds of a resource above its ceiling.
type Shortfall struct {
	Level    LevelRef
	Resource Resource
	Used     int64
	Ceiling  int64
}
