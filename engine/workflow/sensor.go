package workflow

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/engine/expression"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
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

// Text is what the sensor waits for, for people to read.
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

// sensor reads the section of a sensor. Its request or statement becomes that of the operator.
func (p *parser) sensor(parent *object, op *Operator) {
	v, at, _ := parent.get("sensor")
	o := p.object(v, at)
	if o == nil {
		return
	}
	defer o.finish()
	if op.HTTP != nil || op.SQL != nil {
		o.add(at, "Move http and sql into this section, which says what the sensor waits for.")
		op.HTTP, op.SQL = nil, nil
	}
	s := &Sensor{
		Until: strings.TrimSpace(o.text(maxExpression, "until")), Object: p.watchedObject(o), Execution: p.watchedExecution(o),
		Interval: o.duration(defaultSensorInterval, "interval"), Factor: o.fraction(1, 1, maxSensorFactor, "factor"),
		Longest: o.duration(defaultSensorLongest, "max_interval"), Timeout: o.duration(defaultSensorTimeout, "timeout"),
	}
	op.Sensor = s
	forms := 0
	if request := p.http(o); request != nil {
		op.HTTP, forms = request, forms+1
	}
	if statement := p.sql(o); statement != nil {
		op.SQL, forms = statement, forms+1
	}
	for _, given := range []bool{s.Object != nil, s.Until != "", s.Execution != nil} {
		if given {
			forms++
		}
	}
	if forms != 1 {
		o.add(at, "Set what the sensor waits for: one of http, sql, object, until and execution.")
	}
	switch late := o.text(20, "on_timeout"); late {
	case "", onTimeoutFail:
	case onTimeoutSkip:
		s.SkipLate = true
	default:
		o.add(o.at("on_timeout"), "Use fail or skip.")
	}
	if s.Interval < minSensorInterval {
		o.add(o.at("interval"), "Set an interval of at least %s.", units.Compact(minSensorInterval))
	}
	if _, _, set := o.get("max_interval"); set && s.Longest < s.Interval {
		o.add(o.at("max_interval"), "This is shorter than the interval of %s.", units.Compact(s.Interval))
	}
	s.Longest = max(s.Longest, s.Interval)
	if s.Timeout < time.Second {
		o.add(o.at("timeout"), "Set a timeout of at least 1s.")
	}
}

func (p *parser) watchedObject(parent *object) *WatchedObject {
	v, at, _ := parent.get("object")
	o := p.object(v, at)
	if o == nil {
		return nil
	}
	defer o.finish()
	b := &WatchedObject{Connection: o.text(100, "connection"), Bucket: o.text(200, "bucket"), Key: o.text(maxObjectKey, "key"), Prefix: o.text(maxObjectKey, "prefix")}
	if (b.Key == "") == (b.Prefix == "") {
		o.add(at, "Set the key of the object, or the prefix of its key.")
	}
	return b
}

func (p *parser) watchedExecution(parent *object) *WatchedExecution {
	v, at, _ := parent.get("execution")
	o := p.object(v, at)
	if o == nil {
		return nil
	}
	defer o.finish()
	e := &WatchedExecution{ID: strings.TrimSpace(o.text(maxExpression, "id")), Workflow: o.text(200, "workflow"), Since: strings.TrimSpace(o.text(maxExpression, "since")), State: o.text(20, "state")}
	if (e.ID == "") == (e.Workflow == "") {
		o.add(at, "Set the id of the execution, or the workflow whose next execution is awaited.")
	}
	if e.ID != "" && e.Since != "" {
		o.add(o.at("since"), "An execution with an ID exists already; remove since.")
	}
	if e.State == "" {
		e.State = "SUCCEEDED"
	}
	if !slices.Contains(WatchedStates(), e.State) {
		o.add(o.at("state"), "Use one of %s.", strings.Join(WatchedStates(), ", "))
	}
	return e
}

func checkSensor(c *sectionCheck) {
	c.refuseCode()
	op := c.op
	if op.Sensor == nil {
		c.add(c.path+".sensor", "Set what the operator waits for: sensor: {http: {url: …}}, or sql, object, until or execution.")
		return
	}
	at := c.path + ".sensor"
	switch {
	case op.HTTP != nil && (op.HTTP.Pages != nil || op.HTTP.Again != nil):
		c.add(at+".http", "A sensor sends one request at each poll; remove pages and retry.")
	case op.SQL != nil && !op.SQL.ReadOnly:
		c.add(at+".sql.read_only", "The statement of a sensor is repeated, so it can only read.")
	}
	if op.Cache != nil {
		c.add(c.path+".cache", "The result of a sensor depends on the time, so it cannot be cached.")
	}
	if op.Resources.Pods > 1 {
		c.add(c.path+".resources.pods", "A sensor polls from one place; remove pods.")
	}
	switch {
	case op.Awaits() && op.Timeout > 0:
		c.add(c.path+".timeout", "This sensor runs no attempts, which timeout would limit. Set sensor.timeout, which limits the wait.")
	case op.Polls() && op.Timeout == 0:
		op.Timeout = defaultPollTimeout
	}
	if op.HTTP != nil {
		c.request(at)
	}
	if op.SQL != nil && strings.TrimSpace(op.SQL.Query) == "" {
		c.add(at+".sql.query", "Set the statement to run.")
	}
	c.sensorOutputs()
}

// sensorOutputs checks the names and types of the outputs of a sensor.
func (c *sectionCheck) sensorOutputs() {
	op := c.op
	text, number, any := []typeregistry.Kind{typeregistry.KindString, typeregistry.KindText}, []typeregistry.Kind{typeregistry.KindInteger}, []typeregistry.Kind(nil)
	kinds := map[string][]typeregistry.Kind{SensorPolls: number}
	names := []string{SensorPolls}
	add := func(name string, allowed []typeregistry.Kind) { kinds[name], names = allowed, append(names, name) }
	switch {
	case op.HTTP != nil:
		status, headers := HTTPOutputs()
		add("body", any)
		add(status, number)
		add(headers, any)
	case op.SQL != nil:
		add(SensorValue, any)
		add(SensorRow, any)
	case op.Sensor.Object != nil:
		add("key", text)
		add("etag", text)
		add("uri", text)
		add("size", number)
	case op.Sensor.Until != "":
		add(SensorTime, any)
	case op.Sensor.Execution != nil:
		add(SensorExecution, text)
		add(SensorState, text)
		add(SensorOutputs, any)
	}
	for i, out := range op.Outputs {
		path := fmt.Sprintf("%s.outputs[%d]", c.path, i)
		allowed, known := kinds[out.Name]
		if !known {
			c.add(path+".name", "This sensor has the outputs %s, not %q.", strings.Join(names, ", "), shorten(out.Name, 60))
			continue
		}
		t := out.Type
		if t != nil && t.Kind == typeregistry.KindOptional {
			t = t.Elem
		}
		if t != nil && allowed != nil && !slices.Contains(allowed, t.Kind) && t.Kind != typeregistry.KindJSON {
			c.add(path+".type", "The output %s cannot have the type %s; use %s.", out.Name, out.Type, allowed[0])
		}
	}
}

// sensor checks the tags and the connection of a sensor, whose inputs are known now.
func (l *linker) sensor(op *Operator, path string) {
	s := op.Sensor
	if s == nil || op.Type != TypeSensor {
		return
	}
	path += ".sensor"
	switch {
	case s.Object != nil:
		at := path + ".object"
		in := l.connectionInput(op, s.Object.Connection, at)
		if in != nil {
			s.Object.Connection = in.Name
			if in.Type != nil && (in.Type.Kind != typeregistry.KindConnection || in.Type.Params.Connection != s3Connection) {
				l.add(at+".connection", "The input %s has the type %s; use Connection<s3>.", in.Name, in.Type)
			}
		}
		names := valueNames(op, s.Object.Connection)
		l.httpTags(op, s.Object.Key, at+".key", names, false)
		l.httpTags(op, s.Object.Prefix, at+".prefix", names, false)
	case s.Until != "":
		l.httpTags(op, s.Until, path+".until", valueNames(op, ""), false)
		if !strings.Contains(s.Until, "{{") {
			if _, err := ParseTime(s.Until); err != nil {
				l.add(path+".until", "%s", err)
			}
		}
	case s.Execution != nil:
		l.httpTags(op, s.Execution.ID, path+".execution.id", valueNames(op, ""), false)
		l.httpTags(op, s.Execution.Since, path+".execution.since", valueNames(op, ""), false)
	}
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
