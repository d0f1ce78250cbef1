package execution_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/argo"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
)

func argoHooks() []argoCase {
	return []argoCase{
		{group: "M1", feature: "hooks of a task that fails run although its template fails fast; hooks of tasks that never started do not", spec: `
entrypoint: main
templates:
- name: main
  failFast: true
  dag:
    tasks:
    - {name: bad, template: fail, onExit: "true", hooks: {failed: {template: "true", expression: 'tasks.bad.status == "Failed"'}, fine: {template: "true", expression: 'tasks.bad.status == "Succeeded"'}}}
    - {name: slow, template: sleep, hooks: {exit: {template: "true"}}}
    - {name: after, template: "true", depends: slow, hooks: {exit: {template: "true"}, running: {template: "true", expression: 'tasks.after.status == "Running"'}}}
- {name: sleep, container: {image: busybox, command: [sleep, "1"]}}`,
			status: query.Failed, states: map[string]dag.State{
				"bad-exit": dag.Succeeded, "bad-failed": dag.Succeeded, "bad-fine": dag.Skipped, "slow": dag.Succeeded, "slow-exit": dag.Succeeded,
				"after": dag.Skipped, "after-exit": dag.Skipped, "after-running": dag.Skipped,
			}},
		{group: "M1", feature: "hooks of a task that fail, or run templates that fail, do not affect other nodes", spec: `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: a, template: "true", hooks: {exit: {template: fail}}}
    - {name: b, template: "true", onExit: group}
  - - {name: inner, template: tasks}
- name: tasks
  dag:
    tasks:
    - {name: c, template: "true", onExit: fail}
    - {name: d, template: "true", depends: c}
- name: group
  steps: [[{name: only, template: fail}]]`,
			status: query.Succeeded, states: map[string]dag.State{
				"a-exit": dag.Failed, "b-exit": dag.Failed, "inner/c-exit": dag.Failed, "inner/d": dag.Succeeded,
			}},
		{group: "M1", feature: "hooks of a task that did not run do not run either, whatever they read", spec: `
entrypoint: main
templates:
- name: main
  dag:
    tasks:
    - {name: "off", template: "true", when: "1 == 2", onExit: "true", hooks: {running: {template: "true", expression: 'tasks.off.status == "Running"'}}}
    - {name: "on", template: "true", when: "1 == 1", onExit: "true", hooks: {running: {template: "true", expression: 'tasks.on.status == "Running"'}}}`,
			status: query.Succeeded, states: map[string]dag.State{
				"off-exit": dag.Skipped, "off-running": dag.Skipped, "on-exit": dag.Succeeded, "on-running": dag.Succeeded,
			}},
		{group: "M1", feature: "dag.target: hooks run with their tasks", spec: `
entrypoint: main
templates:
- name: main
  dag:
    target: b
    tasks:
    - {name: a, template: "true", onExit: "true"}
    - {name: b, depends: a, template: "true", hooks: {running: {template: "true", expression: 'tasks.b.status == "Running"'}}}
    - {name: c, template: "true", onExit: "true", hooks: {running: {template: "true", expression: 'tasks.c.status == "Running"'}}}`,
			status: query.Succeeded, states: map[string]dag.State{
				"a-exit": dag.Succeeded, "b-running": dag.Succeeded, "c": dag.Skipped, "c-exit": dag.Skipped, "c-running": dag.Skipped,
			}},
		{group: "M1", feature: "exit hooks of a loop run for each item that ran, and read the item, its status and its outputs", spec: `
entrypoint: main
templates:
- name: main
  steps:
  - - name: each
      template: code
      withItems: [{at: a, code: 0}, {at: b, code: 4}, {at: c, code: 0}]
      when: "{{item.at}} != c"
      continueOn: {failed: true}
      arguments: {parameters: [{name: code, value: "{{item.code}}"}]}
      hooks:
        exit: {template: echo, arguments: {parameters: [{name: text, value: "{{item.at}} {{steps.each.status}} {{steps.each.exitCode}}"}]}}
    - name: some
      template: echo
      withParam: '["x", "y"]'
      arguments: {parameters: [{name: text, value: "<{{item}}>"}]}
      hooks:
        exit: {template: echo, expression: 'steps.some.outputs.result == "<y>"', arguments: {parameters: [{name: text, value: "{{item}} gave {{steps.some.outputs.result}}"}]}}
- name: code
  inputs: {parameters: [{name: code}]}
  container: {image: busybox, command: [sh, -c], args: ["exit {{inputs.parameters.code}}"]}`,
			status: query.Succeeded, outputs: map[string]string{
				"each-exit[0]" + result: "a Succeeded 0", "each-exit[1]" + result: "b Failed 4", "some-exit[1]" + result: "y gave <y>",
			}, states: map[string]dag.State{"each-exit[2]": dag.Skipped, "some-exit[0]": dag.Skipped}},
	}
}

func argoExitHandlers() []argoCase {
	return []argoCase{
		{group: "M1", feature: "onExit: its failure fails a workflow that had succeeded; that of other hooks does not", spec: `
entrypoint: main
onExit: fail
hooks: {fine: {template: fail, expression: workflow.status == "Succeeded"}, running: {template: fail, expression: workflow.status == "Running"}}
templates:
- {name: main, steps: [[{name: good, template: "true"}]]}`,
			status: query.Failed, states: map[string]dag.State{"good": dag.Succeeded, "onExit": dag.Failed}},
		{group: "M1", feature: "exit handlers without arguments receive those of the workflow", spec: `
entrypoint: main
arguments: {parameters: [{name: text, value: hello}, {name: other, value: x}]}
hooks: {exit: {template: echo}, failed: {template: fail, expression: workflow.status == "Succeeded"}}
templates:
- name: main
  dag: {tasks: [{name: a, template: "true", onExit: echo}, {name: b, template: "true", hooks: {exit: {template: echo}}}, {name: c, template: "true", hooks: {exit: {template: echo, arguments: {parameters: [{name: text, value: own}]}}}}]}`,
			status: query.Succeeded, outputs: map[string]string{
				"a-exit" + result: "hello", "b-exit" + result: "hello", "c-exit" + result: "own", "hooks-exit" + result: "hello",
			}, states: map[string]dag.State{"hooks-failed": dag.Failed}},
	}
}

func argoFailFast() []argoCase {
	return []argoCase{
		{group: "M1", feature: "failFast of a template of steps: nothing in it starts after a failure, regardless of continueOn", spec: `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: loop, template: loop, continueOn: {failed: true}}
    - {name: group, template: group, continueOn: {failed: true}}
    - {name: slow, template: without, continueOn: {failed: true}}
- name: loop
  parallelism: 1
  failFast: true
  steps:
  - - {name: each, template: code, withItems: [0, 1, 0], continueOn: {failed: true}, arguments: {parameters: [{name: code, value: "{{item}}"}]}}
  - - {name: after, template: "true"}
- name: group
  parallelism: 1
  failFast: true
  steps:
  - - {name: bad, template: fail, onExit: "true"}
    - {name: good, template: "true"}
- name: without
  parallelism: 1
  steps:
  - - {name: bad, template: fail}
    - {name: good, template: "true"}
- name: code
  inputs: {parameters: [{name: code}]}
  container: {image: busybox, command: [sh, -c], args: ["exit {{inputs.parameters.code}}"]}`,
			status: query.Succeeded, states: map[string]dag.State{
				"loop": dag.Failed, "loop/each[0]": dag.Succeeded, "loop/each[1]": dag.Failed, "loop/each[2]": dag.Skipped, "loop/after": dag.Skipped,
				"group": dag.Failed, "group/good": dag.Skipped, "group/bad-exit": dag.Succeeded, "slow/good": dag.Succeeded,
			}},
		{group: "M1", feature: "failFast of a template of tasks overrides that of its dag", spec: `
entrypoint: main
templates:
- name: main
  parallelism: 1
  failFast: true
  dag:
    failFast: false
    tasks:
    - {name: bad, template: fail, continueOn: {failed: true}}
    - {name: good, template: "true"}
    - {name: after, template: "true", dependencies: [bad]}`,
			status: query.Failed, states: map[string]dag.State{"main/good": dag.Skipped, "main/after": dag.Skipped}},
	}
}

func argoErrors() []argoCase {
	return []argoCase{
		{group: "M1", feature: "a template of tasks has the state of the failure in it, Failed or Error; a template of steps has Failed", spec: `
entrypoint: main
onExit: look
templates:
- name: main
  steps:
  - - {name: tasks, template: tasks, continueOn: {error: true, failed: true}}
    - {name: steps, template: steps, continueOn: {error: true, failed: true}}
    - {name: exits, template: exits, continueOn: {error: true, failed: true}}
    - {name: outer, template: outer, continueOn: {error: true, failed: true}}
  - - {name: told, template: echo, arguments: {parameters: [{name: text, value: "{{steps.tasks.status}} {{steps.steps.status}} {{steps.exits.status}} {{steps.outer.status}}"}]}}
  - - {name: depends, template: depends}
- name: tasks
  dag: {tasks: [{name: lost, template: missing}]}
- name: steps
  steps: [[{name: lost, template: missing}]]
- name: exits
  dag: {tasks: [{name: bad, template: fail}]}
- name: outer
  dag: {failFast: false, tasks: [{name: exits, template: exits}, {name: each, template: tasks, withItems: [1, 2]}]}
- name: depends
  dag:
    tasks:
    - {name: tasks, template: tasks}
    - {name: error, template: "true", depends: tasks.Errored}
    - {name: failed, template: "true", depends: tasks.Failed || error.Succeeded}
- name: missing # an output that is not there is no fault of the command
  outputs: {parameters: [{name: out, valueFrom: {path: "$DIR/nowhere"}}]}
  container: {image: busybox, command: ["true"]}
- name: look
  container: {image: busybox, command: [test], args: ["{{workflow.status}}", =, Succeeded]}`,
			status: query.Succeeded, outputs: map[string]string{"told" + result: "Error Failed Failed Error"},
			states: map[string]dag.State{"depends/error": dag.Succeeded, "onExit": dag.Succeeded}},
		{group: "M1", feature: "workflow.status is Error when the entry point of tasks ends so", spec: `
entrypoint: main
onExit: look
templates:
- name: main
  dag: {tasks: [{name: lost, template: missing}]}
- name: missing
  outputs: {parameters: [{name: out, valueFrom: {path: "$DIR/nowhere"}}]}
  container: {image: busybox, command: ["true"]}
- name: look
  container: {image: busybox, command: [test], args: ["{{workflow.status}}", =, Error]}`,
			status: query.Failed, states: map[string]dag.State{"onExit": dag.Succeeded}},
		{group: "M1", feature: "workflow.status is Failed when the entry point of steps fails, for any failure in it", spec: `
entrypoint: main
onExit: look
templates:
- name: main
  steps: [[{name: lost, template: missing}]]
- name: missing
  outputs: {parameters: [{name: out, valueFrom: {path: "$DIR/nowhere"}}]}
  container: {image: busybox, command: ["true"]}
- name: look
  container: {image: busybox, command: [test], args: ["{{workflow.status}}", =, Failed]}`,
			status: query.Failed, states: map[string]dag.State{"onExit": dag.Succeeded}},
	}
}

func argoEmpty() []argoCase {
	return []argoCase{
		{group: "M1", feature: "a loop over an empty list and its hooks are skipped", spec: `
entrypoint: main
templates:
- name: main
  dag:
    tasks:
    - {name: make, template: echo, arguments: {parameters: [{name: text, value: "[]"}]}}
    - {name: a, depends: make, template: echo, withParam: "{{tasks.make.outputs.result}}", onExit: "true", arguments: {parameters: [{name: text, value: "{{item}}"}]}}
    - {name: succeeded, depends: a.Succeeded, template: "true"}
    - {name: skipped, depends: a.Skipped, template: "true"}
    - {name: bare, depends: a, template: "true"}
    - {name: listed, dependencies: [a], template: echo, arguments: {parameters: [{name: text, value: "{{tasks.a.status}} {{tasks.a.outputs.result}}"}]}}
    - {name: inner, depends: a, template: steps}
- name: steps
  steps:
  - - {name: none, template: "true", withSequence: {count: 0}}
  - - {name: after, template: echo, arguments: {parameters: [{name: text, value: "{{steps.none.status}}"}]}}`,
			status: query.Succeeded, outputs: map[string]string{"listed" + result: "Skipped []", "inner/after" + result: "Skipped"},
			states: map[string]dag.State{
				"a": dag.Skipped, "a-exit": dag.Skipped, "succeeded": dag.Skipped, "skipped": dag.Succeeded, "bare": dag.Succeeded, "inner/none": dag.Skipped,
			}},
	}
}

// TestKillPointsOfHooks crashes the server around hooks in a graph that drains, hooks of
// items, a loop over an empty list, and a graph that ends with an error: the next server
// continues correctly.
func TestKillPointsOfHooks(t *testing.T) {
	t.Parallel()
	for _, point := range []string{
		"flush.written:2", "flush.written:3", "flush.written:4", "flush.written:5", "flush.committed:2", "flush.committed:3", "flush.committed:4",
		"flush.committed:5", "flush.committed:6", "flush.effects:3", "start.begin:2", "start.done:3", "deliver.posted:3", "deliver.answer:4",
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			b := setupKill(t)
			b.registerAs(fmt.Sprintf(argoHead, "kill")+strings.ReplaceAll(`
spec:
  entrypoint: main
  templates:
  - name: main
    dag:
      tasks:
      - {name: none, template: work, withParam: "[]", onExit: work}
      - {name: each, template: work, depends: none.Skipped, withItems: [a, b], hooks: {exit: {template: look, arguments: {parameters: [{name: text, value: "{{item}} {{tasks.each.status}}"}]}}}}
      - {name: lost, template: lost}
      - {name: told, template: work, depends: lost.Errored && each}
      - {name: bad, template: bad, depends: told, onExit: work}
      - {name: after, template: work, depends: bad}
  - name: lost
    dag: {tasks: [{name: file, template: missing, onExit: work}]}
  - name: work
    container: {image: busybox, command: [sh, -c, "echo $TASK $NODE >>$DIR/runs"]}
  - name: bad
    container: {image: busybox, command: [sh, -c, "echo $TASK $NODE >>$DIR/runs; exit 1"]}
  - name: look
    inputs: {parameters: [{name: text}]}
    container: {image: busybox, command: [sh, -c, "echo $TASK $NODE >>$DIR/runs; echo {{inputs.parameters.text}} >>$DIR/texts"]}
  - name: missing
    outputs: {parameters: [{name: out, valueFrom: {path: "$DIR/nowhere"}}]}
    container: {image: busybox, command: ["true"]}
`, "$DIR", b.dir), argo.Format{})
			b.crashAt(point)
			b.waitAll(1, time.Minute)
			b.checkAll("FAILED", map[string]int{
				"none-exit": 0, "each[0]": 1, "each[1]": 1, "each-exit[0]": 1, "each-exit[1]": 1, "lost/file-exit": 1, "told": 1, "bad": 1, "bad-exit": 1, "after": 0,
			})
			require.ElementsMatch(t, []string{"a Succeeded", "b Succeeded"}, readLines(t, b.dir+"/texts"))
		})
	}
}

// TestResumeOfHooks: hooks that run again in another execution read the items of the
// previous one, which did not run again.
func TestResumeOfHooks(t *testing.T) {
	t.Parallel()
	b := argoSetup(t)
	id := b.launch(argoDocument(argoCase{spec: `
entrypoint: main
templates:
- name: main
  dag:
    tasks:
    - name: each
      template: echo
      withItems: [a, b]
      arguments: {parameters: [{name: text, value: "<{{item}}>"}]}
      hooks: {exit: {template: echo, expression: 'tasks.each.outputs.result != "<a>"', arguments: {parameters: [{name: text, value: "{{item}} {{tasks.each.status}} {{tasks.each.outputs.result}}"}]}}}`}, 0, ""), nil)
	require.Equal(t, query.Succeeded, b.finish(id).Status)
	again := b.resume(execution.ResumeRequest{Of: id, From: "each-exit"})
	require.Equal(t, query.Succeeded, again.Status)
	require.Equal(t, []string{"each-exit[1]"}, b.ran(again.ID))
	require.Equal(t, "b Succeeded <b>", b.node(again.ID, "each-exit[1]").Outputs[execution.ResultPort])
}
