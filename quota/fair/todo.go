package fair

// Position returns the present place of a waiting node, 1 is next, or 0 when it
// does not wait here, or room is set aside for it.
func (s *Scheduler) Position(Key) int { return 0 }

// NeverFits returns why an amount can never start in a project, whatever ends,
// or nil.
func (s *Scheduler) NeverFits(Request) *Reason { return nil }

// Forecast says what would happen if requests were made now. It changes nothing.
func (s *Scheduler) Forecast([]Request) Forecast { return Forecast{} }

// Victims returns the attempts to stop now so that requests within their
// guarantee start, and marks them as ending.
func (s *Scheduler) Victims() []Victim { return nil }

// Excess returns the attempts to stop so that no level is above its ceiling, as
// it is after a limit was lowered, and marks them as ending.
func (s *Scheduler) Excess() []Victim { return nil }

// Spare takes the mark of Victims or Excess away: they are not stopped after all.
func (s *Scheduler) Spare([]Key) {}

// Preview says what edits would do. Its errors are those of NewTree.
func (s *Scheduler) Preview([]Edit) (Preview, error) { return Preview{}, nil }

// Queue returns waiting requests in the order of admission.
func (s *Scheduler) Queue(Filter) []Waiting { return nil }

// Why returns the present reason of a waiting node with all its numbers, or
// false when it does not wait here.
func (s *Scheduler) Why(Key) (Reason, bool) { return Reason{}, false }

// Snapshot returns the state of the tree for pages.
func (s *Scheduler) Snapshot() Snapshot { return Snapshot{} }
