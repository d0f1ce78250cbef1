package execution_test

import (
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// argoTolerance contains failures that continueOn tolerates, and failures that it does not.
// The template broken ends with an error: its input is invalid.
func argoTolerance() []argoCase {
	const broken = `
- name: broken
  inputs: {parameters: [{name: "n", value: "{{=asInt('many')}}"}]}
  container: {image: busybox, command: ["true"]}`
	return []argoCase{
		{group: "M2", feature: "globalName of a task that failed", spec: `
entrypoint: main
onExit: report
templates:
- name: main
  steps: [[{name: check, template: check}]]
- name: check
  outputs: {parameters: [{name: sum, globalName: sum, valueFrom: {path: $DIR/sum}}]}
  container: {image: busybox, command: [sh, -c], args: ["echo 2 of 9 > $DIR/sum; exit 1"]}
- name: report
  container: {image: busybox, command: [echo], args: ["{{workflow.status}}: {{workflow.outputs.parameters.sum}}, {{=workflow.outputs.parameters.sum}}"]}`,
			status: query.Failed, states: map[string]dag.State{"onExit": dag.Succeeded}, outputs: map[string]string{"onExit" + result: "Failed: 2 of 9, 2 of 9"}},
		{group: "M1", feature: "steps: continueOn.error does not cover a failure: later steps do not run, and the template fails", spec: `
entrypoint: main
templates:
- name: main
  steps: [[{name: e, template: fail, continueOn: {error: true}}], [{name: after, template: "true"}]]`,
			status: query.Failed, states: map[string]dag.State{"e": dag.Failed, "after": dag.Skipped}},
		{group: "M1", feature: "tasks: continueOn.error does not cover a failure", spec: `
entrypoint: main
templates:
- name: main
  dag:
    tasks:
    - {name: e, template: fail, continueOn: {error: true}}
    - {name: after, dependencies: [e], template: "true"}
    - {name: last, dependencies: [after], template: "true"}`,
			status: query.Failed, states: map[string]dag.State{"e": dag.Failed, "after": dag.Skipped, "last": dag.Skipped}},
		{group: "M1", feature: "continueOn.failed does not cover an error, in steps and in tasks", spec: `
entrypoint: main
templates:
- name: main
  steps: [[{name: steps, template: steps, continueOn: {failed: true, error: true}}, {name: tasks, template: tasks, continueOn: {failed: true, error: true}}]]
- name: steps
  steps: [[{name: e, template: broken, continueOn: {failed: true}}], [{name: after, template: "true"}]]
- name: tasks
  dag: {tasks: [{name: e, template: broken, continueOn: {failed: true}}, {name: after, dependencies: [e], template: "true"}]}` + broken,
			status: query.Succeeded, states: map[string]dag.State{
				"steps": dag.Failed, "steps/e": dag.Failed, "steps/after": dag.Skipped,
				"tasks": dag.Failed, "tasks/e": dag.Failed, "tasks/after": dag.Skipped,
			}},
		{group: "M1", feature: "continueOn.error of an error at the end, and continueOn of the wrong kind there", spec: `
entrypoint: main
templates:
- name: main
  steps: [[{name: right, template: right}, {name: wrong, template: wrong, continueOn: {failed: true}}]]
- name: right
  steps: [[{name: e, template: broken, continueOn: {error: true}}, {name: f, template: fail, continueOn: {failed: true}}]]
- name: wrong
  steps: [[{name: f, template: fail, continueOn: {error: true}}, {name: g, template: fail, continueOn: {failed: true}}]]` + broken,
			status: query.Succeeded, states: map[string]dag.State{"right": dag.Succeeded, "wrong": dag.Failed}},
	}
}
