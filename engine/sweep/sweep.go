// Package sweep launches a workflow many times with different inputs, compares the results of
// the runs, and stops unpromising runs early. A run is an execution like any other.
package sweep

import (
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/sweep/space"
)

// Method is how a sweep chooses the values of its runs.
type Method string

// The methods.
const (
	Grid   Method = "grid"   // every combination
	Random Method = "random" // independent draws
	Sobol  Method = "sobol"  // a sequence that covers the space evenly
	TPE    Method = "tpe"    // learns from the runs that have ended
)

// Methods returns all values of Method.
func Methods() []Method { return []Method{Grid, Random, Sobol, TPE} }

// Goal defines which objective is better.
type Goal string

// The goals.
const (
	Maximize Goal = "max"
	Minimize Goal = "min"
)

// Which value of a metric is the objective of a run.
const (
	BestValue = "best" // the maximum or minimum, by the goal
	LastValue = "last"
)

// Objective is what a sweep optimizes: a metric, or an output that is a number. Output may have
// dots: "report.accuracy".
type Objective struct {
	Metric string
	Output string
	Goal   Goal
	Value  string // BestValue or LastValue of a metric; "" is BestValue
}

// Name is the metric or output.
func (o Objective) Name() string {
	if o.Metric != "" {
		return o.Metric
	}
	return o.Output
}

// Better reports whether a is better than b.
func (o Objective) Better(a, b float64) bool {
	if o.Goal == Minimize {
		return a < b
	}
	return a > b
}

// Rule defines how a sweep stops runs early.
type Rule string

// The rules of early stopping.
const (
	NoRule  Rule = "none"
	Median  Rule = "median"  // below the median of the other runs at the same step
	Halving Rule = "halving" // not in the best share of the runs that reached the same rung
)

// EarlyStopping configures the rule. Zero fields take the defaults.
type EarlyStopping struct {
	Rule    Rule
	MinStep int64 // median: not before this step of the metric; halving: step of the first rung. Default 1
	MinRuns int   // median: only with this many other runs at the step. Default 5
	Factor  int   // halving: one of Factor runs continues, and each rung is Factor times later. Default 3
}

// Limits of sweeps.
const (
	MaxRuns         = 10_000
	MaxParallelism  = 500
	MaxName         = 200 // characters
	DefaultParallel = 4
)

// Spec is a request for a sweep.
type Spec struct {
	Workflow      string // name or ID
	Version       string // "" is the latest
	Name          string
	Inputs        map[string]any // of every run, decoded JSON
	Space         space.Space
	Method        Method
	Runs          int        // 0: all combinations of a grid
	Parallelism   int        // runs at the same time; 0: DefaultParallel
	Objective     *Objective // nil: runs are not compared; TPE and early stopping need one
	EarlyStopping EarlyStopping
	GPUHours      float64        // budget; 0: none
	Seed          int64          // 0: chosen
	Priority      query.Priority // query.Declared: that of the definition
	Tags          []string       // of every run
	Note          string         // of every run

	IdempotencyKey string // of Create: a key that was used before returns the sweep of the first request
}

// State of a sweep.
type State string

// The states. A sweep in the state Stopping launches no more runs and ends with its last run.
const (
	Running   State = "RUNNING"
	Paused    State = "PAUSED"
	Stopping  State = "STOPPING"
	Succeeded State = "SUCCEEDED" // all runs have ended
	Stopped   State = "STOPPED"   // by a user or its budget, before all runs began
)

// Ended reports whether the state is final. Adding runs continues an ended sweep.
func (s State) Ended() bool { return s == Succeeded || s == Stopped }

// Codes of a Sweep's reason.
const (
	ReasonPerson      = "PERSON"       // a user paused or stopped it
	ReasonBudget      = "BUDGET"       // its GPU-hours are spent
	ReasonAllRefused  = "REFUSED"      // the last launches were refused
	ReasonSuggestions = "SUGGESTIONS"  // the program of TPE cannot run
	ReasonAccess      = "ACCESS"       // the user who created it may no longer launch
	ReasonExhausted   = "COMBINATIONS" // the grid has no more combinations
	ReasonFault       = "FAULT"        // it cannot continue as it is
	ReasonUnreadable  = "UNREADABLE"   // its row or that of a run cannot be decoded
)

// Sweep is one sweep.
type Sweep struct {
	ID            uuid.UUID
	ProjectID     uuid.UUID
	WorkflowID    uuid.UUID
	WorkflowName  string
	VersionID     uuid.UUID
	Version       string
	Name          string
	State         State
	Reason        string // one of the codes, "" for none
	Message       string // why it is paused, stopping or stopped, as a sentence
	Method        Method
	Space         []space.Parameter
	SpaceVersion  int // 1, and 1 more for each change of the space
	Inputs        map[string]any
	Objective     *Objective
	EarlyStopping EarlyStopping
	Planned       int // runs in total
	Parallelism   int
	GPUHours      float64 // budget; 0: none
	UsedGPUHours  float64
	Seed          int64
	Priority      query.Priority
	Tags          []string
	Note          string
	CreatedBy     query.Person
	CreatedAt     time.Time
	UpdatedAt     time.Time
	EndedAt       *time.Time

	Counts Counts
	Best   *Run // of those that have an objective; nil: none yet
	MayRun bool // the caller may pause, stop and change it
}

// Counts are the numbers of runs by state.
type Counts struct {
	Created      int // all
	Waiting      int // proposed, not yet launched
	Running      int // launched, not ended
	Queued       int // of Running: they wait for quota with all that they could start
	Succeeded    int
	Failed       int
	Cancelled    int
	StoppedEarly int
	Refused      int
}

// Ended is the number of runs that have ended.
func (c Counts) Ended() int { return c.Succeeded + c.Failed + c.Cancelled + c.StoppedEarly + c.Refused }

// RunState is the state of a run.
type RunState string

// The states of runs.
const (
	RunProposed     RunState = "PROPOSED" // has values; its execution is about to be launched
	RunRunning      RunState = "RUNNING"  // its execution has not ended
	RunSucceeded    RunState = "SUCCEEDED"
	RunFailed       RunState = "FAILED"
	RunCancelled    RunState = "CANCELLED"
	RunStoppedEarly RunState = "STOPPED_EARLY"
	RunRefused      RunState = "REFUSED" // its execution could not be launched: Message explains why
)

// Ended reports whether the state is final.
func (s RunState) Ended() bool { return s != RunProposed && s != RunRunning }

// Run is one run of a sweep.
type Run struct {
	Index        int        // from 0
	ExecutionID  *uuid.UUID // nil: proposed or refused
	State        RunState
	Values       space.Combination // by path
	SpaceVersion int
	Objective    *float64    // so far, for a run that has not ended; nil: not reported
	Step         *int64      // the last step of the metric
	BestStep     *int64      // the step of Objective
	Message      string      // why it was stopped early, refused or failed
	Status       query.State // of the execution
	CreatedAt    time.Time
	StartedAt    *time.Time
	FinishedAt   *time.Time
	GPUHours     float64
	Rank         int  // 1 is the best; 0: without an objective
	Waiting      bool // for quota, with all that it could start
}

// Importance is how much one parameter matters for the objective.
type Importance struct {
	Path        string
	Share       float64  // of the importance of all parameters, 0 to 1
	Deviation   float64  // of Share between the repetitions of the permutation
	Correlation *float64 // Spearman's rank correlation with the objective; nil for values without an order
}

// Importances are the result for a sweep.
type Importances struct {
	Method     string       // what was computed, as a sentence with its source
	Runs       int          // that it is based on
	Parameters []Importance // the most important first; empty with too few runs
	Message    string       // why there are none
}

// Preview is the effect of a Spec.
type Preview struct {
	Version      string
	Problems     []apperr.Field // with them, the rest may be missing
	Runs         int
	Combinations int      // of the grid of all values; 0: not finite
	Continuous   []string // parameters without a finite number of values
	Parallelism  int
	FitsNow      int // runs that could begin now, at most Parallelism
	Fits         Fits
	Reason       string              // why not all of Parallelism begin now, as a sentence
	StartsFrom   *time.Time          // of the first run, if it waits
	PerRun       *time.Duration      // median of earlier executions; nil: unknown
	Total        *time.Duration      // nil: unknown
	GPUHours     *float64            // of all runs; nil: unknown
	Basis        int                 // earlier executions that PerRun and GPUHours come from
	OverBudget   bool                // the estimate is above the budget
	Seed         int64               // that First is drawn with; a sweep with this seed has the same values
	First        []space.Combination // the first few; of TPE, none
	Warnings     []string
}

// Fits is a verdict on the first run.
type Fits string

// The verdicts.
const (
	FitsNow    Fits = "now"
	FitsLater  Fits = "later"
	FitsNever  Fits = "never"
	FitUnknown Fits = "unknown"
)

// Edit changes a sweep. nil fields are unchanged. A new space applies to runs that have not been
// proposed yet.
type Edit struct {
	Name          *string
	Runs          *int // in total
	AddRuns       *int // in addition; not together with Runs
	Parallelism   *int
	GPUHours      *float64
	Space         space.Space
	EarlyStopping *EarlyStopping
}

// Filter selects runs.
type Filter struct {
	Sort  string   // "index" (the default), "objective", "created" or the path of a parameter; with "-" descending
	After int      // rows to leave out
	Limit int      // 0: 100; at most MaxRuns
	State RunState // "": all
}

// Listed selects sweeps of the caller's project.
type Listed struct {
	Workflow string     // name or ID; "": all
	Text     string     // a part of the name; "": all
	State    State      // "": all
	Before   *uuid.UUID // the last of the page before
	Limit    int
}
