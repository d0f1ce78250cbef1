package contract

import (
	"time"

	"github.com/google/uuid"
)

// ViewBody is a saved view of the table of executions.
type ViewBody struct {
	ID        uuid.UUID `json:"id"`
	Name      string    `json:"name"`
	Sharing   string    `json:"sharing" enum:"private,project"`
	Default   bool      `json:"default" doc:"True if the view is the project's default"`
	Where     string    `json:"where" doc:"Conditions, such as: lr > 0.01 and tag:baseline"`
	Sort      string    `json:"sort" doc:"Name to sort by; prefix with - for descending order"`
	Columns   []string  `json:"columns" doc:"Names of columns, and charts such as metrics.loss~chart"`
	Group     string    `json:"group" doc:"Name to group the executions by"`
	CreatedBy string    `json:"created_by"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedBy string    `json:"updated_by"`
	UpdatedAt time.Time `json:"updated_at"`
	URL       string    `json:"ui_url"`
}

// ViewList are the views of a project.
type ViewList struct {
	Views []ViewBody `json:"views"`
}

// ViewInput is a view to save.
type ViewInput struct {
	Name    string   `json:"name" maxLength:"80" minLength:"1"`
	Sharing string   `json:"sharing,omitempty" enum:"private,project" default:"private"`
	Where   string   `json:"where,omitempty" maxLength:"4000"`
	Sort    string   `json:"sort,omitempty" maxLength:"300"`
	Columns []string `json:"columns,omitempty" maxItems:"100" nullable:"false" doc:"Names of columns, and charts such as metrics.loss~chart"`
	Group   string   `json:"group,omitempty" maxLength:"300"`
}

// ViewChange changes a view. What it leaves out stays.
type ViewChange struct {
	Name      *string    `json:"name,omitempty" maxLength:"80" minLength:"1"`
	Sharing   *string    `json:"sharing,omitempty" enum:"private,project"`
	Where     *string    `json:"where,omitempty" maxLength:"4000"`
	Sort      *string    `json:"sort,omitempty" maxLength:"300"`
	Columns   *[]string  `json:"columns,omitempty" maxItems:"100" nullable:"false" doc:"Names of columns, and charts such as metrics.loss~chart"`
	Group     *string    `json:"group,omitempty" maxLength:"300"`
	UpdatedAt *time.Time `json:"updated_at,omitempty" doc:"updated_at of the view that the change is based on. If the view has changed since, the request fails with 409. If absent, the change overwrites any state"`
}

// GroupStats sum up the numbers of a column in a group.
type GroupStats struct {
	Count  int      `json:"count" doc:"Number of executions with a numeric value"`
	Min    float64  `json:"min"`
	Max    float64  `json:"max"`
	Mean   float64  `json:"mean"`
	Median float64  `json:"median"`
	Sum    float64  `json:"sum"`
	Best   *float64 `json:"best,omitempty" doc:"Best value of a metric: max, or min for metrics that improve as they decrease, judging by the name"`
}

// ExecutionGroup are the executions that have one value in common.
type ExecutionGroup struct {
	Value      any                   `json:"value" doc:"Group value, a number or string; null for executions without a value"`
	Executions int                   `json:"executions"`
	Where      string                `json:"where" doc:"Query condition that selects the group"`
	Columns    map[string]GroupStats `json:"columns" doc:"Statistics, by full name of numeric columns"`
}

// ExecutionGroups are the groups of a query, the largest first.
type ExecutionGroups struct {
	Group  string           `json:"group" doc:"Full name of the grouping"`
	Groups []ExecutionGroup `json:"groups"`
	Total  int              `json:"total" doc:"Total number of groups; a response contains up to 50"`
}

// GridExecution is a column of the grid of a workflow.
type GridExecution struct {
	ExecutionID uuid.UUID  `json:"execution_id"`
	Name        string     `json:"name"`
	Version     string     `json:"version"`
	Status      string     `json:"status"`
	CreatedAt   time.Time  `json:"created_at"`
	StartedAt   *time.Time `json:"started_at,omitempty"`
	FinishedAt  *time.Time `json:"finished_at,omitempty"`
}

// GridNode is a node in one execution.
type GridNode struct {
	State   string   `json:"state"`
	Seconds *float64 `json:"seconds,omitempty" doc:"Duration, or duration so far"`
}

// GridNodes is a node over the executions of a grid.
type GridNodes struct {
	Name          string      `json:"name"`
	MedianSeconds *float64    `json:"median_seconds,omitempty" doc:"Median duration of successful nodes"`
	Executions    []*GridNode `json:"executions" doc:"Nodes in the order of executions; null if the plan does not have the node"`
}

// WorkflowGrid has the nodes of several executions of a workflow side by side.
type WorkflowGrid struct {
	Executions []GridExecution `json:"executions" doc:"Executions, newest first"`
	Nodes      []GridNodes     `json:"nodes" doc:"Nodes, in the order of the newest plan"`
	More       bool            `json:"more_nodes" doc:"True if there are more nodes; request them with a greater first"`
	NextPage   string          `json:"next_page,omitempty"`
}
