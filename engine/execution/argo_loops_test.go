package execution_test

import (
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// argoAggregates are cases of tags that read a whole loop.
func argoAggregates() []argoCase {
	const write = `
- name: write
  inputs: {parameters: [{name: v}, {name: code, value: "0"}]}
  outputs: {parameters: [{name: out, valueFrom: {path: "$DIR/{{pod.name}}"}}]}
  container: {image: busybox, command: [sh, -c], args: ["echo '{{inputs.parameters.v}}' | tee {{outputs.parameters.out.path}}; exit {{inputs.parameters.code}}"]}`
	return []argoCase{
		{group: "M1", feature: "output parameters of a loop remain strings, unless all are lists or mappings; results are JSON as written", spec: `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: texts, template: write, withItems: ["1.10", "true", "x"], arguments: {parameters: [{name: v, value: "{{item}}"}]}}
    - {name: maps, template: write, withItems: ['{"a":1}', '[2]'], arguments: {parameters: [{name: v, value: "{{item}}"}]}}
    - {name: mixed, template: write, withItems: ['{"a":1}', '2'], arguments: {parameters: [{name: v, value: "{{item}}"}]}}
  - - {name: by-name, template: echo, arguments: {parameters: [{name: text, value: "{{steps.texts.outputs.parameters.out}} {{steps.maps.outputs.parameters.out}} {{steps.mixed.outputs.parameters.out}}"}]}}
    - {name: in-expression, template: echo, arguments: {parameters: [{name: text, value: "{{=steps.texts.outputs.parameters.out}}"}]}}
    - {name: results, template: echo, arguments: {parameters: [{name: text, value: "{{steps.texts.outputs.result}} {{steps.mixed.outputs.result}}"}]}}
    - {name: each, template: echo, withParam: "{{steps.texts.outputs.parameters.out}}", arguments: {parameters: [{name: text, value: "<{{item}}>"}]}}` + write,
			status: query.Succeeded, outputs: map[string]string{
				"by-name" + result:       `["1.10","true","x"] [{"a":1},[2]] ["{\"a\":1}","2"]`,
				"in-expression" + result: `["1.10","true","x"]`,
				"results" + result:       `[1.10,true,"x"] [{"a":1},2]`,
				"each[0]" + result:       "<1.10>", "each[1]" + result: "<true>",
			}},
		{group: "M1", feature: "plain scalars are those of YAML 1.1: yes and on are true, 010 is 8, 1.10 is 1.1", spec: `
entrypoint: main
arguments: {parameters: [{name: a, value: yes}, {name: b, value: 010}, {name: c, value: 1.10}, {name: d, value: "yes"}]}
templates:
- name: main
  steps: [[{name: say, template: echo, arguments: {parameters: [{name: text, value: "{{workflow.parameters.a}} {{workflow.parameters.b}} {{workflow.parameters.c}} {{workflow.parameters.d}}"}]}},
    {name: each, template: echo, withItems: [on, 0x10], arguments: {parameters: [{name: text, value: "{{item}}"}]}}]]`,
			status: query.Succeeded, outputs: map[string]string{"say" + result: "true 8 1.1 yes", "each[0]" + result: "true", "each[1]" + result: "16"}},
		{group: "M1", feature: "parallelism of a template counts everything that runs in it: steps, and the items of all its loops", spec: `
entrypoint: main
templates:
- name: main
  parallelism: 2
  steps: [[{name: a, template: alone, withItems: [1, 2, 3]}, {name: b, template: alone, withItems: [1, 2]}, {name: c, template: alone}]]
- name: alone
  container: {image: busybox, command: [sh, -c], args: ["for k in 1 2; do mkdir $DIR/$k 2>/dev/null && break; k=; done; test -n \"$k\" || exit 7; sleep 0.1; rmdir $DIR/$k"]}`,
			status: query.Succeeded, states: map[string]dag.State{"main/a[2]": dag.Succeeded, "main/b[1]": dag.Succeeded, "main/c": dag.Succeeded}},
		{group: "M1", feature: "templateDefaults.retryStrategy covers templates of steps and tasks", spec: `
entrypoint: main
templateDefaults: {retryStrategy: {limit: 1}}
templates:
- name: main
  steps: [[{name: tasks, template: tasks}]]
- name: tasks
  dag: {tasks: [{name: flaky, template: flaky}]}
- name: flaky
  retryStrategy: {limit: 0}
  container: {image: busybox, command: [sh, -c], args: ["mkdir $DIR/second 2>/dev/null && exit 3; true"]}`,
			status: query.Succeeded, states: map[string]dag.State{"main/tasks": dag.Succeeded}},
		{group: "M1", feature: "globalName with tags of a node that reads global outputs itself", spec: `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: a, template: give, arguments: {parameters: [{name: to, value: one}, {name: text, value: x}]}}
  - - {name: b, template: give, arguments: {parameters: [{name: to, value: two}, {name: text, value: "{{workflow.outputs.parameters.one}}y"}]}}
  - - {name: c, template: echo, arguments: {parameters: [{name: text, value: "{{workflow.outputs.parameters.one}} {{workflow.outputs.parameters.two}}"}]}}
- name: give
  inputs: {parameters: [{name: to}, {name: text}]}
  outputs: {parameters: [{name: out, globalName: "{{inputs.parameters.to}}", valueFrom: {path: "$DIR/{{inputs.parameters.to}}"}}]}
  container: {image: busybox, command: [sh, -c], args: ["echo {{inputs.parameters.text}} > $DIR/{{inputs.parameters.to}}"]}`,
			status: query.Succeeded, outputs: map[string]string{"c" + result: "x xy"}},
		{group: "M1", feature: "items of a loop that were skipped or failed add nothing to its outputs", spec: `
entrypoint: main
templates:
- name: main
  dag:
    tasks:
    - {name: some, template: write, continueOn: {failed: true}, withItems: [{v: a, code: 0}, {v: b, code: 3}, {v: c, code: 0}], when: "{{item.v}} != c",
       arguments: {parameters: [{name: v, value: "{{item.v}}"}, {name: code, value: "{{item.code}}"}]}}
    - {name: seen, template: echo, dependencies: [some], arguments: {parameters: [{name: text, value: "{{tasks.some.outputs.parameters.out}} {{tasks.some.outputs.parameters}} {{tasks.some.outputs.result}}"}]}}` + write,
			status: query.Succeeded, states: map[string]dag.State{"some[1]": dag.Failed, "some[2]": dag.Skipped}, outputs: map[string]string{
				"seen" + result: `["a"] [{"out":"a"}] ["a"]`,
			}},
		{group: "M1", feature: "the status of a loop is that of its last item that failed, whatever continueOn covers", spec: `
entrypoint: main
templates:
- name: main
  dag:
    tasks:
    - {name: some, template: write, continueOn: {failed: true}, withItems: [0, 3], arguments: {parameters: [{name: v, value: x}, {name: code, value: "{{item}}"}]}}
    - {name: all, template: write, withItems: [0, 0], arguments: {parameters: [{name: v, value: x}, {name: code, value: "{{item}}"}]}}
    - {name: seen, template: echo, dependencies: [some, all], arguments: {parameters: [{name: text, value: "{{tasks.some.status}} {{tasks.all.status}} {{=tasks.some.status}}"}]}}
    - {name: repair, template: "true", dependencies: [some], when: "{{tasks.some.status}} == Failed"}` + write,
			status: query.Succeeded, states: map[string]dag.State{"repair": dag.Succeeded}, outputs: map[string]string{
				"seen" + result: "Failed Succeeded Failed",
			}},
	}
}
