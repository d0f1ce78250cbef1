package workflow

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
)

// readSensor reads the section of a sensor. Its request or statement becomes that of the operator.
func readSensor(p *parser, parent *object, op *Operator) {
	v, at, _ := parent.get("sensor")
	o := p.object(v, at)
	if o == nil {
		return
	}
	defer o.finish()
	if op.HTTP != nil || op.SQL != nil {
		o.add(at, "Move http and sql into the sensor section, which defines what the sensor waits for.")
		op.HTTP, op.SQL = nil, nil
	}
	s := &Sensor{
		Until: strings.TrimSpace(o.text(maxExpression, "until")), Object: watchedObject(p, o), Execution: watchedExecution(p, o),
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

func watchedObject(p *parser, parent *object) *WatchedObject {
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

func watchedExecution(p *parser, parent *object) *WatchedExecution {
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
		c.add(c.path+".timeout", "This sensor runs no attempts, so timeout has no effect. To limit the wait, set sensor.timeout.")
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
