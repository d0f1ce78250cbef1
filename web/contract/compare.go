package contract

import (
	"time"

	"github.com/google/uuid"
)

// ComparisonBody is several executions side by side.
type ComparisonBody struct {
	Executions []ComparedExecution `json:"executions" doc:"Executions, in the order of the request"`
	Baseline   uuid.UUID           `json:"baseline" doc:"Execution that deltas refer to"`
	Rows       []ComparedRow       `json:"rows"`
	Same       int                 `json:"same" doc:"Number of rows with the same value in every execution"`
	Metrics    []string            `json:"metrics" doc:"Metric names; GET /compare/metrics returns their curves"`
	Notes      []string            `json:"notes,omitempty" doc:"Notes about omitted data"`
}

// ComparedExecution is an execution of a comparison.
type ComparedExecution struct {
	ExecutionID  uuid.UUID  `json:"execution_id"`
	Name         string     `json:"name,omitempty"`
	WorkflowName string     `json:"workflow_name"`
	Version      string     `json:"version"`
	Status       string     `json:"status"`
	SubmittedBy  string     `json:"submitted_by"`
	CreatedAt    time.Time  `json:"created_at"`
	StartedAt    *time.Time `json:"started_at,omitempty"`
	FinishedAt   *time.Time `json:"finished_at,omitempty"`
}

// ComparedRow is one property of all executions.
type ComparedRow struct {
	Section   string         `json:"section" enum:"summary,inputs,metrics,outputs,definition,code,environment,resources,artifacts"`
	Path      string         `json:"path" doc:"Dotted path, such as optimizer.lr"`
	Statistic string         `json:"statistic,omitempty" enum:"last,min,max" doc:"Statistic shown, for metrics"`
	Unit      string         `json:"unit,omitempty" enum:"seconds,hours,bytes"`
	Better    string         `json:"better,omitempty" enum:"higher,lower" doc:"Whether higher or lower values are better; guessed from the name for metrics"`
	Differs   bool           `json:"differs"`
	Values    []ComparedCell `json:"values" doc:"One value per execution"`
}

// ComparedCell is the value of a row for one execution.
type ComparedCell struct {
	Present bool     `json:"present"`
	Value   any      `json:"value,omitempty" doc:"Value; for an artifact, an object with artifact_id, sha256, size_bytes and type. NaN and infinities are strings"`
	Changed bool     `json:"changed" doc:"True if the value differs from the baseline"`
	Delta   *float64 `json:"delta,omitempty" doc:"Difference from the baseline, for numbers"`
	Best    bool     `json:"best,omitempty"`
}

// ComparedCurves are the curves of one metric of several executions.
type ComparedCurves struct {
	Metric  string          `json:"metric"`
	Axis    string          `json:"axis" enum:"step,time,relative"`
	Curves  []ComparedCurve `json:"curves"`
	Of      int             `json:"of" doc:"Number of matching curves; up to 200 are returned"`
	Partial bool            `json:"partial" doc:"True if ClickHouse is unavailable, so that earlier points are missing"`
}

// ComparedCurve is a curve of a metric.
type ComparedCurve struct {
	ExecutionID uuid.UUID         `json:"execution_id"`
	Node        string            `json:"node"`
	Attempt     int               `json:"attempt"`
	Tags        map[string]string `json:"tags,omitempty"`
	X           []float64         `json:"x" doc:"Steps; for time, Unix time in seconds; for relative time, seconds since the execution started"`
	Y           []float64         `json:"y" doc:"Lowest and highest value in each interval of the axis"`
}
