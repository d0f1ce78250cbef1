package fair

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Verdict is the short result of a Forecast.
type Verdict string

// The verdicts.
const (
	FitsNow   Verdict = "now"
	WouldWait Verdict = "waits"
	NeverFits Verdict = "never"
)

// Forecast predicts the result of requests made now.
type Forecast struct {
	Verdict Verdict `json:"verdict"`
	// Message is "Fits now.", "Would wait about 12 min behind 3 jobs (A100 GPUs)." or
	// "Cannot run here: requests 16 GPUs; the limit of team Vision is 8."
	Message  string   `json:"message"`
	Resource Resource `json:"resource,omitempty"`
	Ahead    int      `json:"ahead,omitempty"`
	// Wait is the estimated time until the last of them starts; 0 with WouldWait means
	// unknown.
	Wait       time.Duration `json:"wait,omitempty"`
	StartsFrom *time.Time    `json:"starts_from,omitempty"`
	StartsTo   *time.Time    `json:"starts_to,omitempty"`
	Basis      int           `json:"basis,omitempty"` // see Reason.Basis
	// Reason is the reason of the request that waits longest; nil with FitsNow.
	Reason *Reason `json:"reason,omitempty"`
	Key    Key     `json:"-"` // the request of Reason
}

// Filter selects waiting requests; zero fields select all.
type Filter struct {
	Level     uuid.UUID // at or below it
	Execution uuid.UUID
	Limit     int // maximum number of results; 0: all
}

// Waiting is a request in the queue.
type Waiting struct {
	Request

	Position int        // in the order of admission over all levels, 1 is next
	Path     []LevelRef // from the tenant to the project
	Reason   Reason
	Offered  bool // capacity is reserved for it: it is about to start
}

// Forecast predicts the result of making all of requests now, at once. It changes
// nothing. Requests whose Key is zero get one.
func (s *Scheduler) Forecast(requests []Request) Forecast {
	s.mu.Lock()
	s.state.tick(s.config.Now())
	sim := s.state.clone()
	s.mu.Unlock()
	return forecaster{sim}.forecast(requests)
}

// forecast changes s.
func (m forecaster) forecast(requests []Request) Forecast {
	keys := make([]Key, len(requests))
	launchID := uuid.New()
	for i, r := range requests {
		if r.Key == (Key{}) {
			r.Key = Key{launchID, i}
		}
		keys[i], r.Since = r.Key, m.s.now
		if reason, never := m.s.neverFits(r); never {
			return Forecast{Verdict: NeverFits, Message: reason.Message, Resource: reason.Resource, Reason: reason, Key: r.Key}
		}
		if _, known := m.s.tree().index[r.Project]; !known {
			reason := unknownProject()
			return Forecast{Verdict: WouldWait, Message: reason.Message, Reason: reason, Key: r.Key}
		}
		if reason := m.s.ledger.storageFull(m.s.level(r.Project)); reason != nil {
			return Forecast{Verdict: WouldWait, Message: "Would wait for storage: " + strings.TrimPrefix(reason.Message, "Waiting for storage: "), Resource: Storage, Reason: reason, Key: r.Key}
		}
		m.s.want(r)
	}
	waiting := m.s.clone()
	m.s.distribute(uuid.Nil)
	left := slices.DeleteFunc(keys, func(key Key) bool {
		_, waits := m.s.queue.find(key)
		return !waits
	})
	if len(left) == 0 {
		return Forecast{Verdict: FitsNow, Message: "Fits now."}
	}
	order := m.s.rank(maxRanked, nil)
	first, last := ends(left, order.positions)
	r, _ := m.s.queue.find(last)
	reason := explainer(m).why(m.s.queue.lines[sizeOf(r)], &r, allHolders)
	reason.Position = order.positions[last]
	reason.Ahead = explainer(m).ahead(order, first, reason)
	f := Forecast{Verdict: WouldWait, Resource: reason.Resource, Ahead: reason.Ahead, Reason: &reason, Key: last}
	if band, ok := (forecaster{waiting}).startRange(left); ok {
		f.Wait = band.typical.Sub(m.s.now)
		f.StartsFrom, f.StartsTo, f.Basis = &band.from, &band.to, band.basis
		reason.StartsFrom, reason.StartsTo, reason.Basis = f.StartsFrom, f.StartsTo, f.Basis
	}
	f.Message = f.sentence()
	return f
}

// ends returns which of keys comes first and which comes last; those without a position go
// last.
func ends(keys []Key, places map[Key]int) (first, last Key) {
	place := func(key Key) int {
		if p, ok := places[key]; ok {
			return p
		}
		return math.MaxInt
	}
	compare := func(a, b Key) int { return cmp.Or(cmp.Compare(place(a), place(b)), compareKeys(a, b)) }
	return slices.MinFunc(keys, compare), slices.MaxFunc(keys, compare)
}

// sentence returns f as a sentence.
func (f *Forecast) sentence() string {
	text := "Would wait"
	if f.Wait > 0 {
		text += " about " + roughly(f.Wait)
	}
	switch f.Ahead {
	case 0:
	case 1:
		text += " behind 1 job"
	case maxRanked:
		text += fmt.Sprintf(" behind more than %d jobs", maxRanked)
	default:
		text += fmt.Sprintf(" behind %d jobs", f.Ahead)
	}
	if f.Resource != "" {
		text += " (" + f.Resource.Title() + ")"
	}
	if f.Wait == 0 {
		text += "; there is not enough history for an estimate"
	}
	return text + "."
}

// roughly rounds d for display: "20 s", "12 min", "3 h", "2 days".
func roughly(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(1, int(math.Round(d.Seconds()))))
	case d < 90*time.Minute:
		return fmt.Sprintf("%d min", int(math.Round(d.Minutes())))
	case d < 36*time.Hour:
		return fmt.Sprintf("%d h", int(math.Round(d.Hours())))
	default:
		return fmt.Sprintf("%d days", int(math.Round(d.Hours()/24)))
	}
}
