package contract

import (
	"time"

	"github.com/google/uuid"
)

// ComparisonBody is several executions side by side.
type ComparisonBody struct {
	Executions []ComparedExecution `json:"executions" doc:"In the order of the request"`
	Baseline   uuid.UUID           `json:"baseline" doc:"The execution that deltas refer to"`
	Rows       []ComparedRow       `json:"rows"`
	Same       int                 `json:"same" doc:"How many rows have the same value in every execution"`
	Metrics    []string            `json:"metrics" doc:"Names of the metrics, whose curves GET /compare/metrics returns"`
	Notes      []string            `json:"notes,omitempty" doc:"What was left out"`
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
	Statistic string         `json:"statistic,omitempty" enum:"last,min,max" doc:"For metrics"`
	Unit      string         `json:"unit,omitempty" enum:"seconds,hours,bytes"`
	Better    string         `json:"better,omitempty" enum:"higher,lower" doc:"Which values are better; for metrics guessed from the name"`
	Differs   bool           `json:"differs"`
	Values    []ComparedCell `json:"values" doc:"One for each execution"`
}

// ComparedCell is the value of a row for one execution.
type ComparedCell struct {
	Present bool     `json:"present"`
	Value   any      `json:"value,omitempty" doc:"Of an artifact: artifact_id, sha256, size_bytes and type. NaN and the infinities are words"`
	Changed bool     `json:"changed" doc:"It differs from the baseline"`
	Delta   *float64 `json:"delta,omitempty" doc:"Difference from the baseline, for numbers"`
	Best    bool     `json:"best,omitempty"`
}

// ComparedCurves are the curves of one metric of several executions.
type ComparedCurves struct {
	Metric  string          `json:"metric"`
	Axis    string          `json:"axis" enum:"step,time,relative"`
	Curves  []ComparedCurve `json:"curves"`
	Of      int             `json:"of" doc:"Number of curves that match; at most 200 are returned"`
	Partial bool            `json:"partial" doc:"True if ClickHouse is unavailable, so that earlier points are missing"`
}

// ComparedCurve is a curve of a metric.
type ComparedCurve struct {
	ExecutionID uuid.UUID         `json:"execution_id"`
	Node        string            `json:"node"`
	Attempt     int               `json:"attempt"`
	Tags        map[string]string `json:"tags,omitempty"`
	X           []float64         `json:"x" doc:"Steps; for time, seconds since 1970, and for relative time, since the execution began"`
	Y           []float64         `json:"y" doc:"The lowest and the highest value of each part of the axis"`
}
