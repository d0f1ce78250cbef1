package workflow

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/flowforge/flowforge/engine/expression"
	"github.com/flowforge/flowforge/platform/units"
)

// Sensor makes an operator wait until something has happened. It holds nothing while it waits. An
// operator with HTTP, SQL or Object polls: each poll is an attempt. The engine itself waits for a time
// and looks at executions, so those sensors have no attempts.
type Sensor struct {
	Until     string            // a time, with tags; "": none
	Execution *WatchedExecution // nil: none
	Object    *WatchedObject    // nil: none

	Interval time.Duration // from the end of a poll to the next one
	Factor   float64       // of the interval after each poll
	Longest  time.Duration // limit of the growing interval
	Timeout  time.Duration // from the beginning of the wait
	SkipLate bool          // after the timeout the operator is skipped; otherwise it fails
}

// WatchedObject is an object in the bucket of a connection of kind s3. Key and Prefix can have tags.
type WatchedObject struct {
	Connection string // the input with the connection
	Bucket     string // "": that of the connection
	Key        string
	Prefix     string // instead of Key: any object whose key begins with it
}

// WatchedExecution is an execution of the same project: one with an ID, or the first one of a workflow
// that was launched since a time. ID and Since can have tags.
type WatchedExecution struct {
	ID       string
	Workflow string
	Since    string // "": since the launch of the execution that waits
	State    string // in which it must end; one of WatchedStates
}

// AnyEnd accepts an execution that has ended in any state.
const AnyEnd = "ENDED"

// WatchedStates are the states for which a sensor can wait.
func WatchedStates() []string { return []string{"SUCCEEDED", "FAILED", "CANCELLED", AnyEnd} }

// Outputs of sensors besides those of the request.
const (
	SensorPolls     = "polls"
	SensorValue     = "value"
	SensorRow       = "row"
	SensorTime      = "time"
	SensorExecution = "execution"
	SensorState     = "state"
	SensorOutputs   = "outputs"
)

const (
	defaultSensorInterval = 30 * time.Second
	defaultSensorLongest  = 10 * time.Minute
	defaultSensorTimeout  = 24 * time.Hour
	minSensorInterval     = time.Second
	maxSensorFactor       = 10
	// defaultPollTimeout bounds one poll whose operator sets no timeout.
	defaultPollTimeout = time.Minute
	maxObjectKey       = 1024
	s3Connection       = "s3"
)

// Pause is the time from the end of the n-th poll to the next one.
func (s *Sensor) Pause(n int) time.Duration {
	grown := float64(s.Interval) * math.Pow(s.Factor, float64(n-1))
	return time.Duration(min(grown, float64(max(s.Longest, s.Interval))))
}

// Polls reports whether o polls by attempts.
func (o *Operator) Polls() bool { return o.Type == TypeSensor && !o.Awaits() }

// Awaits reports whether o is a sensor without attempts, for which the engine watches.
func (o *Operator) Awaits() bool {
	return o.Type == TypeSensor && o.Sensor != nil && (o.Sensor.Until != "" || o.Sensor.Execution != nil)
}

// Runs reports whether o has attempts.
func (o *Operator) Runs() bool { return o.Type.Runs() && !o.Awaits() }

// sensorText is what the sensor waits for, for people to read.
func (o *Operator) sensorText() string {
	s := o.Sensor
	switch {
	case o.HTTP != nil:
		return o.HTTP.Text()
	case o.SQL != nil:
		return o.SQL.Query
	case s.Object != nil && s.Object.Prefix != "":
		return "Object with the prefix " + s.Object.Prefix
	case s.Object != nil:
		return "Object " + s.Object.Key
	case s.Until != "":
		return "Time " + s.Until
	case s.Execution != nil && s.Execution.ID != "":
		return fmt.Sprintf("Execution %s in state %s", s.Execution.ID, s.Execution.State)
	case s.Execution != nil:
		return fmt.Sprintf("Execution of %s in state %s", s.Execution.Workflow, s.Execution.State)
	}
	return ""
}

// SensorText is what a sensor waits for and how it polls, for people to read.
func (o *Operator) SensorText() string {
	s := o.Sensor
	lines := []string{o.sensorText(), ""}
	if s.Until == "" {
		lines = append(lines, "Interval: "+units.Compact(s.Interval))
	}
	return strings.Join(append(lines, "Timeout: "+units.Compact(s.Timeout)), "\n")
}

type sensorJSON struct {
	HTTP      *httpJSON      `json:"http,omitempty"`
	SQL       *sqlJSON       `json:"sql,omitempty"`
	Object    *objectJSON    `json:"object,omitempty"`
	Until     string         `json:"until,omitempty"`
	Execution *executionJSON `json:"execution,omitempty"`
	Interval  string         `json:"interval"`
	Factor    float64        `json:"factor"`
	Longest   string         `json:"max_interval"`
	Timeout   string         `json:"timeout"`
	OnTimeout string         `json:"on_timeout,omitempty"`
}

type objectJSON struct {
	Connection string `json:"connection"`
	Bucket     string `json:"bucket,omitempty"`
	Key        string `json:"key,omitempty"`
	Prefix     string `json:"prefix,omitempty"`
}

type executionJSON struct {
	ID       string `json:"id,omitempty"`
	Workflow string `json:"workflow,omitempty"`
	Since    string `json:"since,omitempty"`
	State    string `json:"state"`
}

// Values of on_timeout.
const (
	onTimeoutFail = "fail"
	onTimeoutSkip = "skip"
)

func (o *Operator) wireSensor() *sensorJSON {
	s := o.Sensor
	if s == nil {
		return nil
	}
	out := &sensorJSON{
		HTTP: o.HTTP.wire(), SQL: o.SQL.wire(), Until: s.Until, Interval: units.Compact(s.Interval), Factor: s.Factor,
		Longest: units.Compact(s.Longest), Timeout: units.Compact(s.Timeout),
	}
	if b := s.Object; b != nil {
		out.Object = &objectJSON{b.Connection, b.Bucket, b.Key, b.Prefix}
	}
	if e := s.Execution; e != nil {
		out.Execution = &executionJSON{e.ID, e.Workflow, e.Since, e.State}
	}
	if s.SkipLate {
		out.OnTimeout = onTimeoutSkip
	}
	return out
}

// ParseTime reads a time for which a sensor waits: with a zone, without one in UTC, or a date.
func ParseTime(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time. Write it as 2026-01-31T06:00:00Z, or as a date, which means midnight UTC", shorten(text, 60))
}

// FillText replaces the tags of a text of a sensor with values.
func FillText(text string, values map[string]any) (string, error) {
	parsed, err := expression.ParseText(text)
	if err != nil {
		return "", err
	}
	return parsed.Fill(func(tag *expression.Expression) (string, error) {
		v, err := tag.Value(values)
		if err != nil {
			return "", err
		}
		switch v := v.(type) {
		case string:
			return v, nil
		case bool, int64, float64:
			return fmt.Sprint(v), nil
		}
		return "", fmt.Errorf("the tag {{%s}} has no value that can be part of a text", tag)
	})
}

// FillTime replaces the tags of a text and reads the time that it then is.
func FillTime(text string, values map[string]any) (time.Time, error) {
	filled, err := FillText(text, values)
	if err != nil {
		return time.Time{}, err
	}
	return ParseTime(strings.TrimSpace(filled))
}
