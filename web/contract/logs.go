package contract

import (
	"encoding/json"
	"time"
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
