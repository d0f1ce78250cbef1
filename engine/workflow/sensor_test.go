package workflow

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/typeregistry"
)

const sensorDefinition = `
name: w
version: 1.0.0
inputs: [{name: day, type: Date}, {name: store, type: Connection<s3>}, {name: db, type: Connection<postgres>}]
operators:
- name: a
  type: sensor
  inputs: [{name: day, from: inputs.day}, {name: store, from: inputs.store}, {name: db, from: inputs.db}]
`

func TestSensor(t *testing.T) {
	t.Parallel()
	v := mustParse(t, strings.Replace(sensorDefinition, ", {name: store, from: inputs.store}, {name: db, from: inputs.db}", "", 1)+`
  outputs: [{name: body, type: JSON}, {name: polls, type: Integer}]
  sensor: {http: {url: "https://example.com/{{day}}", condition: body.ready}, interval: 10s, factor: 2, max_interval: 1m, timeout: 2h, on_timeout: skip}
`)
	op := &v.Operators[0]
	require.True(t, op.Polls() && op.Runs() && op.Sensor.SkipLate)
	require.Equal(t, time.Minute, op.Timeout, "of one poll")
	require.Equal(t, []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, time.Minute}, []time.Duration{op.Sensor.Pause(1), op.Sensor.Pause(2), op.Sensor.Pause(3), op.Sensor.Pause(40)})

	v = mustParse(t, sensorDefinition+`
  sensor: {until: "{{day}}T06:00:00Z"}
`)
	op = &v.Operators[0]
	require.True(t, op.Awaits() && !op.Runs())
	at, err := FillTime(op.Sensor.Until, map[string]any{"day": "2026-03-01"})
	require.NoError(t, err)
	require.Equal(t, time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC), at)
	for _, section := range []string{
		`{object: {connection: store, key: "in/{{day}}.csv"}, timeout: 6h}`, `{sql: {connection: db, query: "SELECT count(*) FROM t WHERE day = @day"}}`,
		`{execution: {workflow: prepare, since: "{{day}}"}}`,
	} {
		d := mustParse(t, sensorDefinition+"  sensor: "+section)
		canonical, _, err := d.Canonical()
		require.NoError(t, err)
		again, _, err := mustParse(t, string(canonical)).Canonical()
		require.NoError(t, err)
		require.Equal(t, string(canonical), string(again))
	}
}

func TestSensorProblems(t *testing.T) {
	t.Parallel()
	for section, want := range map[string]string{
		`  sensor: {interval: 10s}`: "operators[0].sensor: Set what the sensor waits for: one of http, sql, object, until and execution.",
		`  sensor: {until: "2026-01-01", http: {url: "https://example.com/"}}`:             "operators[0].sensor: Set what the sensor waits for",
		`  sensor: {until: tomorrow}`:                                                      `operators[0].sensor.until: "tomorrow" is not a time.`,
		`  sensor: {until: "{{nothing}}"}`:                                                 `operators[0].sensor.until: "nothing" is not an input of the operator.`,
		`  sensor: {until: "{{day}}"}` + "\n  timeout: 5s":                                 "operators[0].timeout: This sensor runs no attempts",
		`  sensor: {http: {connection: none, url: "/x"}}`:                                  `operators[0].sensor.http.connection: The operator has no input called "none".`,
		`  sensor: {http: {url: "https://example.com/", retry: {status: [503]}}}`:          "operators[0].sensor.http: A sensor sends one request",
		`  sensor: {sql: {connection: db, query: "DELETE FROM t", read_only: false}}`:      "operators[0].sensor.sql.read_only: The statement of a sensor is repeated",
		`  sensor: {sql: {connection: db, query: "SELECT @missing"}}`:                      `operators[0].sensor.sql.query: The query has the parameter "missing"`,
		`  sensor: {object: {connection: db, key: x}}`:                                     "operators[0].sensor.object.connection: The input db has the type Connection(kind=\"postgres\"); use Connection<s3>.",
		`  sensor: {object: {connection: store}}`:                                          "operators[0].sensor.object: Set the key of the object",
		`  sensor: {execution: {workflow: w, state: DONE}}`:                                "operators[0].sensor.execution.state: Use one of SUCCEEDED",
		`  sensor: {until: "2026-01-01", interval: 10ms}`:                                  "operators[0].sensor.interval: Set an interval of at least 1s.",
		`  sensor: {until: "2026-01-01", on_timeout: retry}`:                               "operators[0].sensor.on_timeout: Use fail or skip.",
		`  sensor: {until: "2026-01-01"}` + "\n  cache: true":                              "operators[0].cache:",
		`  sensor: {until: "2026-01-01"}` + "\n  outputs: [{name: body, type: JSON}]":      `operators[0].outputs[0].name: This sensor has the outputs polls, time, not "body".`,
		`  sensor: {until: "2026-01-01"}` + "\n  outputs: [{name: polls, type: String}]":   "operators[0].outputs[0].type: The output polls cannot have the type String; use Integer.",
		`  http: {url: "https://example.com/"}` + "\n" + `  sensor: {until: "2026-01-01"}`: "operators[0].sensor: Move http and sql into the sensor section",
		``: "operators[0].sensor: Set what the operator waits for",
	} {
		_, faults := Parse([]byte(sensorDefinition+section), typeregistry.Builtin())
		var found []string
		for _, f := range faults {
			found = append(found, f.Path+": "+f.Message)
		}
		problems := strings.Join(found, "\n")
		require.Contains(t, problems, want, section)
	}
}
