// Package telemetry stores the log lines and metric points of tasks, and one row of
// facts per execution. Appended records are durable in a spool on disk before the call
// returns, and move to ClickHouse in the background; readers see both, so a line can be
// read at once and while ClickHouse is down.
package telemetry

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// LogLine is one line of a log. Execution, node index, attempt, stream and
// sequence are its identity: a line that is appended again is dropped.
type LogLine struct {
	TenantID    uuid.UUID       `json:"tenant_id"`
	ProjectID   uuid.UUID       `json:"project_id"`
	ExecutionID uuid.UUID       `json:"execution_id"`
	NodeIndex   int             `json:"node_index"`
	Node        string          `json:"node"`
	Attempt     int             `json:"attempt"`
	Stream      string          `json:"stream"`   // stdout, stderr, sdk or system
	Seq         int64           `json:"sequence"` // grows within a stream of an attempt
	Time        time.Time       `json:"timestamp"`
	Level       string          `json:"level"` // DEBUG, INFO, WARN or ERROR
	Message     string          `json:"message"`
	Fields      json.RawMessage `json:"extra,omitempty"` // a JSON object, or nothing
	Pod         string          `json:"pod_name,omitempty"`
	Machine     string          `json:"node_name,omitempty"`

	origin
}

// origin is the position of a line that was read: its spool, its position there, and
// the progress of the reader.
type origin struct {
	writer   uint64
	position uint64
	marks    marks // of the reader; shared by its lines
	live     bool  // read from new lines, not from the history
}

// Cursor is the position after the line: Tail continues there. It is "" for a line that
// was not read from a log.
func (l *LogLine) Cursor() Cursor {
	if l.marks == nil {
		return ""
	}
	if !l.live {
		key := keyOf(l)
		return logPosition{Key: &key, Marks: l.marks}.cursor()
	}
	m := l.marks.clone()
	m[l.writer] = l.position
	return logPosition{Marks: m}.cursor()
}

// Kinds of metrics. The value of a counter is its running total, as the task
// sends it; a histogram's values are its observations.
const (
	Gauge     = "gauge"
	Counter   = "counter"
	Histogram = "histogram"
)

// Point is one value of a metric. Execution, node index, attempt, name and
// sequence are its identity.
type Point struct {
	TenantID    uuid.UUID         `json:"tenant_id"`
	ProjectID   uuid.UUID         `json:"project_id"`
	ExecutionID uuid.UUID         `json:"execution_id"`
	NodeIndex   int               `json:"node_index"`
	Node        string            `json:"node"`
	Attempt     int               `json:"attempt"`
	Seq         int64             `json:"sequence"`
	Name        string            `json:"name"`
	Kind        string            `json:"type"` // gauge, counter or histogram
	Step        *int64            `json:"step,omitempty"`
	Value       float64           `json:"value"`
	Time        time.Time         `json:"timestamp"`
	Tags        map[string]string `json:"tags,omitempty"`
}

// Fact is the report of one ended execution. When an execution has several, the latest
// one applies.
type Fact struct {
	TenantID         uuid.UUID  `json:"tenant_id"`
	ProjectID        uuid.UUID  `json:"project_id"`
	ExecutionID      uuid.UUID  `json:"execution_id"`
	WorkflowID       uuid.UUID  `json:"workflow_id"`
	WorkflowName     string     `json:"workflow_name"`
	Version          string     `json:"version"`
	Status           string     `json:"status"`
	SubmittedBy      string     `json:"submitted_by"`
	CreatedAt        time.Time  `json:"created_at"`
	StartedAt        *time.Time `json:"started_at,omitempty"`
	FinishedAt       time.Time  `json:"finished_at"`
	CPUMillis        int64      `json:"total_cpu_ms"`        // CPU time of all attempts
	MemoryMiBSeconds int64      `json:"total_memory_mb_sec"` // peak memory × duration, summed
	Total            int        `json:"total_tasks"`
	Succeeded        int        `json:"succeeded_tasks"`
	Failed           int        `json:"failed_tasks"`
	Skipped          int        `json:"skipped_tasks"`
	Cancelled        int        `json:"cancelled_tasks"`
}

// lineKey is the order in which a log is read.
type lineKey struct {
	Time    int64 // Unix microseconds
	Node    int
	Attempt int
	Stream  string
	Seq     int64
}

func keyOf(l *LogLine) lineKey {
	return lineKey{l.Time.UnixMicro(), l.NodeIndex, l.Attempt, l.Stream, l.Seq}
}

// lineID identifies a line within an execution.
type lineID struct {
	node    int
	attempt int
	stream  string
	seq     int64
}

func idOf(l *LogLine) lineID { return lineID{l.NodeIndex, l.Attempt, l.Stream, l.Seq} }
