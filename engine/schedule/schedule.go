// Package schedule launches workflows at set times: by cron expressions, at intervals, or once.
// Each run launches at most one execution, even if a server stops in between.
package schedule

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/schedule/cron"
)

// Misfire defines what happens to runs that were missed because the schedule was paused or no
// server was running.
type Misfire string

// The rules for missed runs.
const (
	MisfireLatest Misfire = "latest" // launch the latest one
	MisfireSkip   Misfire = "skip"
	MisfireAll    Misfire = "all" // launch all, up to a number
)

// Misfires returns all values of Misfire, the default first.
func Misfires() []Misfire { return []Misfire{MisfireLatest, MisfireSkip, MisfireAll} }

// Overlap defines what happens to a run that is due while the schedule has its maximum number of
// running executions.
type Overlap string

// The rules for overlaps.
const (
	OverlapSkip     Overlap = "skip"
	OverlapQueueOne Overlap = "queue_one" // launch one more when there is room, and skip the others
	OverlapQueueAll Overlap = "queue_all"
	OverlapCancel   Overlap = "cancel" // cancel those that run
	OverlapAllow    Overlap = "allow"  // launch it alongside them
)

// Overlaps returns all values of Overlap, the default first.
func Overlaps() []Overlap {
	return []Overlap{OverlapSkip, OverlapQueueOne, OverlapQueueAll, OverlapCancel, OverlapAllow}
}

// Why a schedule is paused.
const (
	PausedByPerson   = "person"
	PausedByFailures = "failures"
	PausedByAccess   = "access" // the owner can no longer launch the workflow
	PausedByStop     = "stop"   // the condition to stop is true
	PausedByWorkflow = "workflow"
)

// Limits of schedules.
const (
	MaxName        = 100 // characters
	MaxExpressions = 10
	MaxPerProject  = 1000
	MaxInputs      = 256 << 10 // bytes of JSON
	MaxCatchUp     = 366 * 24 * time.Hour
	MaxCatchUpRuns = 1000
	MaxJitter      = 24 * time.Hour
	MaxRunning     = 1000
	MaxPauseAfter  = 100
	MaxQueued      = 1000 // runs that wait because executions are running
	MaxWindows     = 20
	MaxDeclared    = 50      // by one definition
	MaxCondition   = 1000    // bytes of a condition
	MaxHistory     = 100_000 // executions that a schedule keeps
	// MaxCounted is how many missed runs are counted. The message states if there are more.
	MaxCounted = 100_000
	// OnTime is how late a run can be before it counts as missed.
	OnTime = time.Minute
	// ClockBack is how far a clock goes back before schedules are computed again: their last runs are
	// later than now by more.
	ClockBack = 6 * time.Hour
	// KeepOccurrences is how long the occurrences of a schedule are kept.
	KeepOccurrences = 90 * 24 * time.Hour
)

// When specifies when a schedule runs: by expressions, or once.
type When struct {
	Expressions []string   // cron expressions and intervals ("@every 6h"); they apply together
	At          *time.Time // without expressions
	Timezone    string     // a name such as Europe/Berlin; "" is UTC
	Gap         cron.Gap
	Fold        cron.Fold
	Anchor      time.Time // of intervals
	Starts      *time.Time
	Ends        *time.Time

	Calendar     string // name of a calendar of the project; "": none
	BusinessDays bool   // not on the weekend of the calendar, or on Saturday and Sunday
	Exclude      []Window

	calendar *Calendar // nil: none
}

// Spec contains the fields of a schedule that users set.
type Spec struct {
	Workflow string // name or ID
	Name     string
	When
	Version    string // "": the latest at each run
	Inputs     map[string]any
	Priority   query.Priority // query.Declared: that of the definition
	Misfire    Misfire
	CatchUp    time.Duration // maximum age of missed runs that are launched; 0: a day
	CatchUpMax int           // of MisfireAll; 0: 10
	Overlap    Overlap
	MaxRunning int           // executions at a time; 0: 1
	Jitter     time.Duration // maximum delay of runs; a schedule always has the same delay
	PauseAfter int           // failures in a row; 0: never
	Paused     bool

	Condition     string // a run is skipped unless it is true; see conditionNames
	StopWhen      string // the schedule is paused once it is true
	KeepSucceeded *int   // executions that are kept; nil: as the retention says
	KeepFailed    *int   // also of cancelled ones
}

// Schedule is a schedule and its state.
type Schedule struct {
	ID         uuid.UUID
	ProjectID  uuid.UUID
	WorkflowID uuid.UUID
	Spec       // Workflow is the name
	Owner      query.Person
	Reason     string // why it is paused
	Message    string
	Problem    string // why the server could not process it; "" after it could
	CreatedAt  time.Time
	UpdatedAt  time.Time
	LastAt     *time.Time
	NextAt     *time.Time    // nil: it will not run again
	Delay      time.Duration // delay of each run by the jitter
	Recent     []Occurrence  // of lists that ask for them, newest first
	Declared   bool          // by the definition of the workflow, which alone changes it
}

// State is the outcome of an occurrence.
type State string

// The states of occurrences.
const (
	Launched State = "LAUNCHED"
	Queued   State = "QUEUED"
	Skipped  State = "SKIPPED"
	Refused  State = "REFUSED" // the launch was not accepted
)

// Occurrence is a run of a schedule and its outcome. A skipped occurrence can stand for many
// runs.
type Occurrence struct {
	FireAt        time.Time
	LastFireAt    time.Time
	Fires         int64
	IntervalStart time.Time
	State         State
	Reason        string
	Message       string
	ExecutionID   *uuid.UUID
	DecidedAt     time.Time
	Status        string // of the execution, "" without one
	StartedAt     *time.Time
	FinishedAt    *time.Time
	Failure       string
}

// Expressions returns the expressions in the fields of a schedule, and the invalid fields: only
// one of them can be set.
func Expressions(single string, several []string, every string, at *time.Time) (list []string, fields []apperr.Field) {
	var set []string
	for _, field := range []struct {
		name string
		set  bool
	}{{"cron", single != ""}, {"crons", len(several) > 0}, {"every", every != ""}, {"at", at != nil}} {
		if field.set {
			set = append(set, field.name)
		}
	}
	if len(set) > 1 {
		return nil, []apperr.Field{{Path: set[1], Message: "Set only one of cron, crons, every and at. " + set[0] + " is set too."}}
	}
	switch {
	case every != "":
		text := "@every " + every
		if _, err := cron.Parse(text); err != nil {
			return nil, []apperr.Field{{Path: "every", Message: capital(err.Error()) + "."}}
		}
		return []string{text}, nil
	case single != "":
		return []string{single}, nil
	}
	return several, nil
}

// timing computes the runs of a When.
type timing struct {
	expressions []cron.Expression
	at          *time.Time
	clock       cron.Clock
	starts      *time.Time
	ends        *time.Time
	excluded    exclusions
}

// read checks a When. Paths of fields are those of the API.
func (w When) read() (timing, []apperr.Field) {
	var fields []apperr.Field
	add := func(path, format string, args ...any) {
		fields = append(fields, apperr.Field{Path: path, Message: fmt.Sprintf(format, args...)})
	}
	t := timing{at: w.At, starts: w.Starts, ends: w.Ends, clock: cron.Clock{Gap: w.Gap, Fold: w.Fold, Anchor: w.Anchor}}
	var err error
	if t.clock.Zone, err = time.LoadLocation(w.Timezone); err != nil || w.Timezone == "Local" {
		add("timezone", "Unknown time zone %q. Use a name such as Europe/Berlin.", w.Timezone)
	}
	if !slices.Contains(cron.Gaps(), w.Gap) {
		add("gap", "Use run_after or skip.")
	}
	if !slices.Contains(cron.Folds(), w.Fold) {
		add("fold", "Use first, last or both.")
	}
	if (len(w.Expressions) == 0) == (w.At == nil) {
		add("cron", "Set one of cron, every and at.")
	}
	if len(w.Expressions) > MaxExpressions {
		add("cron", "A schedule has at most %d expressions.", MaxExpressions)
	}
	for _, text := range w.Expressions {
		e, err := cron.Parse(text)
		if err != nil {
			add("cron", "%s.", capital(err.Error()))
			continue
		}
		t.expressions = append(t.expressions, e)
	}
	if w.Starts != nil && w.Ends != nil && !w.Ends.After(*w.Starts) {
		add("ends_at", "The end must be after the start.")
	}
	var excluded []apperr.Field
	t.excluded, excluded = readExclusions(w, t.clock.Zone)
	return t, slices.Concat(fields, excluded, w.outside())
}

// outside returns the fields of a When whose times are out of range for computations and for
// JSON.
func (w When) outside() (fields []apperr.Field) {
	earliest, latest := time.Unix(0, 0), time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, bound := range []struct {
		path string
		at   *time.Time
	}{{"at", w.At}, {"anchor", &w.Anchor}, {"starts_at", w.Starts}, {"ends_at", w.Ends}} {
		if bound.at != nil && (bound.at.Before(earliest) || !bound.at.Before(latest)) {
			fields = append(fields, apperr.Field{Path: bound.path, Message: "Enter a time from 1970 to 2199."})
		}
	}
	return fields
}

// mostExclusions is the maximum number of consecutive exclusions that next skips. A schedule
// with more does not run.
const mostExclusions = 5000

// next returns the first run after a time, or the zero time if there is none.
func (t timing) next(after time.Time) time.Time {
	if t.starts != nil && after.Before(*t.starts) {
		after = t.starts.Add(-time.Nanosecond)
	}
	for range mostExclusions {
		at := t.following(after)
		if at.IsZero() || t.ends != nil && at.After(*t.ends) {
			return time.Time{}
		}
		until, _ := t.excluded.at(at)
		if until.IsZero() {
			return at
		}
		after = until.Add(-time.Nanosecond)
	}
	return time.Time{}
}

// following returns the first time after another one that the expressions match, even if it is
// excluded.
func (t timing) following(after time.Time) time.Time {
	var first time.Time
	if t.at != nil && t.at.After(after) {
		first = t.at.UTC()
	}
	for _, e := range t.expressions {
		if n := e.Next(after, t.clock); n.After(after) && (first.IsZero() || n.Before(first)) {
			first = n
		}
	}
	return first
}

func capital(text string) string {
	if text == "" || text[0] < 'a' || text[0] > 'z' {
		return text
	}
	return string(text[0]-'a'+'A') + text[1:]
}
