// Package contract contains the requests and responses of the JSON API that programs in Go
// share with the server: package handlers/api fills them, and the command line reads them.
// docs/openapi.json describes them, so their names and their tags are public.
package contract

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// LaunchBody describes what to launch.
type LaunchBody struct {
	WorkflowID     string          `json:"workflow_id,omitempty" doc:"Workflow ID or name" maxLength:"200"`
	Workflow       string          `json:"workflow,omitempty" doc:"Workflow name; an alternative to workflow_id" maxLength:"200"`
	Version        string          `json:"version,omitempty" doc:"Semantic version; defaults to the latest" maxLength:"100"`
	Name           string          `json:"name,omitempty" doc:"Execution name" maxLength:"200"`
	Tags           []string        `json:"tags,omitempty" doc:"Tags of the execution" maxItems:"50"`
	Note           string          `json:"note,omitempty" doc:"Note of the execution" maxLength:"4000"`
	Preset         string          `json:"preset,omitempty" doc:"Name or ID of a workflow preset. Values in inputs override the preset" maxLength:"100"`
	Inputs         json.RawMessage `json:"inputs,omitempty" doc:"Input values by name"`
	Priority       any             `json:"priority,omitempty" doc:"LOW, NORMAL or HIGH, or a number from 0 to 100"`
	IdempotencyKey string          `json:"idempotency_key,omitempty" doc:"Alternative to the Idempotency-Key header" maxLength:"200"`
	Cache          *CacheInput     `json:"cache,omitempty" doc:"Use of cached results"`
	TTL            any             `json:"ttl,omitempty" doc:"Retention after the execution ends: a duration such as 30d, or an object with after_completion, after_success and after_failure. The definition provides the fields that are not set"`
}

// Launched is the execution that a launch or a resume started.
type Launched struct {
	ExecutionID         uuid.UUID  `json:"execution_id"`
	DagID               uuid.UUID  `json:"dag_id" doc:"ID of the workflow version whose plan runs"`
	Status              string     `json:"status"`
	Created             bool       `json:"created" doc:"False if the idempotency key was used before"`
	EstimatedCompletion *time.Time `json:"estimated_completion,omitempty" doc:"Estimated completion time; absent if there is not enough history"`
	URL                 string     `json:"ui_url"`
}

// CacheInput selects how a launch uses the cache.
type CacheInput struct {
	Mode  string            `json:"mode,omitempty" enum:"on,off,refresh" doc:"Cache mode: on reuses results and stores new ones, off does neither, refresh only stores new ones"`
	Nodes map[string]string `json:"nodes,omitempty" doc:"Cache mode of individual operators, by name"`
}

// ExecutionBody is an execution. A list leaves out its nodes.
type ExecutionBody struct {
	ExecutionID         uuid.UUID      `json:"execution_id"`
	WorkflowID          uuid.UUID      `json:"workflow_id"`
	WorkflowName        string         `json:"workflow_name"`
	Version             string         `json:"version"`
	Name                string         `json:"name,omitempty"`
	Status              string         `json:"status" enum:"PENDING,RUNNING,SUCCEEDED,FAILED,CANCELLED,PAUSED"`
	AwaitsApproval      bool           `json:"awaits_approval,omitempty" doc:"True if the status is RUNNING and the execution only waits for approvals"`
	Purpose             string         `json:"purpose,omitempty" doc:"options if the execution lists the options of an input; absent for other executions"`
	Priority            int            `json:"priority"`
	SubmittedBy         string         `json:"submitted_by"`
	Schedule            *LauncherBody  `json:"schedule,omitempty" doc:"Schedule that launched the execution; lists leave it out"`
	Trigger             *LauncherBody  `json:"trigger,omitempty" doc:"Trigger that launched the execution; lists leave it out"`
	CreatedAt           time.Time      `json:"created_at"`
	StartedAt           *time.Time     `json:"started_at,omitempty"`
	FinishedAt          *time.Time     `json:"finished_at,omitempty"`
	EstimatedCompletion *time.Time     `json:"estimated_completion,omitempty"`
	TraceID             string         `json:"trace_id,omitempty" doc:"OpenTelemetry trace of the launch"`
	SweepID             *uuid.UUID     `json:"sweep_id,omitempty" doc:"Sweep that launched the execution"`
	Sweep               *ListedSweep   `json:"sweep,omitempty" doc:"Sweep that this run represents, in a list with sweeps=grouped"`
	RelaunchOf          *uuid.UUID     `json:"relaunch_of,omitempty"`
	ResumeOf            *uuid.UUID     `json:"resume_of,omitempty" doc:"Execution that this one resumes"`
	ResumeFrom          string         `json:"resume_from,omitempty" doc:"Node that the execution was resumed from; empty for the first failures"`
	TTL                 any            `json:"ttl,omitempty" doc:"Retention after the execution ends, as set at launch"`
	ExpiresAt           *time.Time     `json:"expires_at,omitempty" doc:"Time when the execution is removed, unless a user keeps it"`
	KeptBy              string         `json:"kept_by,omitempty" doc:"User who keeps the execution beyond expires_at"`
	Progress            ProgressBody   `json:"progress"`
	Reason              *query.Reason  `json:"reason,omitempty" doc:"Reason why the execution is PENDING, if a limit delays it"`
	Error               *query.Failure `json:"error,omitempty"`
	Inputs              map[string]any `json:"inputs,omitempty"`
	Outputs             map[string]any `json:"outputs,omitempty"`
	Nodes               []NodeBody     `json:"nodes,omitempty"`
	Tags                []string       `json:"tags,omitempty"`
	Note                string         `json:"note,omitempty"`
	Values              map[string]any `json:"values,omitempty" doc:"Values of the requested columns, by path; null if absent"`
	NodesNextPage       string         `json:"nodes_next_page,omitempty" doc:"Cursor for the next nodes; pass it as page to /executions/{id}/nodes"`
}

// ListedSweep is a sweep in a list that contains one of its runs.
type ListedSweep struct {
	ID        uuid.UUID `json:"id"`
	Name      string    `json:"name"`
	State     string    `json:"state" enum:"RUNNING,PAUSED,STOPPING,SUCCEEDED,STOPPED"`
	CreatedAt time.Time `json:"created_at"`
	Runs      int       `json:"runs" doc:"Number of runs so far"`
	Matching  int       `json:"matching" doc:"Number of runs that the filters of the list select"`
}

// LauncherBody is the schedule or the trigger that launched an execution.
type LauncherBody struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
}

// ProgressBody counts the nodes of an execution by state, and its levels.
type ProgressBody struct {
	Total            int      `json:"total_operators"`
	Completed        int      `json:"completed"`
	Running          int      `json:"running"`
	AwaitingApproval int      `json:"awaiting_approval" doc:"Number of nodes that wait for an approval. Their status is RUNNING, but running excludes them"`
	Pending          int      `json:"pending"`
	Waiting          int      `json:"waiting"`
	Failed           int      `json:"failed"`
	Skipped          int      `json:"skipped"`
	Cancelled        int      `json:"cancelled"`
	Levels           int      `json:"levels"`
	LevelsDone       int      `json:"levels_completed"`
	Percent          int      `json:"percent" doc:"Percentage of nodes that have ended"`
	LayerPercent     int      `json:"layer_percent" doc:"Percentage of completed levels: 40 if 2 of 5 are complete"`
	Layer            string   `json:"layer,omitempty" doc:"Progress by layer, such as: Layer 2/5 - Executing: detect_objects"`
	CurrentNodes     []string `json:"current_nodes,omitempty"`
}

// NodeBody is a node of an execution.
type NodeBody struct {
	NodeID     int              `json:"node_id" doc:"Position in the plan"`
	Operator   string           `json:"operator"`
	Status     string           `json:"status"`
	Level      int              `json:"level"`
	Attempt    int              `json:"attempt"`
	Reason     *query.Reason    `json:"reason,omitempty" doc:"Reason for waiting"`
	Error      *query.Failure   `json:"error,omitempty"`
	Progress   *query.Progress  `json:"progress,omitempty"`
	StartedAt  *time.Time       `json:"started_at,omitempty"`
	FinishedAt *time.Time       `json:"finished_at,omitempty"`
	RetryAt    *time.Time       `json:"retry_at,omitempty"`
	Outputs    map[string]any   `json:"outputs,omitempty"`
	ParentID   *int             `json:"parent_id,omitempty" doc:"node_id of the fan-out or graph node that created this node; absent for nodes of the plan"`
	ItemIndex  *int             `json:"item_index,omitempty" doc:"Index of the fan-out item, counted from 0"`
	Item       any              `json:"item,omitempty" doc:"Fan-out item"`
	Origin     *OriginBody      `json:"origin,omitempty" doc:"Node of an earlier execution that this one continues"`
	Cache      *query.CacheNote `json:"cache,omitempty" doc:"Result of the cache lookup"`
	Children   *ChildrenBody    `json:"children,omitempty" doc:"Nodes that this node was expanded into; list them with parent="`
}

// OriginBody is the node of an earlier execution that a node continues.
type OriginBody struct {
	ExecutionID uuid.UUID `json:"execution_id"`
	Use         string    `json:"use" enum:"TAKEN,CACHED,BEFORE" doc:"Use of the earlier result. TAKEN, CACHED: the result was reused. BEFORE: the node ran again from a saved checkpoint"`
}

// ChildrenBody counts the nodes that a node was expanded into.
type ChildrenBody struct {
	Total  int            `json:"total"`
	States map[string]int `json:"states" doc:"Number of nodes in each state"`
}

// ExecutionPage is one page of executions, newest first or in the order of the request.
type ExecutionPage struct {
	Executions []ExecutionBody `json:"executions"`
	NextPage   string          `json:"next_page,omitempty"`
	Total      *int            `json:"total,omitempty" doc:"Total number of executions, for requests with where, sort or columns"`
	Behind     int             `json:"behind,omitempty" doc:"Number of executions whose latest values are not indexed yet"`
	Columns    []ColumnBody    `json:"columns,omitempty" doc:"Requested columns, in order; each execution has the values by path"`
}

// ColumnBody is a column of a table of executions, or a name that queries can use.
type ColumnBody struct {
	Path string `json:"path" doc:"Full name, such as inputs.optimizer.lr or metrics.loss.min"`
	Type string `json:"type" enum:"number,text,time,duration,tags,mixed" doc:"Type of the values; durations are in seconds; mixed means numbers and strings"`
	Help string `json:"description,omitempty"`
}

// FieldList are the names of a project.
type FieldList struct {
	Fields []ColumnBody `json:"fields"`
	Full   bool         `json:"full" doc:"True if the project has reached the maximum number of searchable names"`
}

// TagInput changes the tags and the note of executions.
type TagInput struct {
	Add    []string `json:"add,omitempty" doc:"Tags to add" maxItems:"50"`
	Remove []string `json:"remove,omitempty" doc:"Tags to remove" maxItems:"50"`
	Note   *string  `json:"note,omitempty" doc:"New note; empty removes it" maxLength:"4000"`
}

// LabelInput changes the name, the tags and the note of an execution.
type LabelInput struct {
	TagInput
	Name *string `json:"name,omitempty" doc:"New name; empty removes it" maxLength:"200"`
}

// LabelBody are the name, the tags and the note of an execution.
type LabelBody struct {
	Name string   `json:"name" doc:"Empty for an execution without a name"`
	Tags []string `json:"tags"`
	Note string   `json:"note"`
}

// BulkInput is a command for many executions.
type BulkInput struct {
	Action string      `json:"action" enum:"cancel,resume,tag,delete"`
	IDs    []uuid.UUID `json:"execution_ids" minItems:"1" maxItems:"500"`
	Reason string      `json:"reason,omitempty" doc:"Reason for cancelling" maxLength:"500"`
	TagInput
	DryRun bool `json:"dry_run,omitempty" doc:"Validate and report the effect without applying it"`
}

// BulkResult is what a command did to each execution.
type BulkResult struct {
	Done     int           `json:"done"`
	Outcomes []BulkOutcome `json:"outcomes"`
}

// BulkOutcome is what a command did to one execution.
type BulkOutcome struct {
	ExecutionID uuid.UUID  `json:"execution_id"`
	Done        bool       `json:"done"`
	Message     string     `json:"message"`
	Created     *uuid.UUID `json:"created_execution_id,omitempty" doc:"Execution that the resume launched"`
}

// NodePage is one page of nodes.
type NodePage struct {
	Nodes    []NodeBody `json:"nodes"`
	NextPage string     `json:"next_page,omitempty"`
}

// CancelInput is the reason for a command to an execution.
type CancelInput struct {
	Reason string `json:"reason,omitempty" doc:"Reason, recorded in the events" maxLength:"500"`
}

// DryRun describes what a launch would do.
type DryRun struct {
	DryRun   bool           `json:"dry_run"`
	Valid    bool           `json:"valid" doc:"True if the request is valid"`
	Errors   []apperr.Field `json:"errors,omitempty"`
	Version  string         `json:"version" doc:"Workflow version that would run"`
	Forecast ForecastBody   `json:"forecast"`
}

// ForecastBody specifies when an execution would start.
type ForecastBody struct {
	Verdict      string        `json:"verdict" enum:"now,waits,never"`
	Message      string        `json:"message"`
	Node         string        `json:"node,omitempty" doc:"Node that would wait longest or can never start"`
	Resource     string        `json:"resource,omitempty"`
	JobsAhead    int           `json:"jobs_ahead,omitempty"`
	WaitSeconds  *float64      `json:"wait_seconds,omitempty" doc:"Estimated wait; absent if there is no estimate"`
	StartsFrom   *time.Time    `json:"starts_from,omitempty"`
	StartsTo     *time.Time    `json:"starts_to,omitempty"`
	Reason       *query.Reason `json:"reason,omitempty"`
	Choices      []ChoiceBody  `json:"choices,omitempty" doc:"Alternative GPU types"`
	RunsSeconds  float64       `json:"runs_seconds,omitempty" doc:"Estimated run time once the execution has started"`
	GPUHours     float64       `json:"gpu_hours,omitempty"`
	FromAttempts int           `json:"from_attempts,omitempty" doc:"Number of earlier attempts that the estimates are based on"`
}

// ChoiceBody is the forecast for another type of GPU.
type ChoiceBody struct {
	GPUType string `json:"gpu_type"`
	Verdict string `json:"verdict" enum:"now,waits,never"`
	Message string `json:"message"`
}

// CommandInputBody is a command for one node of a live execution.
type CommandInputBody struct {
	Node    string          `json:"node" doc:"Name of the node" minLength:"1" maxLength:"2000"`
	Command string          `json:"command" enum:"hold,release,skip,succeed,retry,approve,reject" doc:"Command for the node"`
	Values  json.RawMessage `json:"values,omitempty" doc:"Outputs for succeed, or form values for approve"`
	Reason  string          `json:"reason,omitempty" doc:"Reason, recorded in the events" maxLength:"500"`
}

// QuerySuggestion is a text that can follow in a query.
type QuerySuggestion struct {
	Kind       string `json:"kind" enum:"name,operator,value,joiner"`
	Text       string `json:"text" doc:"Text that replaces the query from position from; ready for the next token"`
	Label      string `json:"label" doc:"Text without quotes and spaces"`
	Path       string `json:"path,omitempty" doc:"Full name, such as inputs.optimizer.lr"`
	Type       string `json:"type,omitempty" enum:"number,text,time,duration,mixed" doc:"Type of the name's values"`
	Help       string `json:"description,omitempty" doc:"For a name, the range or examples of its values"`
	Executions *int   `json:"executions,omitempty" doc:"Number of executions with the name or value"`
}

// QueryCompletion is what can follow in a query.
type QueryCompletion struct {
	From        int               `json:"from" doc:"Position in the query, counted from 0, from which a suggestion replaces the text"`
	Suggestions []QuerySuggestion `json:"suggestions"`
}
