package contract

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// LogLineBody is one line of a log.
type LogLineBody struct {
	Cursor    string          `json:"cursor"`
	Timestamp time.Time       `json:"timestamp"`
	Node      string          `json:"node"`
	Attempt   int             `json:"attempt"`
	Stream    string          `json:"stream" doc:"Stream: stdout, stderr, sdk or system"`
	Level     string          `json:"level"`
	Message   string          `json:"message"`
	Fields    json.RawMessage `json:"fields,omitempty"`
	Pod       string          `json:"pod_name,omitempty" doc:"Pod name; absent if the attempt has no pod"`
	Machine   string          `json:"node_name,omitempty" doc:"Machine that the attempt runs on"`
}

// LogHits are lines of the logs of many executions, newest first.
type LogHits struct {
	Lines    []LogHit  `json:"lines"`
	From     time.Time `json:"from" doc:"Start of the search: only executions launched since then were searched"`
	NextPage string    `json:"next_page,omitempty"`
	Partial  bool      `json:"partial" doc:"True if ClickHouse is unavailable; the response contains only lines on the server's disk, from all executions of the project"`
	Newest   bool      `json:"newest_only" doc:"True if only the newest lines on the server's disk were searched, because there are too many"`
	Bare     bool      `json:"bare" doc:"True if lines have no numbers and no context, because the logs are too long"`
}

// LogHit is a line with the lines around it.
type LogHit struct {
	ExecutionID uuid.UUID       `json:"execution_id"`
	Execution   string          `json:"execution,omitempty" doc:"Name of the execution or of its workflow"`
	Node        string          `json:"node"`
	Attempt     int             `json:"attempt"`
	Stream      string          `json:"stream" doc:"Stream: stdout, stderr, sdk or system"`
	Line        int             `json:"line,omitempty" doc:"Line number in the attempt's log, counted from 1"`
	Timestamp   time.Time       `json:"timestamp"`
	Level       string          `json:"level"`
	Message     string          `json:"message"`
	Fields      json.RawMessage `json:"fields,omitempty" doc:"Fields that the task logged with the message"`
	Before      []LogContext    `json:"before,omitempty" doc:"The two preceding lines"`
	After       []LogContext    `json:"after,omitempty" doc:"The two following lines"`
}

// LogContext is a line around a found one.
type LogContext struct {
	Line    int    `json:"line"`
	Level   string `json:"level"`
	Message string `json:"message"`
}
