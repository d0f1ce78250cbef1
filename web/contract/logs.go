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
	Stream    string          `json:"stream" doc:"stdout, stderr, sdk or system"`
	Level     string          `json:"level"`
	Message   string          `json:"message"`
	Fields    json.RawMessage `json:"fields,omitempty"`
	Pod       string          `json:"pod_name,omitempty" doc:"Absent without a pod"`
	Machine   string          `json:"node_name,omitempty" doc:"Machine of the attempt"`
}

// LogHits are lines of the logs of many executions, the latest first.
type LogHits struct {
	Lines    []LogHit  `json:"lines"`
	From     time.Time `json:"from" doc:"Only executions launched since then were searched"`
	NextPage string    `json:"next_page,omitempty"`
	Partial  bool      `json:"partial" doc:"True if ClickHouse does not answer: the lines are those that the server has on disk, of all executions of the project"`
	Newest   bool      `json:"newest_only" doc:"True if the server has so many lines on disk that only the newest of them were searched"`
	Bare     bool      `json:"bare" doc:"True if lines have no numbers and no context because their logs are too long"`
}

// LogHit is a line with the lines around it.
type LogHit struct {
	ExecutionID uuid.UUID    `json:"execution_id"`
	Execution   string       `json:"execution,omitempty" doc:"Name of the execution, or of its workflow"`
	Node        string       `json:"node"`
	Attempt     int          `json:"attempt"`
	Stream      string       `json:"stream" doc:"stdout, stderr, sdk or system"`
	Line        int          `json:"line,omitempty" doc:"Number of the line in the log of its attempt, from 1"`
	Timestamp   time.Time    `json:"timestamp"`
	Level       string       `json:"level"`
	Message     string       `json:"message"`
	Before      []LogContext `json:"before,omitempty" doc:"The two lines before it"`
	After       []LogContext `json:"after,omitempty" doc:"The two lines after it"`
}

// LogContext is a line around a found one.
type LogContext struct {
	Line    int    `json:"line"`
	Level   string `json:"level"`
	Message string `json:"message"`
}
