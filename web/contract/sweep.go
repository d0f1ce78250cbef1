package contract

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
)

// SweepParameter is one input that a sweep varies.
type SweepParameter struct {
	Path      string            `json:"path" minLength:"1" maxLength:"200" doc:"Input name; use dots for nested parts, such as optimizer.lr or layers.0.width"`
	Kind      string            `json:"kind" enum:"values,range,uniform,loguniform,normal,int" doc:"Kind of parameter. values is a list; range covers from to to on a scale, optionally in steps; the others are distributions"`
	Values    []json.RawMessage `json:"values,omitempty" doc:"Values, for kind values"`
	From      *float64          `json:"from,omitempty" doc:"Lowest value"`
	To        *float64          `json:"to,omitempty" doc:"Highest value"`
	Scale     string            `json:"scale,omitempty" enum:"linear,log" doc:"Scale of a range"`
	Step      *float64          `json:"step,omitempty" doc:"Step of a linear range"`
	Steps     int               `json:"steps,omitempty" doc:"Number of values in a range, including both ends" minimum:"0"`
	Mean      *float64          `json:"mean,omitempty" doc:"Mean, for kind normal"`
	Deviation *float64          `json:"deviation,omitempty" doc:"Standard deviation, for kind normal"`
}

// SweepObjective is what a sweep optimizes: a metric or an output.
type SweepObjective struct {
	Metric string `json:"metric,omitempty" maxLength:"200" doc:"Metric that the runs report"`
	Output string `json:"output,omitempty" maxLength:"200" doc:"Numeric output; use dots for nested parts"`
	Goal   string `json:"goal,omitempty" enum:"max,min" default:"max" doc:"Whether higher or lower is better"`
	Value  string `json:"value,omitempty" enum:"best,last" default:"best" doc:"Metric value to use: the best of all steps, or the last"`
}

// SweepStopping is how a sweep stops runs early.
type SweepStopping struct {
	Rule    string `json:"rule,omitempty" enum:"none,median,halving" default:"none" doc:"Early stopping rule. median stops runs below the median of other runs at the same step; halving stops runs that are not among the best at their rung"`
	MinStep int64  `json:"min_step,omitempty" minimum:"0" doc:"median: first step at which a run can stop. halving: step of the first rung. Defaults to 1"`
	MinRuns int    `json:"min_runs,omitempty" minimum:"0" doc:"median: minimum number of other runs at the step; defaults to 5"`
	Factor  int    `json:"factor,omitempty" minimum:"0" doc:"halving: one in this many runs continues at each rung, and rungs are spaced by this factor; defaults to 3"`
}

// SweepInput is a sweep to create or to preview.
type SweepInput struct {
	Workflow      string           `json:"workflow" minLength:"1" maxLength:"200" doc:"Workflow name or ID"`
	Version       string           `json:"version,omitempty" maxLength:"100" doc:"Workflow version; defaults to the latest"`
	Name          string           `json:"name,omitempty" maxLength:"200"`
	Inputs        json.RawMessage  `json:"inputs,omitempty" doc:"Input values of every run, by name; inputs that the space varies can be omitted"`
	Space         []SweepParameter `json:"space" doc:"Inputs to vary"`
	Method        string           `json:"method,omitempty" enum:"grid,random,sobol,tpe" default:"random"`
	Runs          int              `json:"runs,omitempty" minimum:"0" maximum:"10000" doc:"Number of runs; for a grid, defaults to all combinations"`
	Parallelism   int              `json:"parallelism,omitempty" minimum:"0" maximum:"500" doc:"Maximum number of concurrent runs; defaults to 4"`
	Objective     *SweepObjective  `json:"objective,omitempty" doc:"Objective; required for tpe and early stopping"`
	EarlyStopping *SweepStopping   `json:"early_stopping,omitempty"`
	GPUHours      float64          `json:"gpu_hours,omitempty" minimum:"0" doc:"GPU-hour budget: no run starts after it is spent; 0 means no budget"`
	Seed          int64            `json:"seed,omitempty" doc:"Random seed: the same seed draws the same values; 0 chooses one"`
	Priority      *int             `json:"priority,omitempty" minimum:"0" maximum:"100" doc:"Priority of the runs; defaults to the workflow's priority"`
	Tags          []string         `json:"tags,omitempty" maxItems:"50" doc:"Tags of every run"`
	Note          string           `json:"note,omitempty" doc:"Note of every run"`
}

// SweepBody is one sweep.
type SweepBody struct {
	ID            uuid.UUID        `json:"id"`
	Name          string           `json:"name"`
	Workflow      string           `json:"workflow"`
	WorkflowID    uuid.UUID        `json:"workflow_id"`
	Version       string           `json:"version"`
	State         string           `json:"state" enum:"RUNNING,PAUSED,STOPPING,SUCCEEDED,STOPPED"`
	Reason        string           `json:"reason,omitempty" doc:"Reason code, if the sweep is paused, stopping or stopped"`
	Message       string           `json:"message,omitempty" doc:"Reason, as a sentence"`
	Method        string           `json:"method"`
	Space         []SweepParameter `json:"space"`
	SpaceVersion  int              `json:"space_version" doc:"Version of the space, incremented with each change"`
	Inputs        map[string]any   `json:"inputs"`
	Objective     *SweepObjective  `json:"objective,omitempty"`
	EarlyStopping SweepStopping    `json:"early_stopping"`
	Runs          int              `json:"runs" doc:"Total number of planned runs"`
	Parallelism   int              `json:"parallelism"`
	GPUHours      float64          `json:"gpu_hours" doc:"GPU-hour budget; 0 means no budget"`
	UsedGPUHours  float64          `json:"used_gpu_hours"`
	Seed          int64            `json:"seed"`
	Tags          []string         `json:"tags"`
	Note          string           `json:"note,omitempty"`
	CreatedBy     string           `json:"created_by"`
	CreatedAt     time.Time        `json:"created_at"`
	UpdatedAt     time.Time        `json:"updated_at"`
	EndedAt       *time.Time       `json:"ended_at,omitempty"`
	Counts        SweepCounts      `json:"counts"`
	Best          *SweepRun        `json:"best,omitempty" doc:"Best run so far"`
	URL           string           `json:"ui_url"`
}

// SweepCounts are the numbers of runs by state.
type SweepCounts struct {
	Created      int `json:"created" doc:"Number of runs created so far"`
	Proposed     int `json:"proposed" doc:"Runs that are about to be launched"`
	Running      int `json:"running" doc:"Runs that were launched and have not ended"`
	Queued       int `json:"queued" doc:"Running runs that wait for quota"`
	Succeeded    int `json:"succeeded"`
	Failed       int `json:"failed"`
	Cancelled    int `json:"cancelled"`
	StoppedEarly int `json:"stopped_early"`
	Refused      int `json:"refused" doc:"Runs that could not be launched"`
}

// SweepRun is one run of a sweep.
type SweepRun struct {
	Index        int            `json:"index"`
	ExecutionID  *uuid.UUID     `json:"execution_id,omitempty"`
	State        string         `json:"state" enum:"PROPOSED,RUNNING,SUCCEEDED,FAILED,CANCELLED,STOPPED_EARLY,REFUSED"`
	Values       map[string]any `json:"values" doc:"Values, by parameter path"`
	SpaceVersion int            `json:"space_version"`
	Objective    *float64       `json:"objective,omitempty" doc:"Objective value; provisional until the run ends"`
	Step         *int64         `json:"step,omitempty" doc:"Last step of the metric"`
	BestStep     *int64         `json:"best_step,omitempty" doc:"Step of the objective value"`
	Message      string         `json:"message,omitempty" doc:"Reason why the run failed, was stopped early or was not launched"`
	Waiting      bool           `json:"waiting,omitempty" doc:"True if the run waits for quota"`
	Rank         int            `json:"rank,omitempty" doc:"Rank; 1 is the best"`
	GPUHours     float64        `json:"gpu_hours"`
	CreatedAt    time.Time      `json:"created_at"`
	StartedAt    *time.Time     `json:"started_at,omitempty"`
	FinishedAt   *time.Time     `json:"finished_at,omitempty"`
}

// SweepDetail is a sweep with its runs and what they say about its parameters.
type SweepDetail struct {
	SweepBody

	RunList    []SweepRun      `json:"run_list" doc:"Requested page of runs"`
	Next       *int            `json:"next,omitempty" doc:"Cursor for the next page; pass it as after"`
	Importance SweepImportance `json:"importance"`
}

// SweepImportance is how much each parameter matters for the objective.
type SweepImportance struct {
	Method     string                `json:"method" doc:"Method of the computation"`
	Runs       int                   `json:"runs" doc:"Number of runs that the importance is based on"`
	Parameters []ParameterImportance `json:"parameters" doc:"Parameters, most important first"`
	Message    string                `json:"message,omitempty" doc:"Reason why there are no importances"`
}

// ParameterImportance is the importance of one parameter.
type ParameterImportance struct {
	Path        string   `json:"path"`
	Share       float64  `json:"share" doc:"Share of the total importance, 0 to 1"`
	Deviation   float64  `json:"deviation" doc:"Standard deviation of share"`
	Correlation *float64 `json:"correlation,omitempty" doc:"Rank correlation with the objective, for numbers"`
}

// SweepList is a page of sweeps, newest first.
type SweepList struct {
	Sweeps []SweepBody `json:"sweeps"`
	Next   *uuid.UUID  `json:"next,omitempty" doc:"Cursor for the next page; pass it as before"`
}

// SweepPreview is what would happen to a sweep. Nothing was created.
type SweepPreview struct {
	Version      string           `json:"version"`
	Valid        bool             `json:"valid"`
	Errors       []apperr.Field   `json:"errors,omitempty" doc:"Errors; if there are any, other fields may be missing"`
	Runs         int              `json:"runs"`
	Combinations int              `json:"combinations,omitempty" doc:"Number of combinations; absent if it is not finite"`
	Continuous   []string         `json:"continuous,omitempty" doc:"Parameters with an infinite number of values"`
	Parallelism  int              `json:"parallelism"`
	FitsNow      int              `json:"fits_now" doc:"Number of runs that could start now, up to parallelism"`
	Fits         string           `json:"fits" enum:"now,later,never,unknown" doc:"Estimate of when the first run starts"`
	Reason       string           `json:"reason,omitempty" doc:"Reason why fewer than parallelism runs start now"`
	StartsFrom   *time.Time       `json:"starts_from,omitempty"`
	RunSeconds   *float64         `json:"run_seconds,omitempty" doc:"Median duration of earlier executions; absent if unknown"`
	TotalSeconds *float64         `json:"total_seconds,omitempty" doc:"Estimated total duration; absent if unknown"`
	GPUHours     *float64         `json:"gpu_hours,omitempty" doc:"Estimated GPU-hours of all runs; absent if unknown"`
	Basis        int              `json:"from_executions" doc:"Number of earlier executions"`
	OverBudget   bool             `json:"over_budget"`
	Seed         int64            `json:"seed" doc:"Seed that first is drawn with; a sweep with this seed gets the same values"`
	First        []map[string]any `json:"first" doc:"Values of the first runs; absent for tpe"`
	Warnings     []string         `json:"warnings,omitempty"`
}

// SweepChange changes a sweep. What it leaves out stays.
type SweepChange struct {
	Name          *string          `json:"name,omitempty" maxLength:"200"`
	Runs          *int             `json:"runs,omitempty" minimum:"1" maximum:"10000" doc:"Total number of runs"`
	AddRuns       *int             `json:"add_runs,omitempty" minimum:"1" maximum:"10000" doc:"Number of runs to add"`
	Parallelism   *int             `json:"parallelism,omitempty" minimum:"1" maximum:"500"`
	GPUHours      *float64         `json:"gpu_hours,omitempty" minimum:"0" doc:"GPU-hour budget; 0 means no budget"`
	Space         []SweepParameter `json:"space,omitempty" doc:"The complete new space; existing runs keep their values"`
	EarlyStopping *SweepStopping   `json:"early_stopping,omitempty"`
}

// SweepStop stops a sweep.
type SweepStop struct {
	Running string `json:"running,omitempty" enum:"finish,cancel" default:"finish" doc:"Whether runs that have started finish or are cancelled"`
}
