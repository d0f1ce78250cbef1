package execution_test

import (
	"slices"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// argoCase is one row of the conformance table: a document, based on Argo's documentation of
// the feature, and its expected result.
type argoCase struct {
	group   string
	feature string
	spec    string // the content of spec:, without indentation
	status  query.State
	states  map[string]dag.State // of nodes by name
	outputs map[string]string    // "<node>/<output>"
	result  map[string]any       // of the whole execution; nil: not checked

	messages map[string]string // of the failures of nodes, by name
	series   map[string]string // of metrics, by name and labels
	events   []string          // about metrics that failed
}

// argoWorkers are templates that the documents of the cases use.
const argoWorkers = `
- name: echo
  inputs: {parameters: [{name: text}]}
  container: {image: busybox, command: [echo], args: ["{{inputs.parameters.text}}"]}
- name: "true"
  container: {image: busybox, command: ["true"]}
- name: fail
  container: {image: busybox, command: [sh, -c], args: ["exit 3"]}
- name: reads-results # never runs; results are stored where a template could read them
  steps:
  - - {name: x, template: "true"}
  - - {name: "y", template: echo, arguments: {parameters: [{name: text, value: "{{steps.x.outputs.result}}"}]}}
`

const result = "/" + execution.ResultPort

func argoCases() []argoCase {
	return slices.Concat(argoFlow(), argoBranches(), argoLoops(), argoValues(), argoNames(), argoEnds(), argoExits(), argoGuards(), argoConfigMaps(), argoDatabaseLocks(), argoGroupRetries(), argoSettings(), argoHooks(), argoExitHandlers(), argoFailFast(), argoErrors(), argoEmpty(), argoEdges(), argoOddEnds(), argoDaemons(), argoMetrics(), argoTags(), argoMessages(), argoUnknownTags(), argoTolerance(), argoAggregates(), argoLaunched())
}

func argoFlow() []argoCase {
	return []argoCase{
		{group: "M1", feature: "steps: groups one after another, the steps of a group together", spec: `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: one, template: echo, arguments: {parameters: [{name: text, value: a}]}}
  - - {name: two-a, template: echo, arguments: {parameters: [{name: text, value: "{{steps.one.outputs.result}}b"}]}}
    - {name: two-b, template: echo, arguments: {parameters: [{name: text, value: "{{steps.one.outputs.result}}c"}]}}
  - - {name: three, template: echo, arguments: {parameters: [{name: text, value: "{{steps.two-a.outputs.result}}{{steps.two-b.outputs.result}}"}]}}`,
			status: query.Succeeded, outputs: map[string]string{"three" + result: "abac"}},
		{group: "M1", feature: "steps: a failure ends the template after its group", spec: `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: bad, template: fail}
    - {name: good, template: "true"}
  - - {name: after, template: "true"}`,
			status: query.Failed, states: map[string]dag.State{"bad": dag.Failed, "good": dag.Succeeded, "after": dag.Skipped}},
		{group: "M1", feature: "dag: dependencies, and an empty depends", spec: `
entrypoint: main
templates:
- name: main
  dag:
    tasks:
    - {name: a, depends: "", template: "true"}
    - {name: b, dependencies: [a], template: echo, arguments: {parameters: [{name: text, value: "{{tasks.a.status}}"}]}}`,
			status: query.Succeeded, outputs: map[string]string{"b" + result: "Succeeded"}},
		{group: "M1", feature: "depends: statuses joined by && || !, Skipped counts for a bare name", spec: `
entrypoint: main
templates:
- name: main
  dag:
    failFast: false
    tasks:
    - {name: ok, template: "true"}
    - {name: bad, template: fail}
    - {name: "off", template: "true", when: "false"}
    - {name: both, template: "true", depends: "ok.Succeeded && bad.Failed"}
    - {name: or, template: "true", depends: "bad.Succeeded || off.Skipped"}
    - {name: not, template: "true", depends: "!bad.Succeeded && ok"}
    - {name: bare, template: "true", depends: "off && bad.Completed"}
    - {name: never, template: "true", depends: "bad.Succeeded && ok"}`,
			status: query.Failed, states: map[string]dag.State{
				"off": dag.Skipped, "both": dag.Succeeded, "or": dag.Succeeded, "not": dag.Succeeded, "bare": dag.Succeeded, "never": dag.Skipped,
			}},
		{group: "M1", feature: "depends: AnySucceeded and AllFailed of a fan-out", spec: `
entrypoint: main
templates:
- name: main
  dag:
    failFast: false
    tasks:
    - {name: some, template: code, withItems: [0, 1], arguments: {parameters: [{name: code, value: "{{item}}"}]}}
    - {name: none, template: code, withItems: [1, 2], arguments: {parameters: [{name: code, value: "{{item}}"}]}}
    - {name: any, template: "true", depends: some.AnySucceeded}
    - {name: all, template: "true", depends: none.AllFailed}
    - {name: not-all, template: "true", depends: some.AllFailed}
- name: code
  inputs: {parameters: [{name: code}]}
  container: {image: busybox, command: [sh, -c], args: ["exit {{inputs.parameters.code}}"]}`,
			status: query.Failed, states: map[string]dag.State{"any": dag.Succeeded, "all": dag.Succeeded, "not-all": dag.Skipped}},
		{group: "M1", feature: "dag.failFast: false lets other branches run to their end", spec: `
entrypoint: main
templates:
- name: main
  dag:
    failFast: false
    tasks:
    - {name: bad, template: fail}
    - {name: slow, template: sleep}
    - {name: after, template: "true", dependencies: [slow]}
- {name: sleep, container: {image: busybox, command: [sleep, "0.3"]}}`,
			status: query.Failed, states: map[string]dag.State{"after": dag.Succeeded}},
		{group: "M1", feature: "dag.failFast: by default, too, other branches run to their end, as in Argo's controller", spec: `
entrypoint: main
templates:
- name: main
  dag:
    tasks:
    - {name: bad, template: fail}
    - {name: slow, template: sleep}
    - {name: after, template: "true", dependencies: [slow]}
- {name: sleep, container: {image: busybox, command: [sleep, "0.3"]}}`,
			status: query.Failed, states: map[string]dag.State{"slow": dag.Succeeded, "after": dag.Succeeded}},
	}
}

func argoBranches() []argoCase {
	return []argoCase{
		{group: "M1", feature: "dag.target: only what the target needs runs, the target may be a parameter", spec: `
entrypoint: main
arguments: {parameters: [{name: target, value: "b d"}]}
templates:
- name: main
  dag:
    target: "{{workflow.parameters.target}}"
    tasks:
    - {name: a, template: "true"}
    - {name: b, dependencies: [a], template: "true"}
    - {name: c, dependencies: [b], template: "true"}
    - {name: d, template: "true"}
    - {name: e, template: "true"}`,
			status: query.Succeeded, states: map[string]dag.State{
				"a": dag.Succeeded, "b": dag.Succeeded, "c": dag.Skipped, "d": dag.Succeeded, "e": dag.Skipped,
			}},
		{group: "M1", feature: "when: strings without quotes, numbers, in, and expressions", spec: `
entrypoint: main
arguments: {parameters: [{name: side, value: heads}, {name: "n", value: "7"}]}
templates:
- name: main
  steps:
  - - {name: heads, template: "true", when: "{{workflow.parameters.side}} == heads"}
    - {name: tails, template: "true", when: "{{workflow.parameters.side}} == tails"}
    - {name: more, template: "true", when: "{{workflow.parameters.n}} > 5 && {{workflow.parameters.n}} < 10"}
    - {name: among, template: "true", when: "'{{workflow.parameters.side}}' in ('heads', 'tails')"}
    - {name: expr, template: "true", when: "{{= asInt(workflow.parameters.n) % 2 == 0 }}"}`,
			status: query.Succeeded, states: map[string]dag.State{
				"heads": dag.Succeeded, "tails": dag.Skipped, "more": dag.Succeeded, "among": dag.Succeeded, "expr": dag.Skipped,
			}},
		{group: "M1", feature: "recursion: a template that runs itself until a condition ends it", spec: `
entrypoint: main
templates:
- name: main
  steps: [[{name: count, template: down, arguments: {parameters: [{name: "n", value: "3"}]}}]]
- name: down
  inputs: {parameters: [{name: "n"}]}
  steps:
  - - {name: less, template: echo, arguments: {parameters: [{name: text, value: "{{=asInt(inputs.parameters.n) - 1}}"}]}}
  - - {name: again, template: down, when: "{{steps.less.outputs.result}} > 0", arguments: {parameters: [{name: "n", value: "{{steps.less.outputs.result}}"}]}}`,
			status: query.Succeeded, outputs: map[string]string{"count/again/again/less" + result: "0"},
			states: map[string]dag.State{"count/again/again/again": dag.Skipped}},
		{group: "M1", feature: "continueOn.failed in steps and tasks", spec: `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: bad, template: fail, continueOn: {failed: true}}
  - - {name: inner, template: dag}
- name: dag
  dag:
    tasks:
    - {name: bad, template: fail, continueOn: {failed: true}}
    - {name: after, dependencies: [bad], template: "true"}`,
			status: query.Succeeded, states: map[string]dag.State{"bad": dag.Failed, "inner/bad": dag.Failed, "inner/after": dag.Succeeded}},
		{group: "M1", feature: "parallelism of a workflow and of a template", spec: `
entrypoint: main
parallelism: 2
templates:
- name: main
  parallelism: 1
  steps: [[{name: each, template: "true", withItems: [1, 2, 3]}]]`,
			status: query.Succeeded, states: map[string]dag.State{"main/each[2]": dag.Succeeded}},
	}
}

func argoLoops() []argoCase {
	return []argoCase{
		{group: "M1", feature: "withItems: strings, numbers and mappings with {{item.field}}", spec: `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: plain, template: echo, withItems: [a, 2, true], arguments: {parameters: [{name: text, value: "<{{item}}>"}]}}
    - {name: maps, template: echo, withItems: [{os: debian, v: 9}, {os: alpine, v: 3}], arguments: {parameters: [{name: text, value: "{{item.os}}:{{item.v}}"}]}}
    - {name: whole, template: echo, withItems: [{os: debian}], arguments: {parameters: [{name: text, value: "{{item}}"}]}}`,
			status: query.Succeeded, outputs: map[string]string{
				"plain[1]" + result: "<2>", "plain[2]" + result: "<true>", "maps[1]" + result: "alpine:3", "whole[0]" + result: `{"os":"debian"}`,
			}},
		{group: "M1", feature: "withParam: a JSON list that a task produced at run time; results of the items as a list", spec: `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: make, template: echo, arguments: {parameters: [{name: text, value: '[1, "two", {"k": 3}]'}]}}
  - - {name: each, template: echo, withParam: "{{steps.make.outputs.result}}", arguments: {parameters: [{name: text, value: "{{item}}"}]}}
  - - {name: all, template: echo, arguments: {parameters: [{name: text, value: "{{steps.each.outputs.result}}"}]}}`,
			status: query.Succeeded, outputs: map[string]string{"all" + result: `[1,"two",{"k":3}]`}},
		{group: "M1", feature: "withSequence: count, start and end, downwards, format", spec: `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: count, template: echo, withSequence: {count: "3"}, arguments: {parameters: [{name: text, value: "{{item}}"}]}}
    - {name: span, template: echo, withSequence: {start: "5", end: "3", format: "u%02d"}, arguments: {parameters: [{name: text, value: "{{item}}"}]}}
    - {name: none, template: echo, withSequence: {count: 0}, arguments: {parameters: [{name: text, value: "{{item}}"}]}}
  - - {name: all, template: echo, arguments: {parameters: [{name: text, value: "{{steps.count.outputs.result}} {{steps.span.outputs.result}} {{steps.none.outputs.result}}"}]}}`,
			status: query.Succeeded, outputs: map[string]string{"all" + result: `[0,1,2] ["u05","u04","u03"] []`}},
		{group: "M1", feature: "when of each item of a loop", spec: `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: each, template: echo, withItems: [1, 2, 3], when: "{{item}} != 2", arguments: {parameters: [{name: text, value: "{{item}}"}]}}
  - - {name: all, template: echo, arguments: {parameters: [{name: text, value: "{{steps.each.outputs.result}}"}]}}`,
			status: query.Succeeded, outputs: map[string]string{"all" + result: "[1,3]"}, states: map[string]dag.State{"each[1]": dag.Skipped}},
		{group: "M1", feature: "output parameters of a loop: lists by name, and all together", spec: `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: each, template: write, withItems: [x, "y"], arguments: {parameters: [{name: v, value: "{{item}}"}]}}
  - - {name: one, template: echo, arguments: {parameters: [{name: text, value: "{{steps.each.outputs.parameters.out}}"}]}}
    - {name: all, template: echo, arguments: {parameters: [{name: text, value: "{{steps.each.outputs.parameters}}"}]}}
- name: write
  inputs: {parameters: [{name: v}]}
  outputs: {parameters: [{name: out, valueFrom: {path: "$DIR/loop-{{inputs.parameters.v}}"}}]}
  container: {image: busybox, command: [sh, -c], args: ["echo {{inputs.parameters.v}} > {{outputs.parameters.out.path}}"]}`,
			status: query.Succeeded, outputs: map[string]string{"one" + result: `["x","y"]`, "all" + result: `[{"out":"x"},{"out":"y"}]`}},
	}
}
