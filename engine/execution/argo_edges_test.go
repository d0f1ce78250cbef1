package execution_test

import (
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// argoEdges are cases from Argo's own test files.
func argoEdges() []argoCase {
	return []argoCase{
		{group: "M1", feature: "braces of other languages stay unchanged", spec: `
entrypoint: main
templates:
- name: main
  steps: [[{name: a, template: echo, arguments: {parameters: [{name: text, value: "{{.Names}} {{ jinja }}"}]}}]]`,
			status: query.Succeeded, outputs: map[string]string{"a" + result: "{{.Names}} {{ jinja }}"}},
		{group: "M1", feature: "{{lastRetry…}} of the first attempt and of later ones; asInt(lastRetry.duration)", spec: `
entrypoint: main
templates:
- name: main
  steps: [[{name: a, template: again}]]
- name: again
  retryStrategy: {limit: "2", expression: "asInt(lastRetry.duration) >= 0 && asInt(lastRetry.exitCode) == 3"}
  container: {image: busybox, command: [sh, -c], args: ["echo {{retries}} {{lastRetry.exitCode}}/{{lastRetry.status}}/{{lastRetry.message}} >> $DIR/seen; test {{retries}} = 1 || exit 3; cut -c1-12 $DIR/seen | tr '\n' ';'"]}`,
			status: query.Succeeded, outputs: map[string]string{"a" + result: "0 0//;1 3/Failed/T;"}},
		{group: "M1", feature: "script: a command that runs the file itself", spec: `
entrypoint: main
templates:
- name: main
  steps: [[{name: a, template: itself}]]
- name: itself
  script: {image: busybox, command: [sh, -c], source: "echo ran"}`,
			status: query.Succeeded, outputs: map[string]string{"a" + result: "ran"}},
		{group: "M1", feature: "continueOn.failed of a missing program", spec: `
entrypoint: main
templates:
- name: main
  steps: [[{name: a, template: missing, continueOn: {failed: true}}], [{name: b, template: "true"}]]
- name: missing
  container: {image: busybox, command: [no-such-program-anywhere]}`,
			status: query.Succeeded, states: map[string]dag.State{"a": dag.Failed, "b": dag.Succeeded}},
		{group: "M1", feature: "outputs of a task that failed: its result and parameters", spec: `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: a, template: report, continueOn: {failed: true}, arguments: {parameters: [{name: code, value: "3"}]}}
  - - {name: said, template: echo, arguments: {parameters: [{name: text, value: "{{steps.a.outputs.result}} {{steps.a.outputs.parameters.p}} {{steps.a.outputs.parameters.q}} {{steps.a.exitCode}}"}]}}
    - {name: each, template: report, continueOn: {failed: true}, withItems: ["0", "4"], arguments: {parameters: [{name: code, value: "{{item}}"}]}}
  - - {name: all, template: echo, arguments: {parameters: [{name: text, value: "{{steps.each.outputs.result}} {{steps.each.outputs.parameters.p}}"}]}}
- name: report
  inputs: {parameters: [{name: code}]}
  retryStrategy: {limit: 1}
  outputs: {parameters: [{name: p, valueFrom: {path: "$DIR/p{{inputs.parameters.code}}"}}, {name: q, valueFrom: {path: $DIR/nothing, default: none}}]}
  container: {image: busybox, command: [sh, -c], args: ["echo try {{retries}}; echo code {{inputs.parameters.code}} > $DIR/p{{inputs.parameters.code}}; exit {{inputs.parameters.code}}"]}`,
			status: query.Succeeded, states: map[string]dag.State{"a": dag.Failed}, outputs: map[string]string{
				"a" + result: "try 1", "said" + result: "try 1 code 3 none 3", "all" + result: `["try 0"] ["code 0"]`,
			}},
		{group: "M1", feature: "workflow.parameters.json and workflow.labels.json, as tags and in expressions; an entry point whose input has tags in its default", spec: `
entrypoint: main
arguments: {parameters: [{name: a, value: x}, {name: b, value: "2"}]}
templates:
- name: main
  inputs: {parameters: [{name: both, default: "{{workflow.parameters.a}}-{{workflow.parameters.b}}"}]}
  steps:
  - - {name: all, template: echo, arguments: {parameters: [{name: text, value: "{{workflow.parameters.json}} {{workflow.labels.json}} {{workflow.annotations}}"}]}}
    - {name: some, template: echo, when: "{{=jsonpath(workflow.parameters.json, '$[1].value') == '2'}}", arguments: {parameters: [{name: text, value: "{{=jsonpath(workflow.labels.json, '$.team')}} {{inputs.parameters.both}}"}]}}
    - {name: plain, template: plain}
- name: plain
  script: {image: busybox, command: [echo], args: [no source]}`,
			status: query.Succeeded, outputs: map[string]string{
				"main/all" + result: `[{"name":"a","value":"x"},{"name":"b","value":"2"}] {"team":"blue"} {}`, "main/some" + result: "blue x-2", "main/plain" + result: "no source",
			}},
	}
}

// argoOddEnds are cases of unsuccessful ends.
func argoOddEnds() []argoCase {
	return []argoCase{
		{group: "M1", feature: "suspend without a duration", spec: `
entrypoint: main
templates:
- name: main
  steps: [[{name: wait, template: wait}], [{name: after, template: "true"}]]
- {name: wait, suspend: {duration: "0"}}`,
			status: query.Succeeded, states: map[string]dag.State{"after": dag.Succeeded}},
		{group: "M1", feature: "outputs of the workflow that cannot be evaluated fail it", spec: `
entrypoint: main
arguments: {parameters: [{name: s, value: two words}]}
templates:
- name: main
  outputs: {parameters: [{name: o, valueFrom: {expression: "asInt(workflow.parameters.s)"}}]}
  steps: [[{name: a, template: "true"}]]`,
			status: query.Failed, states: map[string]dag.State{"a": dag.Succeeded}},
		{group: "M1", feature: "a when that cannot be evaluated fails its node, at the root, later and in nested templates", spec: `
entrypoint: main
arguments: {parameters: [{name: t, value: two words}]}
templates:
- name: main
  dag:
    failFast: false
    tasks:
    - {name: first, template: "true", when: "{{workflow.parameters.t}} == x"}
    - {name: empty, template: quiet}
    - {name: later, template: "true", depends: empty, when: "{{tasks.empty.outputs.result}} == yes"}
    - {name: nested, template: nested}
- name: quiet
  container: {image: busybox, command: ["true"]}
- name: nested
  steps: [[{name: in, template: quiet}], [{name: next, template: "true", when: "{{steps.in.outputs.result}} == yes"}]]`,
			status: query.Failed, states: map[string]dag.State{"first": dag.Failed, "later": dag.Failed, "nested": dag.Failed, "nested/next": dag.Failed},
			messages: map[string]string{"later": "The condition could not be evaluated"}},
	}
}
