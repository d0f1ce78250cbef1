package workflow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/protect"
	"github.com/flowforge/flowforge/typeregistry"
)

const trainYAML = `
name: digits.train
version: 1.2.0-beta.1
owner_team: vision
description: Trains a model.
tags: [Example, digits, digits]
metadata: {reviewed: true, ratio: 0.10}
inputs:
  - {name: data, type: Dataset}
  - {name: epochs, type: "Integer(min=1, max=200)", default: 20, ui: {label: Epochs, section: Training}}
outputs:
  - {name: model, type: Model, from: train.model}
  - {name: score}
operators:
  - name: split
    type: shell
    inputs: [{name: data, from: inputs.data}]
    outputs: [{name: train, type: Dataset, storage: distributed}]
    code: {script: "cp $FLOWFORGE_INPUTS .", args: [a, b]}
  - name: train
    type: python
    inputs:
      - {name: data, type: Dataset, from: split.train}
      - {name: epochs, type: Integer, from: inputs.epochs}
      - {name: seed, type: Integer, value: 42}
    outputs: [{name: model, type: Model}, {name: score, type: Float}]
    resources: {cpu: 0.5, memory: 1Gi, gpu: 1, gpu_type: H100, storage: 500M}
    code: {file: train.py, package: "sha256:` + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" + `", requirements: [numpy==2.1.0]}
    environment: {LEVEL: 3, DEBUG: true}
    timeout: 1h30m
    retry: {limit: 3, initial_delay: 500ms, fail_fast: false}
  - name: notify
    type: http
    depends_on: [train]
    http: {url: "https://example.com/hook", method: post, body: {done: true}, success: [202, 200]}
`

func mustParse(t *testing.T, doc string) *Definition {
	t.Helper()
	d, problems := Parse([]byte(doc), typeregistry.Builtin())
	if len(problems) > 0 {
		t.Fatalf("%v", problems)
	}
	return d
}

func TestParseReadsEverything(t *testing.T) {
	t.Parallel()
	d := mustParse(t, trainYAML)
	if d.Name != "digits.train" || d.Version != "1.2.0-beta.1" || d.OwnerTeam != "vision" {
		t.Errorf("%q %q %q", d.Name, d.Version, d.OwnerTeam)
	}
	if diff := cmp.Diff([]string{"digits", "example"}, d.Tags); diff != "" {
		t.Error(diff)
	}
	train, _ := d.Operator("train")
	if diff := cmp.Diff(Resources{CPUMillis: 500, MemoryMiB: 1024, GPUs: 1, GPUType: "H100", StorageMiB: 477}, train.Resources); diff != "" {
		t.Error(diff)
	}
	want := Retry{Limit: 3, InitialDelay: 500 * time.Millisecond, Factor: 2, MaxDelay: time.Minute, Jitter: 0.1, Policy: protect.Always}
	if diff := cmp.Diff(want, train.Retry); diff != "" {
		t.Error(diff)
	}
	if train.Timeout != 90*time.Minute {
		t.Errorf("timeout %v", train.Timeout)
	}
	if diff := cmp.Diff(map[string]string{"LEVEL": "3", "DEBUG": "true"}, train.Environment); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Source{Kind: SourceLiteral, Value: json.Number("42")}, train.Inputs[2].Source); diff != "" {
		t.Error(diff)
	}
	if got := d.Operators[0].Inputs[0].Type; got == nil || got.Kind != typeregistry.KindDataset {
		t.Errorf("the type of the source is not used: %v", got)
	}
	if got := d.Outputs[1]; got.From.String() != "train.score" || got.Type.Kind != typeregistry.KindFloat {
		t.Errorf("output without from: %+v", got)
	}
	if diff := cmp.Diff(&HTTP{Method: "POST", URL: "https://example.com/hook", Body: `{"done":true}`, JSONBody: true, Success: []int{200, 202}}, d.Operators[2].HTTP); diff != "" {
		t.Error(diff)
	}
	process, ok := train.Process()
	if diff := cmp.Diff(Process{Command: []string{"python3", "train.py"}}, process); !ok || diff != "" {
		t.Error(diff)
	}
	process, _ = d.Operators[0].Process()
	if diff := cmp.Diff(Process{Script: "cp $FLOWFORGE_INPUTS .", Interpreter: "shell", Args: []string{"a", "b"}}, process); diff != "" {
		t.Error(diff)
	}
	if _, ok := d.Operators[2].Process(); ok {
		t.Error("an http operator has no process")
	}
}

func TestCompileGivesThePlan(t *testing.T) {
	t.Parallel()
	plans, problems := mustParse(t, trainYAML).Compile()
	if problems != nil {
		t.Fatal(problems)
	}
	plan := plans[""]
	if diff := cmp.Diff([][]int{{0}, {1}, {2}}, plan.Levels); diff != "" {
		t.Error(diff)
	}
	if plan.Edges[0].Label != "train" || plan.Edges[1].Label != "" {
		t.Errorf("%+v", plan.Edges)
	}
}

func TestCanonicalFormRoundTrips(t *testing.T) {
	t.Parallel()
	d := mustParse(t, trainYAML)
	first, hash, err := d.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	again, hashAgain, _ := mustParse(t, string(first)).Canonical()
	if diff := cmp.Diff(string(first), string(again)); diff != "" || hash != hashAgain {
		t.Errorf("canonical form of the canonical form: %s", diff)
	}
	reordered := strings.Replace(trainYAML, "{name: seed, type: Integer, value: 42}", "{value: 42, type: 'Integer( )', name: seed}", 1)
	if _, other, _ := mustParse(t, reordered).Canonical(); other != hash {
		t.Error("the order of keys changes the hash")
	}
	changed := strings.Replace(trainYAML, "value: 42", "value: 43", 1)
	if _, other, _ := mustParse(t, changed).Canonical(); other == hash {
		t.Error("different content has the same hash")
	}
}

func TestAliasesOfTheDesignDocument(t *testing.T) {
	t.Parallel()
	d := mustParse(t, `{
		"workflow_id": "x", "created_at": "2026-01-01T00:00:00Z",
		"name": "recommendation_training", "version": "1.0.0", "owner_team": "news_feed_ml",
		"input_schema": {"fields": [
			{"name": "training_date", "type": "Date"},
			{"name": "rate", "type": "Float"}
		], "required_fields": ["training_date", "rate"]},
		"output_schema": {"fields": [{"name": "model", "type": "Model"}]},
		"operators": [
			{"operator_id": "o1", "name": "LoadData", "operator_type": "command",
			 "inputs": [{"name": "day", "type": "Date", "source": {"input": "training_date"}}],
			 "outputs": [{"name": "rows", "type": "Dataset", "storage_hint": "MEMORY"}],
			 "resource_requirements": {"cpu_cores": 2, "memory_gb": 1.5, "gpu_count": 1, "gpu_type": "A100", "storage_gb": 3, "network_bandwidth": "high"},
			 "code_package": {"command": ["load"]}},
			{"name": "Train", "operator_type": "command",
			 "inputs": [
				{"name": "rows", "type": "Dataset", "source": {"operator": "LoadData", "output": "rows"}},
				{"name": "more", "type": "Dataset", "source": {"future": "LoadData.rows"}},
				{"name": "n", "type": "Integer", "source": {"literal": 7}}
			 ],
			 "outputs": [{"name": "model", "type": "Model"}],
			 "code_package": {"command": ["train"]},
			 "retry_policy": {"max_retries": 2, "fail_fast": false}}
		]}`)
	want := Resources{CPUMillis: 2000, MemoryMiB: 1536, GPUs: 1, GPUType: "A100", StorageMiB: 3072, Network: "high"}
	if diff := cmp.Diff(want, d.Operators[0].Resources); diff != "" {
		t.Error(diff)
	}
	if d.Operators[0].Outputs[0].Storage != StorageMemory || d.Operators[1].Retry.Limit != 2 {
		t.Errorf("%+v", d.Operators)
	}
	if d.Operators[1].Inputs[1].Source.Future.String() != "LoadData.rows" {
		t.Errorf("%+v", d.Operators[1].Inputs)
	}
}

func TestParseReportsEverythingTogether(t *testing.T) {
	t.Parallel()
	_, problems := Parse([]byte(`
name: Bad Name
version: "1.0"
colour: blue
inputs:
  - {name: epochs, type: Integer}
  - {name: note, type: String, required: false}
outputs:
  - {name: model, type: Dataset, from: train.model}
  - {name: ghost, type: Model}
operators:
  - name: train
    type: python
    comand: [x]
    inputs:
      - {name: epochs, type: String, from: inputs.epochs}
      - {name: epoch, type: Integer, from: inputs.epohcs}
      - {name: note, type: String, from: inputs.note}
      - {name: data, type: Dataset, from: load.row}
      - {name: Data, type: Dataset, from: nowhere.rows}
      - {name: seed, type: Integer, value: many}
      - {name: strange, type: "Datset", value: 1}
      - {name: both, type: Integer, value: 1, from: inputs.epochs}
      - {name: none, type: Integer}
    outputs: [{name: model, type: Model}]
    code: {file: ../train.py, command: [x]}
    timeout: soon
    retry: {limit: -1, factor: 0.5}
    resources: {cpu: lots, memory: 512}
  - name: load
    type: python
    outputs: [{name: rows, type: Dataset}]
    code: {script: "pass"}
    depends_on: [after]
  - {name: after, type: noop, depends_on: [load], outputs: [{name: x, type: Integer}]}
  - {name: load, type: spark}
  - {name: call, type: http, http: {url: "ftp://x", method: FETCH}}
`), typeregistry.Builtin())
	paths := map[string]string{}
	for _, p := range problems {
		paths[p.Path] = p.Message
	}
	for path, part := range map[string]string{
		"name":                          "is not valid",
		"version":                       "semantic version",
		"colour":                        "Unknown field",
		"outputs[0].from":               "train.model does not fit",
		"outputs[1].from":               "Set the operator output",
		"operators[0].comand":           "Unknown field",
		"operators[0].inputs[0].from":   "inputs.epochs does not fit",
		"operators[0].inputs[1].from":   `Did you mean "epochs"?`,
		"operators[0].inputs[2].from":   "Optional<String>",
		"operators[0].inputs[3].from":   `Did you mean "rows"?`,
		"operators[0].inputs[4].from":   `no operator called "nowhere"`,
		"operators[0].inputs[4].name":   "used by operators[0].inputs[3]",
		"operators[0].inputs[5].value":  "",
		"operators[0].inputs[6].type":   "",
		"operators[0].inputs[7].from":   "one of from, value and expression",
		"operators[0].inputs[8].from":   "source of the value",
		"operators[0].code.file":        "inside the package",
		"operators[0].code.package":     "the package that contains",
		"operators[0].code.command":     "has no command",
		"operators[0].timeout":          "duration",
		"operators[0].retry.limit":      "whole number",
		"operators[0].retry.factor":     "number from 1 to 100",
		"operators[0].resources.cpu":    "cores",
		"operators[0].resources.memory": "size",
		"operators[2].outputs":          "no outputs",
		"operators[3].name":             `"load" is already used`,
		"operators[3].type":             "command, python, shell, noop, http",
		"operators[4].http.url":         "full http",
		"operators[4].http.method":      "FETCH",
		"operators[1]":                  "load → after → load",
	} {
		message, ok := paths[path]
		if !ok || !strings.Contains(message, part) {
			t.Errorf("%s: %q, want %q", path, message, part)
		}
		delete(paths, path)
	}
	for path, message := range paths {
		t.Errorf("unexpected problem: %s: %s", path, message)
	}
}

func TestProblemsAreBounded(t *testing.T) {
	t.Parallel()
	_, problems := Parse([]byte("name: a\nversion: 1.0.0\noperators:\n"+strings.Repeat("  - {name: x}\n", 500)), typeregistry.Builtin())
	if len(problems) != maxProblems+1 || !strings.Contains(problems[maxProblems].Message, "more problems") {
		t.Errorf("%d problems", len(problems))
	}
}

// layeredJSON is a definition of layers × width noop operators with fanIn
// dependencies each.
func layeredJSON(layers, width, fanIn int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"name":"big","version":"1.0.0","operators":[`)
	for l := range layers {
		for i := range width {
			if b.Len() > 60 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"name":"n%d-%d","type":"noop"`, l, i)
			if l > 0 {
				b.WriteString(`,"depends_on":[`)
				for k := range fanIn {
					if k > 0 {
						b.WriteByte(',')
					}
					fmt.Fprintf(&b, `"n%d-%d"`, l-1, (i*7+k*13)%width)
				}
				b.WriteByte(']')
			}
			b.WriteByte('}')
		}
	}
	b.WriteString("]}")
	return b.Bytes()
}

func BenchmarkParseTenThousandOperators(b *testing.B) {
	doc := layeredJSON(100, 100, 3)
	registry := typeregistry.Builtin()
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if _, problems := Parse(doc, registry); len(problems) > 0 {
			b.Fatal(problems)
		}
	}
}

// FuzzParse: Parse never panics; an accepted document has a canonical form that parses
// to the same form, and a plan.
func FuzzParse(f *testing.F) {
	f.Add([]byte(trainYAML))
	f.Add(layeredJSON(2, 2, 1))
	f.Add([]byte("name: a\nversion: 1.0.0\noperators: [{name: x, type: shell, code: {script: hi}}]"))
	f.Add([]byte("a: &x [*x]"))
	f.Add([]byte("{<<: {name: a}}"))
	f.Add([]byte(`"": 1`))
	registry := typeregistry.Builtin()
	f.Fuzz(func(t *testing.T, doc []byte) {
		d, problems := Parse(doc, registry)
		if (d == nil) != (len(problems) > 0) {
			t.Fatalf("definition %v, problems %v", d, problems)
		}
		for _, p := range problems {
			if p.Path == "" || p.Message == "" {
				t.Fatalf("empty problem %+v", p)
			}
		}
		if d == nil {
			return
		}
		if _, cycles := d.Compile(); len(cycles) > 0 {
			t.Fatalf("no plan: %v", cycles)
		}
		first, _, err := d.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		back, problems := Parse(first, registry)
		if len(problems) > 0 {
			t.Fatalf("the canonical form does not parse: %v\n%s", problems, first)
		}
		if second, _, _ := back.Canonical(); !bytes.Equal(first, second) {
			t.Fatalf("canonical form changes:\n%s\n%s", first, second)
		}
	})
}

func TestInvalidCarriesTheFields(t *testing.T) {
	t.Parallel()
	err := invalid([]apperr.Field{{Path: "a", Message: "x"}, {Path: "b", Message: "y"}})
	if apperr.CodeOf(err) != apperr.Invalid || apperr.MessageOf(err) != "The definition has 2 problems." || len(apperr.FieldsOf(err)) != 2 {
		t.Errorf("%v", err)
	}
}
