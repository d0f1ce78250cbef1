package execution_test

import (
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
)

func argoValues() []argoCase {
	return []argoCase{
		{group: "M1", feature: "script: source, args and result", spec: `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: gen, template: gen}
  - - {name: use, template: echo, arguments: {parameters: [{name: text, value: "{{steps.gen.outputs.result}}"}]}}
- name: gen
  script:
    image: python:3
    command: [python3]
    source: |
      import sys
      print("first")
      print(len(sys.argv))`,
			status: query.Succeeded, outputs: map[string]string{"use" + result: "first\n1"}},
		{group: "M1", feature: "output parameters from a path, with a default when there is no file", spec: `
entrypoint: main
templates:
- name: main
  outputs:
    parameters:
    - {name: made, valueFrom: {parameter: "{{steps.one.outputs.parameters.there}}"}}
  steps:
  - - {name: one, template: write}
  - - {name: use, template: echo, arguments: {parameters: [{name: text, value: "{{steps.one.outputs.parameters.there}} {{steps.one.outputs.parameters.absent}}"}]}}
- name: write
  inputs: {parameters: [{name: who, value: you}]}
  outputs:
    parameters:
    - {name: there, valueFrom: {path: $DIR/there}}
    - {name: absent, valueFrom: {path: $DIR/absent, default: "nothing for {{inputs.parameters.who}}"}}
  container: {image: busybox, command: [sh, -c], args: ["echo hello > $DIR/there"]}`,
			status: query.Succeeded, outputs: map[string]string{"use" + result: "hello nothing for you"}, result: map[string]any{"made": "hello"}},
		{group: "M1", feature: "an output parameter whose file is missing fails the task", spec: `
entrypoint: main
templates:
- name: main
  outputs: {parameters: [{name: v, valueFrom: {path: $DIR/never}}]}
  container: {image: busybox, command: ["true"]}`,
			status: query.Failed, states: map[string]dag.State{"main": dag.Failed}},
		{group: "M1", feature: "output parameters by expression: the branch that ran", spec: `
entrypoint: main
templates:
- name: main
  outputs:
    parameters:
    - {name: side, valueFrom: {expression: "steps.heads.status == 'Succeeded' ? steps.heads.outputs.result : steps.tails.outputs.result"}}
    - {name: lost, valueFrom: {parameter: "{{steps.tails.outputs.result}}", default: none}}
  steps:
  - - {name: heads, template: echo, when: "1 == 1", arguments: {parameters: [{name: text, value: heads}]}}
    - {name: tails, template: echo, when: "1 == 2", arguments: {parameters: [{name: text, value: tails}]}}`,
			status: query.Succeeded, result: map[string]any{"side": "heads", "lost": "none"}},
		{group: "M1", feature: "{{=…}}: sprig, jsonpath, and strings that become numbers", spec: `
entrypoint: main
arguments: {parameters: [{name: list, value: '{"a": [1, 2]}'}]}
templates:
- name: main
  steps:
  - - name: one
      template: echo
      arguments: {parameters: [{name: text, value: "{{=sprig.upper('x') + string(asInt('2') + 1)}} {{=jsonpath(workflow.parameters.list, '$.a[1]')}} {{=toJson(filter([1, 2, 3], {# > 1}))}}"}]}`,
			status: query.Succeeded, outputs: map[string]string{"one" + result: "X3 2 [2,3]"}},
		{group: "M1", feature: "exitCode and status of a task that failed", spec: `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: bad, template: fail, continueOn: {failed: true}}
  - - {name: use, template: echo, arguments: {parameters: [{name: text, value: "{{steps.bad.exitCode}} {{steps.bad.status}}"}]}}
    - {name: three, template: "true", when: "{{steps.bad.outputs.exitCode}} == 3"}`,
			status: query.Succeeded, outputs: map[string]string{"use" + result: "3 Failed"}, states: map[string]dag.State{"three": dag.Succeeded}},
	}
}

func argoNames() []argoCase {
	return []argoCase{
		{group: "M1", feature: "defaults of input parameters, and arguments over them", spec: `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: own, template: say}
    - {name: given, template: say, arguments: {parameters: [{name: text, value: b}]}}
- name: say
  inputs: {parameters: [{name: text, default: a}, {name: more, value: "!"}]}
  container: {image: busybox, command: [echo, "-n", "{{inputs.parameters.text}}{{inputs.parameters.more}}"]}
  outputs: {parameters: [{name: same, valueFrom: {expression: "inputs.parameters.text + inputs.parameters.more"}}]}`,
			status: query.Succeeded, outputs: map[string]string{"own/same": "a!", "given/same": "b!"}},
		{group: "M1", feature: "environment with tags; workflow.name, uid, labels and parameters", spec: `
entrypoint: main
arguments: {parameters: [{name: a, value: x}]}
templates:
- name: main
  container:
    image: busybox
    command: [sh, -c]
    args: ['test "$NAME" = "{{workflow.name}}" && test -n "{{workflow.uid}}" && echo "$A {{workflow.labels.team}} {{workflow.parameters}}"']
    env: [{name: A, value: "{{workflow.parameters.a}}"}, {name: NAME, value: "{{workflow.name}}"}]
  outputs: {parameters: [{name: p, valueFrom: {expression: "workflow.parameters.a + workflow.labels.team"}}]}`,
			status: query.Succeeded, outputs: map[string]string{"main/p": "xblue"}},
		{group: "M2", feature: "globalName: an output that the whole workflow can read", spec: `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: make, template: make}
  - - {name: use, template: inner}
- name: make
  outputs: {parameters: [{name: v, globalName: shared, valueFrom: {expression: "'from here'"}}]}
  container: {image: busybox, command: ["true"]}
- name: inner
  steps:
  - - {name: deep, template: echo, arguments: {parameters: [{name: text, value: "{{workflow.outputs.parameters.shared}}"}]}}`,
			status: query.Succeeded, outputs: map[string]string{"use/deep" + result: "from here"}},
		{group: "M3", feature: "inline templates", spec: `
entrypoint: main
templates:
- name: main
  dag:
    tasks:
    - name: one
      inline: {container: {image: busybox, command: [echo, hi]}}
    - {name: two, depends: one, template: echo, arguments: {parameters: [{name: text, value: "{{tasks.one.outputs.result}}"}]}}`,
			status: query.Succeeded, outputs: map[string]string{"two" + result: "hi"}},
		{group: "M3", feature: "templateDefaults", spec: `
entrypoint: main
templateDefaults:
  retryStrategy: {limit: 1}
  container: {image: busybox, command: [echo], env: [{name: X, value: default}]}
templates:
- name: main
  steps:
  - - {name: one, template: short}
  - - {name: use, template: echo, arguments: {parameters: [{name: text, value: "{{steps.one.outputs.result}}"}]}}
- {name: short, container: {args: [short]}}`,
			status: query.Succeeded, outputs: map[string]string{"main/use" + result: "short"}},
	}
}

func argoEnds() []argoCase {
	return []argoCase{
		{group: "M1", feature: "retryStrategy: limit, {{retries}}, and all attempts failing", spec: `
entrypoint: main
templates:
- name: main
  dag:
    failFast: false
    tasks:
    - {name: second, template: flaky}
    - {name: never, template: bad}
- name: flaky
  retryStrategy: {limit: "3"}
  container: {image: busybox, command: [sh, -c], args: ["test {{retries}} -ge 2"]}
- name: bad
  retryStrategy: {limit: 1, backoff: {duration: "1", factor: 2}}
  container: {image: busybox, command: ["false"]}`,
			status: query.Failed, states: map[string]dag.State{"second": dag.Succeeded, "never": dag.Failed}},
		{group: "M1", feature: "retryStrategy.expression over lastRetry", spec: `
entrypoint: main
templates:
- name: main
  dag:
    failFast: false
    tasks: [{name: "no", template: "no"}, {name: "yes", template: "yes"}]
- name: "no"
  retryStrategy: {limit: 5, expression: "lastRetry.exitCode != '3'"}
  container: {image: busybox, command: [sh, -c], args: ["test {{retries}} -ge 1 || exit 3"]}
- name: "yes"
  retryStrategy: {limit: 5, expression: "asInt(lastRetry.exitCode) == 3"}
  container: {image: busybox, command: [sh, -c], args: ["test {{retries}} -ge 1 || exit 3"]}`,
			status: query.Failed, states: map[string]dag.State{"no": dag.Failed, "yes": dag.Succeeded}},
		{group: "M1", feature: "retryStrategy of a template of steps", spec: `
entrypoint: main
templates:
- name: main
  retryStrategy: {limit: 2}
  steps: [[{name: flaky, template: flaky}]]
- name: flaky
  container: {image: busybox, command: [sh, -c], args: ["echo x >> $DIR/tries; test $(wc -l < $DIR/tries) -ge 2"]}`,
			status: query.Succeeded},
		{group: "M1", feature: "timeout and activeDeadlineSeconds of a template", spec: `
entrypoint: main
templates:
- name: main
  dag:
    failFast: false
    tasks: [{name: a, template: slow}, {name: b, template: late}]
- {name: slow, timeout: 1s, container: {image: busybox, command: [sleep, "60"]}}
- {name: late, activeDeadlineSeconds: 1, container: {image: busybox, command: [sleep, "60"]}}`,
			status: query.Failed, states: map[string]dag.State{"a": dag.Failed, "b": dag.Failed}},
	}
}

func argoExits() []argoCase {
	return []argoCase{
		{group: "M1", feature: "onExit after success: workflow.status", spec: `
entrypoint: main
onExit: bye
templates:
- {name: main, steps: [[{name: a, template: "true"}]]}
- name: bye
  steps:
  - - {name: ok, template: "true", when: "{{workflow.status}} == Succeeded"}
    - {name: bad, template: "true", when: "{{workflow.status}} != Succeeded"}`,
			status: query.Succeeded, states: map[string]dag.State{"onExit/ok": dag.Succeeded, "onExit/bad": dag.Skipped}},
		{group: "M1", feature: "onExit after a failure: workflow.failures", spec: `
entrypoint: main
onExit: bye
templates:
- {name: main, steps: [[{name: a, template: fail}]]}
- name: bye
  inputs: {parameters: [{name: who, value: "{{=jsonpath(workflow.failures, '$[0].displayName')}}"}]}
  container: {image: busybox, command: [sh, -c], args: ["test '{{workflow.status}} {{inputs.parameters.who}}' = 'Failed a'"]}`,
			status: query.Failed, states: map[string]dag.State{"onExit": dag.Succeeded}},
		{group: "M1", feature: "hooks of a task: exit, and by status; other nodes are not affected", spec: `
entrypoint: main
templates:
- name: main
  dag:
    failFast: false
    tasks:
    - name: bad
      template: fail
      hooks:
        exit: {template: "true"}
        failed: {template: "true", expression: 'tasks["bad"].status == "Failed"'}
        fine: {template: "true", expression: 'tasks["bad"].status == "Succeeded"'}
        running: {template: "true", expression: 'tasks["bad"].status == "Running"'}
    - {name: after, template: "true", depends: bad}`,
			status: query.Failed, states: map[string]dag.State{
				"bad-exit": dag.Succeeded, "bad-failed": dag.Succeeded, "bad-fine": dag.Skipped, "bad-running": dag.Succeeded, "after": dag.Skipped,
			}},
		{group: "M1", feature: "hooks of the workflow: exit, running and by its status", spec: `
entrypoint: main
hooks:
  exit: {template: "true"}
  running: {template: "true", expression: workflow.status == "Running"}
  failed: {template: "true", expression: workflow.status == "Failed"}
  fine: {template: "true", expression: workflow.status == "Succeeded"}
templates:
- {name: main, steps: [[{name: bad, template: fail}]]}`,
			status: query.Failed, states: map[string]dag.State{
				"hooks-exit": dag.Succeeded, "hooks-running": dag.Succeeded, "hooks-failed": dag.Succeeded, "hooks-fine": dag.Skipped,
			}},
	}
}

func argoGuards() []argoCase {
	return []argoCase{
		{group: "M1", feature: "retryStrategy.backoff.maxDuration: no attempt starts later", spec: `
entrypoint: main
templates:
- name: main
  retryStrategy: {limit: 50, backoff: {duration: "1", maxDuration: "1"}}
  container: {image: busybox, command: ["false"]}`,
			status: query.Failed, states: map[string]dag.State{"main": dag.Failed}},
		{group: "M4", feature: "synchronization: a mutex and a semaphore admit one holder at a time", spec: `
entrypoint: main
ttlStrategy: {secondsAfterCompletion: 3600}
templates:
- name: main
  dag:
    tasks:
    - {name: a, template: alone}
    - {name: b, template: alone}
    - {name: c, template: alone}
- name: alone
  synchronization: {mutexes: [{name: case-door}], semaphore: {configMapKeyRef: {name: case-config, key: room}}}
  container: {image: busybox, command: [sh, -c], args: ["mkdir $DIR/in && sleep 0.1 && rmdir $DIR/in"]}`,
			status: query.Succeeded},
		{group: "M4", feature: "memoize: the outputs of an earlier node with the same key, regardless of its inputs and command", spec: `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: first, template: count, arguments: {parameters: [{name: k, value: x}]}}
  - - {name: again, template: count, arguments: {parameters: [{name: k, value: x}]}}
    - {name: other, template: count, arguments: {parameters: [{name: k, value: "y"}]}}
    - {name: command, template: same}
- name: same
  inputs: {parameters: [{name: unread, value: "{{workflow.name}}"}]}
  memoize: {key: "count-$DIR-x", cache: {configMap: {name: counts}}}
  outputs: {parameters: [{name: "n", valueFrom: {path: "$DIR/n-same"}}]}
  container: {image: busybox, command: [sh, -c], args: ["echo {{workflow.name}} > $DIR/n-same"]}
- name: count
  inputs: {parameters: [{name: k}]}
  memoize: {key: "count-$DIR-{{inputs.parameters.k}}", maxAge: 1h, cache: {configMap: {name: counts}}}
  outputs: {parameters: [{name: "n", valueFrom: {path: "$DIR/n-{{inputs.parameters.k}}"}}]}
  container: {image: busybox, command: [sh, -c], args: ["echo x >> $DIR/runs; wc -l < $DIR/runs > $DIR/n-{{inputs.parameters.k}}"]}`,
			status: query.Succeeded, outputs: map[string]string{"first/n": "1", "again/n": "1", "other/n": "2", "command/n": "1"}},
		{group: "M4", feature: "memoize of templates of steps and tasks", spec: `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: first, template: twice, arguments: {parameters: [{name: k, value: a}]}}
  - - {name: again, template: twice, arguments: {parameters: [{name: k, value: a}]}}
    - {name: each, template: twice, withItems: [a, b], arguments: {parameters: [{name: k, value: "{{item}}"}]}}
    - {name: deep, template: deep, arguments: {parameters: [{name: k, value: c}]}}
- name: twice
  inputs: {parameters: [{name: k}]}
  memoize: {key: "twice-$DIR-{{inputs.parameters.k}}", cache: {configMap: {name: counts}}}
  outputs: {parameters: [{name: "n", valueFrom: {parameter: "{{steps.count.outputs.parameters.n}}"}}]}
  steps: [[{name: count, template: count, arguments: {parameters: [{name: k, value: "{{inputs.parameters.k}}"}]}}]]
- name: deep # its inner template has the same key
  inputs: {parameters: [{name: k}]}
  memoize: {key: "twice-$DIR-{{inputs.parameters.k}}", cache: {configMap: {name: counts}}}
  dag: {tasks: [{name: inner, template: twice, arguments: {parameters: [{name: k, value: "{{inputs.parameters.k}}"}]}}]}
- name: count
  inputs: {parameters: [{name: k}]}
  outputs: {parameters: [{name: "n", valueFrom: {path: "$DIR/n-{{inputs.parameters.k}}"}}]}
  container: {image: busybox, command: [sh, -c], args: ["echo x >> $DIR/{{inputs.parameters.k}}; wc -l < $DIR/{{inputs.parameters.k}} > $DIR/n-{{inputs.parameters.k}}"]}`,
			status: query.Succeeded, states: map[string]dag.State{"deep/inner/count": dag.Succeeded},
			outputs: map[string]string{"first/n": "1", "again/n": "1", "each[0]/n": "1", "each[1]/n": "1"}},
		{group: "M1", feature: "suspend for a duration", spec: `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: wait, template: wait}
  - - {name: after, template: "true"}
- {name: wait, suspend: {duration: "1"}}`,
			status: query.Succeeded, states: map[string]dag.State{"after": dag.Succeeded}},
		{group: "M1", feature: "suspend with supplied values: their defaults apply after the timeout", spec: `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: ask, template: ask}
  - - {name: use, template: echo, arguments: {parameters: [{name: text, value: "{{steps.ask.outputs.parameters.approve}}"}]}}
- name: ask
  inputs: {parameters: [{name: approve, default: "no", enum: ["yes", "no"], description: May it go on?}]}
  outputs: {parameters: [{name: approve, valueFrom: {supplied: {}}}]}
  suspend: {duration: "1"}`,
			status: query.Succeeded, outputs: map[string]string{"use" + result: "no"}},
	}
}
