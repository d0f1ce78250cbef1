package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
)

// value is an input or a metric: a text of some values, or a number of a range. A logarithmic
// range has as many numbers from 1e-4 to 1e-3 as from 1e-3 to 1e-2.
type value struct {
	name        string
	values      []string
	low, high   float64
	logarithmic bool
}

func (v value) draw(r *rand.Rand) float64 {
	if v.logarithmic {
		return math.Exp(math.Log(v.low) + r.Float64()*(math.Log(v.high)-math.Log(v.low)))
	}
	return v.low + r.Float64()*(v.high-v.low)
}

// inputs are the 20 inputs of every execution, four of them texts.
func inputs() []value {
	list := []value{
		{name: "lr", low: 1e-5, high: 1, logarithmic: true}, {name: "epochs", low: 1, high: 200}, {name: "dropout", high: 0.6},
		{name: "weight_decay", low: 1e-6, high: 0.1, logarithmic: true},
		{name: "optimizer", values: []string{"adam", "adamw", "sgd", "lion"}}, {name: "dataset", values: some("dataset", 30)},
		{name: "backbone", values: some("model", 12)}, {name: "region", values: some("region", 6)},
	}
	for len(list) < 20 {
		list = append(list, value{name: fmt.Sprintf("parameter_%d", len(list)), high: 1})
	}
	return list
}

// metrics are the 20 metrics of every execution.
func metrics() []value {
	list := []value{{name: "accuracy", low: 0.4, high: 1}, {name: "loss", low: 0.01, high: 3, logarithmic: true}, {name: "f1", low: 0.3, high: 1}}
	for len(list) < 20 {
		list = append(list, value{name: fmt.Sprintf("metric_%d", len(list)), high: 1})
	}
	return list
}

func some(name string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%s-%d", name, i)
	}
	return list
}

// execution is a seeded execution.
type execution struct {
	flow
	id       uuid.UUID
	at       time.Time
	took     time.Duration
	status   string
	message  string
	title    string
	person   int
	tags     []string
	numbers  []float64 // of the inputs, and the last, least and greatest value of each metric
	texts    []string
	document json.RawMessage // its inputs
}

// draw returns execution i of n, the oldest first: all of half a year until now.
func draw(r *rand.Rand, flows []flow, i, n int, end time.Time) execution {
	const span = 180 * 24 * time.Hour
	at := end.Add(-time.Duration(float64(span) * float64(n-i) / float64(n))).Truncate(time.Microsecond)
	e := execution{flow: chosen(r, flows), id: idAt(r, at), at: at, took: time.Duration(10+r.IntN(7200)) * time.Second, status: "SUCCEEDED", person: r.IntN(60)}
	switch r.IntN(10) {
	case 0, 1:
		e.status, e.message = "FAILED", []string{"CUDA out of memory", "exit code 1", "the loss is not finite"}[r.IntN(3)]
	case 2:
		e.status = "CANCELLED"
	}
	if r.IntN(8) == 0 {
		e.title = fmt.Sprintf("ablation %d", r.IntN(5000))
	}
	if r.IntN(20) == 0 {
		e.tags = append(e.tags, "baseline")
	}
	if r.IntN(5) == 0 {
		e.tags = append(e.tags, fmt.Sprintf("study-%d", r.IntN(200)))
	}
	document := map[string]any{}
	for _, in := range inputs() {
		if in.values != nil {
			text := in.values[r.IntN(len(in.values))]
			e.texts, document[in.name] = append(e.texts, text), text
			continue
		}
		number := in.draw(r)
		e.numbers, document[in.name] = append(e.numbers, number), number
	}
	for _, m := range metrics() {
		last := m.draw(r)
		e.numbers = append(e.numbers, last, last*(0.5+r.Float64()/2), last*(1+r.Float64()/10))
	}
	e.document, _ = json.Marshal(document) //nolint:errchkjson // finite numbers and texts
	return e
}

// chosen returns a workflow: half of the executions are of the first team.
func chosen(r *rand.Rand, flows []flow) flow {
	if r.IntN(2) == 0 {
		return flows[r.IntN(workflows/teams)*teams]
	}
	return flows[r.IntN(len(flows))]
}

// idAt is a UUIDv7 of a moment.
func idAt(r *rand.Rand, at time.Time) (id uuid.UUID) {
	for i := range id {
		id[i] = byte(r.UintN(256)) //nolint:gosec // less than 256
	}
	ms := at.UnixMilli()
	for i := 5; i >= 0; i-- {
		id[i] = byte(ms)
		ms >>= 8
	}
	id[6], id[8] = id[6]&0x0f|0x70, id[8]&0x3f|0x80
	return id
}
