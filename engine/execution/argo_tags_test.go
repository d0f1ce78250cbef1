package execution_test

import (
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// argoTags are cases of tags that are replaced before a command starts.
func argoTags() []argoCase {
	return []argoCase{
		{group: "M1", feature: "an input's own value reads the template's other inputs, in any order", spec: `
entrypoint: main
arguments: {parameters: [{name: a, value: launch}]}
templates:
- name: main
  inputs: {parameters: [{name: a, value: outer}]}
  steps:
  - - {name: leaf, template: leaf, arguments: {parameters: [{name: a, value: given}]}}
    - {name: graph, template: graph, arguments: {parameters: [{name: a, value: given}]}}
    - {name: each, template: leaf, withItems: [one, two], arguments: {parameters: [{name: a, value: "{{item}}"}]}}
- name: leaf
  inputs: {parameters: [{name: c, default: "{{=inputs.parameters.b + '!'}}"}, {name: b, value: "x-{{inputs.parameters.a}}"}, {name: a}]}
  container: {image: busybox, command: [echo], args: ["{{inputs.parameters.b}} {{inputs.parameters.c}}"]}
- name: graph
  inputs: {parameters: [{name: b, value: "x-{{inputs.parameters.a}}"}, {name: a}]}
  steps: [[{name: say, template: echo, arguments: {parameters: [{name: text, value: "{{inputs.parameters.b}}"}]}}]]`,
			status: query.Succeeded, outputs: map[string]string{
				"leaf" + result: "x-given x-given!", "graph/say" + result: "x-given", "each[1]" + result: "x-two x-two!",
			}},
		{group: "M1", feature: "inputs of the entry point, also from each other and in expressions", spec: `
entrypoint: main
arguments: {parameters: [{name: a, value: launch}]}
templates:
- name: main
  inputs: {parameters: [{name: a}, {name: b, value: "x-{{inputs.parameters.a}}"}, {name: "n", value: "2"}]}
  outputs: {parameters: [{name: o, valueFrom: {expression: "inputs.parameters.b + inputs.parameters.n"}}]}
  steps:
  - - {name: say, template: echo, when: "{{=asInt(inputs.parameters.n) == 2}}", arguments: {parameters: [{name: text, value: "{{=inputs.parameters.b + string(asInt(inputs.parameters.n) + 1)}}"}]}}`,
			status: query.Succeeded, outputs: map[string]string{"main/say" + result: "x-launch3"}, result: map[string]any{"o": "x-launch2"}},
		{group: "M1", feature: "inputs in the expressions of an entry point that opens the workflow", spec: `
entrypoint: main
arguments: {parameters: [{name: a, value: launch}]}
templates:
- name: main
  inputs: {parameters: [{name: a}, {name: "n", value: "2"}, {name: a-b, value: dashed}]}
  outputs: {parameters: [{name: o, valueFrom: {expression: "inputs.parameters.a + inputs.parameters['a-b']"}}]}
  dag:
    tasks:
    - {name: say, template: echo, when: "{{=asInt(inputs.parameters.n) == 2}}", arguments: {parameters: [{name: text, value: "{{=inputs.parameters.a + string(asInt(inputs.parameters.n) + 1)}}"}]}}
    - {name: loop, template: echo, withParam: "{{=toJson(map([1, 2], {string(#) + inputs.parameters.a}))}}", arguments: {parameters: [{name: text, value: "{{=inputs.parameters.a + item}}"}]}}`,
			status: query.Succeeded, outputs: map[string]string{"say" + result: "launch3", "loop[1]" + result: "launch2launch"}, result: map[string]any{"o": "launchdashed"}},
		{group: "M1", feature: "inputs in the expressions of an entry point that runs a command", spec: `
entrypoint: main
arguments: {parameters: [{name: a, value: launch}]}
templates:
- name: main
  inputs: {parameters: [{name: a}, {name: "n", value: "2"}]}
  outputs: {parameters: [{name: o, valueFrom: {expression: "inputs.parameters.a + inputs.parameters.n"}}]}
  container: {image: busybox, command: [echo], args: ["{{=inputs.parameters.a + string(asInt(inputs.parameters.n) + 1)}}"]}`,
			status: query.Succeeded, outputs: map[string]string{"main" + result: "launch3"}, result: map[string]any{"o": "launch2"}},
		{group: "M1", feature: "steps.name and tasks.name: the name of the step, in arguments, conditions and commands", spec: `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: first, template: say, when: "{{steps.name}} == first", arguments: {parameters: [{name: of, value: "{{steps.name}} {{=steps.name}}"}]}}
  - - {name: second, template: inner}
- name: inner
  dag: {tasks: [{name: third, template: say, arguments: {parameters: [{name: of, value: "{{tasks.name}}"}]}}]}
- name: say
  inputs: {parameters: [{name: of}]}
  container: {image: busybox, command: [echo], args: ["{{inputs.parameters.of}} {{steps.name}} {{=tasks.name}}"]}`,
			status: query.Succeeded, outputs: map[string]string{"first" + result: "first first first first", "second/third" + result: "third third third"}},
	}
}

// argoMessages are cases of names and messages.
func argoMessages() []argoCase {
	return []argoCase{
		{group: "M2", feature: "globalName with tags is found by the name that it becomes", spec: `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: a, template: make, withItems: [one, two], arguments: {parameters: [{name: "n", value: "{{item}}"}]}}
    - {name: graph, template: graph, arguments: {parameters: [{name: "n", value: three}]}}
  - - {name: use, template: echo, arguments: {parameters: [{name: text, value: "{{workflow.outputs.parameters.of-one}} {{=workflow.outputs.parameters['of-two']}} {{workflow.outputs.parameters.of-three}}"}]}}
- name: make
  inputs: {parameters: [{name: "n"}]}
  outputs: {parameters: [{name: o, globalName: "of-{{inputs.parameters.n}}", valueFrom: {path: "$DIR/{{inputs.parameters.n}}"}}]}
  container: {image: busybox, command: [sh, -c], args: ["echo made {{inputs.parameters.n}} > $DIR/{{inputs.parameters.n}}"]}
- name: graph
  inputs: {parameters: [{name: "n"}]}
  outputs: {parameters: [{name: o, globalName: "of-{{inputs.parameters.n}}", valueFrom: {parameter: "graph {{inputs.parameters.n}}"}}]}
  steps: [[{name: a, template: "true"}]]`,
			status: query.Succeeded, outputs: map[string]string{"use" + result: "made one made two graph three"}},
		{group: "M1", feature: "retryPolicy OnError without an expression: the failure of a command states why it is not retried", spec: `
entrypoint: main
templates:
- name: main
  retryStrategy: {limit: 2, retryPolicy: OnError}
  container: {image: busybox, command: [sh, -c], args: ["exit 3"]}`,
			status: query.Failed, messages: map[string]string{"main": "Its retry policy OnError retries errors around the command"}},
	}
}

// argoUnknownTags are cases of tags that cannot be replaced.
func argoUnknownTags() []argoCase {
	return []argoCase{
		{group: "M1", feature: "outputs of a task that was skipped or left out: their defaults, else an error that names the tag", spec: `
entrypoint: main
templates:
- name: main
  dag:
    failFast: false
    tasks:
    - {name: skipped, template: make, when: "1 == 2"}
    - {name: left-out, template: make, depends: skipped.Succeeded}
    - {name: graph, template: graph, when: "1 == 2"}
    - name: defaults
      depends: "skipped.Skipped && left-out.Omitted && graph"
      template: echo
      arguments: {parameters: [{name: text, value: "{{tasks.skipped.outputs.parameters.p}} {{=tasks.skipped.outputs.parameters.p}} {{tasks.left-out.outputs.parameters.p}} {{tasks.graph.outputs.parameters.g}}"}]}
    - {name: result, template: echo, depends: skipped, arguments: {parameters: [{name: text, value: "x {{tasks.skipped.outputs.result}}"}]}}
    - {name: without, template: echo, depends: skipped, arguments: {parameters: [{name: text, value: "{{tasks.skipped.outputs.parameters.q}}"}]}}
    - {name: expression, template: echo, depends: skipped, arguments: {parameters: [{name: text, value: "{{=tasks.skipped.outputs.parameters.q}}"}]}}
    - {name: condition, template: "true", depends: skipped, when: "{{tasks.skipped.outputs.parameters.q}} != a"}
- name: make
  outputs: {parameters: [{name: p, valueFrom: {path: $DIR/p, default: none}}, {name: q, valueFrom: {path: $DIR/q}}]}
  container: {image: busybox, command: ["true"]}
- name: graph
  outputs: {parameters: [{name: g, valueFrom: {parameter: "{{steps.a.outputs.result}}", default: no graph}}]}
  steps: [[{name: a, template: echo, arguments: {parameters: [{name: text, value: a}]}}]]`,
			status: query.Failed, states: map[string]dag.State{"result": dag.Failed, "without": dag.Failed, "expression": dag.Failed, "condition": dag.Failed},
			outputs:  map[string]string{"defaults" + result: "none none none no graph"},
			messages: map[string]string{"result": "{{tasks.skipped.outputs.result}}", "without": "tasks.skipped.outputs.parameters.q", "expression": "q", "condition": "tasks.skipped.outputs.parameters.q"}},
		{group: "M1", feature: "an output parameter of a template that names the output of a skipped step fails it, unless it has a default", spec: `
entrypoint: main
templates:
- name: main
  dag: {failFast: false, tasks: [{name: with, template: with}, {name: without, template: without}]}
- name: with
  outputs: {parameters: [{name: o, valueFrom: {parameter: "{{steps.skipped.outputs.result}}", default: none}}]}
  steps: [[{name: skipped, template: "true", when: "1 == 2"}]]
- name: without
  outputs: {parameters: [{name: o, valueFrom: {parameter: "{{steps.skipped.outputs.result}}"}}]}
  steps: [[{name: skipped, template: "true", when: "1 == 2"}]]`,
			status: query.Failed, states: map[string]dag.State{"with": dag.Succeeded, "without": dag.Failed}, outputs: map[string]string{"with/o": "none"},
			messages: map[string]string{"without": "{{steps.skipped.outputs.result}}"}},
		{group: "M1", feature: "tags without a value in the key of an artifact, the global name of an output and the name of a lock are errors", spec: `
entrypoint: main
templates:
- name: main
  dag: {tasks: [{name: key, template: key}, {name: global, template: global}, {name: lock, template: lock}]}
- name: key
  outputs: {artifacts: [{name: f, path: $DIR/f, s3: {key: "{{workflow.outputs.parameters.none}}/f"}}]}
  container: {image: busybox, command: ["true"]}
- name: global
  outputs: {parameters: [{name: p, globalName: "of-{{workflow.outputs.parameters.none}}", valueFrom: {path: $DIR/p}}]}
  container: {image: busybox, command: [sh, -c, "echo x > $DIR/p"]}
- name: lock
  synchronization: {mutex: {name: "of-{{workflow.outputs.parameters.none}}"}}
  container: {image: busybox, command: ["true"]}`,
			status: query.Failed, states: map[string]dag.State{"key": dag.Failed, "global": dag.Failed, "lock": dag.Failed},
			messages: map[string]string{"key": "workflow.outputs.parameters.none", "global": "workflow.outputs.parameters.none", "lock": "workflow.outputs.parameters.none"}},
		{group: "M1", feature: "an Argo tag that remains when a command starts is an error that names it", spec: `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: skipped, template: "true", when: "1 == 2"}
  - - {name: nested, template: nested, arguments: {parameters: [{name: of, value: "a"}]}}
- name: nested
  inputs: {parameters: [{name: of}]}
  container: {image: busybox, command: [echo], args: ["{{inputs.parameters.{{inputs.parameters.of}}}}"]}`,
			status: query.Failed, states: map[string]dag.State{"nested": dag.Failed}, messages: map[string]string{"nested": "{{inputs.parameters.a}}"}},
	}
}
