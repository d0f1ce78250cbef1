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
	Default   bool      `json:"default" doc:"It opens instead of the list of all executions of the project"`
	Where     string    `json:"where" doc:"Conditions, such as: lr > 0.01 and tag:baseline"`
	Sort      string    `json:"sort" doc:"Name to sort by; with - before it, the greatest first"`
	Columns   []string  `json:"columns"`
	Group     string    `json:"group" doc:"Name whose values group the executions"`
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
	Columns []string `json:"columns,omitempty" maxItems:"100" nullable:"false"`
	Group   string   `json:"group,omitempty" maxLength:"300"`
}

// ViewChange changes a view. What it leaves out stays.
type ViewChange struct {
	Name      *string    `json:"name,omitempty" maxLength:"80" minLength:"1"`
	Sharing   *string    `json:"sharing,omitempty" enum:"private,project"`
	Where     *string    `json:"where,omitempty" maxLength:"4000"`
	Sort      *string    `json:"sort,omitempty" maxLength:"300"`
	Columns   *[]string  `json:"columns,omitempty" maxItems:"100" nullable:"false"`
	Group     *string    `json:"group,omitempty" maxLength:"300"`
	UpdatedAt *time.Time `json:"updated_at,omitempty" doc:"updated_at of the view that the change is based on: if it has changed since, the answer is 409. Without it, the change replaces any state"`
}

// GroupStats sum up the numbers of a column in a group.
type GroupStats struct {
	Count  int      `json:"count" doc:"Executions that have a number"`
	Min    float64  `json:"min"`
	Max    float64  `json:"max"`
	Mean   float64  `json:"mean"`
	Median float64  `json:"median"`
	Sum    float64  `json:"sum"`
	Best   *float64 `json:"best,omitempty" doc:"Of metrics: max, or min of those that improve as they decrease, by their names"`
}

// ExecutionGroup are the executions that have one value in common.
type ExecutionGroup struct {
	Value      any                   `json:"value" doc:"A number or a text; null for the executions without one"`
	Executions int                   `json:"executions"`
	Where      string                `json:"where" doc:"The condition of the group"`
	Columns    map[string]GroupStats `json:"columns" doc:"By the full names of columns with numbers"`
}

// ExecutionGroups are the groups of a query, the largest first.
type ExecutionGroups struct {
	Group  string           `json:"group" doc:"Full name"`
	Groups []ExecutionGroup `json:"groups"`
	Total  int              `json:"total" doc:"All groups; the answer has at most 50"`
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
	Seconds *float64 `json:"seconds,omitempty" doc:"How long it ran, or has run so far"`
}

// GridNodes is a node over the executions of a grid.
type GridNodes struct {
	Name          string      `json:"name"`
	MedianSeconds *float64    `json:"median_seconds,omitempty" doc:"Of the successful ones"`
	Executions    []*GridNode `json:"executions" doc:"In the order of the executions; null where the plan has no such node"`
}

// WorkflowGrid has the nodes of several executions of a workflow side by side.
type WorkflowGrid struct {
	Executions []GridExecution `json:"executions" doc:"Newest first"`
	Nodes      []GridNodes     `json:"nodes" doc:"In the order of the newest plan"`
	More       bool            `json:"more_nodes" doc:"The plans have further nodes: ask with a greater first"`
	NextPage   string          `json:"next_page,omitempty"`
}
