package contract

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
)

// SweepParameter is one input that a sweep varies.
type SweepParameter struct {
	Path      string            `json:"path" minLength:"1" maxLength:"200" doc:"Name of the input; with dots for a part of it, such as optimizer.lr or layers.0.width"`
	Kind      string            `json:"kind" enum:"values,range,uniform,loguniform,normal,int" doc:"values: a list. range: from to to on a scale, any value or steps of them. The others are distributions"`
	Values    []json.RawMessage `json:"values,omitempty" doc:"Of kind values"`
	From      *float64          `json:"from,omitempty" doc:"The lowest value"`
	To        *float64          `json:"to,omitempty" doc:"The highest value"`
	Scale     string            `json:"scale,omitempty" enum:"linear,log" doc:"Of a range"`
	Step      *float64          `json:"step,omitempty" doc:"Of a linear range: between two values"`
	Steps     int               `json:"steps,omitempty" doc:"Of a range: number of values with both ends" minimum:"0"`
	Mean      *float64          `json:"mean,omitempty" doc:"Of kind normal"`
	Deviation *float64          `json:"deviation,omitempty" doc:"Of kind normal: the standard deviation"`
}

// SweepObjective is what a sweep optimizes: a metric or an output.
type SweepObjective struct {
	Metric string `json:"metric,omitempty" maxLength:"200" doc:"Name of a metric that the runs report"`
	Output string `json:"output,omitempty" maxLength:"200" doc:"Name of an output that is a number; with dots for a part of it"`
	Goal   string `json:"goal,omitempty" enum:"max,min" default:"max" doc:"Which objective is better"`
	Value  string `json:"value,omitempty" enum:"best,last" default:"best" doc:"Which value of the metric counts: the best of all steps, or the last"`
}

// SweepStopping is how a sweep stops runs early.
type SweepStopping struct {
	Rule    string `json:"rule,omitempty" enum:"none,median,halving" default:"none" doc:"median: below the median of the other runs at the same step. halving: not among the best of the runs that reached the same rung"`
	MinStep int64  `json:"min_step,omitempty" minimum:"0" doc:"median: not before this step of the metric. halving: step of the first rung. Default: 1"`
	MinRuns int    `json:"min_runs,omitempty" minimum:"0" doc:"median: only with this many other runs at the step. Default: 5"`
	Factor  int    `json:"factor,omitempty" minimum:"0" doc:"halving: one of this many runs continues at each rung, and each rung is this many times later. Default: 3"`
}

// SweepInput is a sweep to create or to preview.
type SweepInput struct {
	Workflow      string           `json:"workflow" minLength:"1" maxLength:"200" doc:"Name or ID"`
	Version       string           `json:"version,omitempty" maxLength:"100" doc:"The latest when empty"`
	Name          string           `json:"name,omitempty" maxLength:"200"`
	Inputs        json.RawMessage  `json:"inputs,omitempty" doc:"Input values of every run by name; those that the space varies can be left out"`
	Space         []SweepParameter `json:"space" doc:"The inputs that take many values"`
	Method        string           `json:"method,omitempty" enum:"grid,random,sobol,tpe" default:"random"`
	Runs          int              `json:"runs,omitempty" minimum:"0" maximum:"10000" doc:"Number of runs; of a grid, all combinations when left out"`
	Parallelism   int              `json:"parallelism,omitempty" minimum:"0" maximum:"500" doc:"Runs at the same time. Default: 4"`
	Objective     *SweepObjective  `json:"objective,omitempty" doc:"tpe and early stopping need one"`
	EarlyStopping *SweepStopping   `json:"early_stopping,omitempty"`
	GPUHours      float64          `json:"gpu_hours,omitempty" minimum:"0" doc:"Budget: no run begins once it is spent; 0: none"`
	Seed          int64            `json:"seed,omitempty" doc:"The same seed draws the same values; 0: chosen"`
	Priority      *int             `json:"priority,omitempty" minimum:"0" maximum:"100" doc:"Of the runs; that of the definition when left out"`
}

// SweepBody is one sweep.
type SweepBody struct {
	ID            uuid.UUID        `json:"id"`
	Name          string           `json:"name"`
	Workflow      string           `json:"workflow"`
	WorkflowID    uuid.UUID        `json:"workflow_id"`
	Version       string           `json:"version"`
	State         string           `json:"state" enum:"RUNNING,PAUSED,STOPPING,SUCCEEDED,STOPPED"`
	Reason        string           `json:"reason,omitempty" doc:"Code of why it is paused, stopping or stopped"`
	Message       string           `json:"message,omitempty" doc:"The same as a sentence"`
	Method        string           `json:"method"`
	Space         []SweepParameter `json:"space"`
	SpaceVersion  int              `json:"space_version" doc:"Increases with each change of the space"`
	Inputs        map[string]any   `json:"inputs"`
	Objective     *SweepObjective  `json:"objective,omitempty"`
	EarlyStopping SweepStopping    `json:"early_stopping"`
	Runs          int              `json:"runs" doc:"Planned in total"`
	Parallelism   int              `json:"parallelism"`
	GPUHours      float64          `json:"gpu_hours" doc:"Budget; 0: none"`
	UsedGPUHours  float64          `json:"used_gpu_hours"`
	Seed          int64            `json:"seed"`
	CreatedBy     string           `json:"created_by"`
	CreatedAt     time.Time        `json:"created_at"`
	UpdatedAt     time.Time        `json:"updated_at"`
	EndedAt       *time.Time       `json:"ended_at,omitempty"`
	Counts        SweepCounts      `json:"counts"`
	Best          *SweepRun        `json:"best,omitempty" doc:"The best run so far"`
	URL           string           `json:"ui_url"`
}

// SweepCounts are the numbers of runs by state.
type SweepCounts struct {
	Created      int `json:"created" doc:"All runs so far"`
	Proposed     int `json:"proposed" doc:"About to be launched"`
	Running      int `json:"running" doc:"Launched and not ended"`
	Queued       int `json:"queued" doc:"Of the running ones: those that wait for quota"`
	Succeeded    int `json:"succeeded"`
	Failed       int `json:"failed"`
	Cancelled    int `json:"cancelled"`
	StoppedEarly int `json:"stopped_early"`
	Refused      int `json:"refused" doc:"Could not be launched"`
}

// SweepRun is one run of a sweep.
type SweepRun struct {
	Index        int            `json:"index"`
	ExecutionID  *uuid.UUID     `json:"execution_id,omitempty"`
	State        string         `json:"state" enum:"PROPOSED,RUNNING,SUCCEEDED,FAILED,CANCELLED,STOPPED_EARLY,REFUSED"`
	Values       map[string]any `json:"values" doc:"By the path of the parameter"`
	SpaceVersion int            `json:"space_version"`
	Objective    *float64       `json:"objective,omitempty" doc:"So far, for a run that has not ended"`
	Step         *int64         `json:"step,omitempty" doc:"The last step of the metric"`
	BestStep     *int64         `json:"best_step,omitempty" doc:"The step of the objective"`
	Message      string         `json:"message,omitempty" doc:"Why it was stopped early, refused or failed"`
	Rank         int            `json:"rank,omitempty" doc:"1 is the best"`
	GPUHours     float64        `json:"gpu_hours"`
	CreatedAt    time.Time      `json:"created_at"`
	StartedAt    *time.Time     `json:"started_at,omitempty"`
	FinishedAt   *time.Time     `json:"finished_at,omitempty"`
}

// SweepDetail is a sweep with its runs and what they say about its parameters.
type SweepDetail struct {
	SweepBody

	RunList    []SweepRun      `json:"run_list" doc:"The requested page of runs"`
	Next       *int            `json:"next,omitempty" doc:"after of the next page"`
	Importance SweepImportance `json:"importance"`
}

// SweepImportance is how much each parameter matters for the objective.
type SweepImportance struct {
	Method     string                `json:"method" doc:"How it is computed"`
	Runs       int                   `json:"runs" doc:"Number of runs that it is based on"`
	Parameters []ParameterImportance `json:"parameters" doc:"The most important first"`
	Message    string                `json:"message,omitempty" doc:"Why there are none"`
}

// ParameterImportance is the importance of one parameter.
type ParameterImportance struct {
	Path        string   `json:"path"`
	Share       float64  `json:"share" doc:"Of the importance of all parameters, 0 to 1"`
	Deviation   float64  `json:"deviation" doc:"Standard deviation of share"`
	Correlation *float64 `json:"correlation,omitempty" doc:"Rank correlation with the objective, for numbers"`
}

// SweepList is a page of sweeps, newest first.
type SweepList struct {
	Sweeps []SweepBody `json:"sweeps"`
	Next   *uuid.UUID  `json:"next,omitempty" doc:"before of the next page"`
}

// SweepPreview is what would happen to a sweep. Nothing was created.
type SweepPreview struct {
	Version      string           `json:"version"`
	Valid        bool             `json:"valid"`
	Errors       []apperr.Field   `json:"errors,omitempty" doc:"With errors, the rest may be missing"`
	Runs         int              `json:"runs"`
	Combinations int              `json:"combinations,omitempty" doc:"Of all values; left out if they are not finite"`
	Continuous   []string         `json:"continuous,omitempty" doc:"Parameters without a finite number of values"`
	Parallelism  int              `json:"parallelism"`
	FitsNow      int              `json:"fits_now" doc:"Runs that could begin now, at most parallelism"`
	Fits         string           `json:"fits" enum:"now,later,never,unknown" doc:"When the first run begins"`
	Reason       string           `json:"reason,omitempty" doc:"Why fewer than parallelism begin now"`
	StartsFrom   *time.Time       `json:"starts_from,omitempty"`
	RunSeconds   *float64         `json:"run_seconds,omitempty" doc:"Median of earlier executions; left out: unknown"`
	TotalSeconds *float64         `json:"total_seconds,omitempty" doc:"Left out: unknown"`
	GPUHours     *float64         `json:"gpu_hours,omitempty" doc:"Of all runs; left out: unknown"`
	Basis        int              `json:"from_executions" doc:"Number of earlier executions"`
	OverBudget   bool             `json:"over_budget"`
	Seed         int64            `json:"seed" doc:"That first is drawn with; a sweep with this seed has the same values"`
	First        []map[string]any `json:"first" doc:"The values of the first runs; none of tpe"`
	Warnings     []string         `json:"warnings,omitempty"`
}

// SweepChange changes a sweep. What it leaves out stays.
type SweepChange struct {
	Name          *string          `json:"name,omitempty" maxLength:"200"`
	Runs          *int             `json:"runs,omitempty" minimum:"1" maximum:"10000" doc:"Number of runs in total"`
	AddRuns       *int             `json:"add_runs,omitempty" minimum:"1" maximum:"10000" doc:"Number of runs in addition"`
	Parallelism   *int             `json:"parallelism,omitempty" minimum:"1" maximum:"500"`
	GPUHours      *float64         `json:"gpu_hours,omitempty" minimum:"0" doc:"Budget; 0: none"`
	Space         []SweepParameter `json:"space,omitempty" doc:"The whole new space; runs that exist keep their values"`
	EarlyStopping *SweepStopping   `json:"early_stopping,omitempty"`
}

// SweepStop stops a sweep.
type SweepStop struct {
	Running string `json:"running,omitempty" enum:"finish,cancel" default:"finish" doc:"What happens to the runs that have begun"`
}
