package execution_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flowforge/flowforge/engine/argo"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
)

func argoSettings() []argoCase {
	return []argoCase{
		{group: "M1", feature: "tags in timeout and activeDeadlineSeconds", spec: `
entrypoint: main
arguments: {parameters: [{name: most, value: "1"}]}
templates:
- name: main
  dag:
    failFast: false
    tasks:
    - {name: short, template: slow, arguments: {parameters: [{name: limit, value: 500ms}]}}
    - {name: long, template: slow, arguments: {parameters: [{name: limit, value: 20s}]}}
    - {name: dead, template: dead}
    - {name: odd, template: slow, arguments: {parameters: [{name: limit, value: soon}]}}
- name: slow
  inputs: {parameters: [{name: limit}]}
  timeout: "{{inputs.parameters.limit}}"
  container: {image: busybox, command: [sleep, "1"]}
- name: dead
  activeDeadlineSeconds: "{{workflow.parameters.most}}"
  container: {image: busybox, command: [sleep, "60"]}`,
			status: query.Failed, states: map[string]dag.State{"short": dag.Failed, "long": dag.Succeeded, "dead": dag.Failed, "odd": dag.Failed},
			messages: map[string]string{"odd": `A duration is a number of seconds, or a value such as 2h or 30m, not "soon" (spec.templates[1].timeout).`}},
		{group: "M1", feature: "tags in retryStrategy: limit, expression and backoff, separately for each item of a loop", spec: `
entrypoint: main
templates:
- name: main
  dag:
    failFast: false
    tasks:
    - name: each
      template: work
      withItems: [{at: a, limit: "1", again: "true"}, {at: b, limit: "5", again: "true"}, {at: c, limit: "5", again: "false"}]
      arguments: {parameters: [{name: at, value: "{{item.at}}"}, {name: limit, value: "{{item.limit}}"}, {name: again, value: "{{item.again}}"}]}
    - {name: group, template: group, arguments: {parameters: [{name: limit, value: "3"}]}}
- name: group
  inputs: {parameters: [{name: limit}]}
  retryStrategy: {limit: "{{inputs.parameters.limit}}"}
  steps: [[{name: only, template: third, arguments: {parameters: [{name: at, value: group}]}}]]
- name: work
  inputs: {parameters: [{name: at}, {name: limit}, {name: again}]}
  retryStrategy: {limit: "{{inputs.parameters.limit}}", expression: "{{inputs.parameters.again}} == true || lastRetry.message matches 'never'", backoff: {duration: "0", factor: "{{inputs.parameters.limit}}"}}
  container: {image: busybox, command: [sh, -c], args: ["echo x >> $DIR/{{inputs.parameters.at}}; test $(wc -l < $DIR/{{inputs.parameters.at}}) -ge 3"]}
- name: third
  inputs: {parameters: [{name: at}]}
  container: {image: busybox, command: [sh, -c], args: ["echo x >> $DIR/{{inputs.parameters.at}}; test $(wc -l < $DIR/{{inputs.parameters.at}}) -ge 3"]}`,
			status: query.Failed, states: map[string]dag.State{"each[0]": dag.Failed, "each[1]": dag.Succeeded, "each[2]": dag.Failed, "group": dag.Succeeded},
			messages: map[string]string{"each[2]": "Its retry expression is false."}},
		{group: "M4", feature: "synchronization: tags in the names of locks, of templates of tasks as well", spec: `
entrypoint: main
templates:
- name: main
  dag:
    tasks:
    - {name: each, template: alone, withItems: [a, a, b], arguments: {parameters: [{name: at, value: "{{item}}"}]}}
    - {name: group, template: group, withItems: [c, c], arguments: {parameters: [{name: at, value: "{{item}}"}]}}
- name: group
  inputs: {parameters: [{name: at}]}
  synchronization: {mutex: {name: "group-{{inputs.parameters.at}}"}}
  dag: {tasks: [{name: in, template: work, arguments: {parameters: [{name: at, value: "{{inputs.parameters.at}}"}]}}]}
- name: alone
  inputs: {parameters: [{name: at}]}
  synchronization: {mutexes: [{name: "door-{{inputs.parameters.at}}"}, {name: "{{workflow.uid}}-{{inputs.parameters.at}}"}]}
  container: {image: busybox, command: [sh, -c], args: ["mkdir $DIR/in-{{inputs.parameters.at}} && sleep 0.1 && rmdir $DIR/in-{{inputs.parameters.at}}"]}
- name: work
  inputs: {parameters: [{name: at}]}
  container: {image: busybox, command: [sh, -c], args: ["mkdir $DIR/in-{{inputs.parameters.at}} && sleep 0.1 && rmdir $DIR/in-{{inputs.parameters.at}}"]}`,
			status: query.Succeeded},
		{group: "M1", feature: "suspend for a duration given by a parameter", spec: `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: wait, template: wait, arguments: {parameters: [{name: time, value: "1"}]}}
  - - {name: after, template: "true"}
- name: wait
  inputs: {parameters: [{name: time}]}
  suspend: {duration: "{{inputs.parameters.time}}"}`,
			status: query.Succeeded, states: map[string]dag.State{"after": dag.Succeeded}},
	}
}

// TestKillPointsOfSettings crashes the server around operators whose retries, timeouts and
// locks depend on their inputs: the next server knows them.
func TestKillPointsOfSettings(t *testing.T) {
	t.Parallel()
	for _, point := range []string{
		"flush.written:2", "flush.written:3", "flush.written:4", "flush.committed:2", "flush.committed:3", "flush.committed:4",
		"flush.effects:3", "start.begin:1", "start.done:1", "deliver.answer:1", "deliver.answer:2",
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
      - {name: moody, template: work, arguments: {parameters: [{name: lock, value: door}, {name: limit, value: "2"}, {name: fails, value: "*.1|*.2"}]}}
      - {name: fine, template: work, arguments: {parameters: [{name: lock, value: door}, {name: limit, value: "0"}, {name: fails, value: never}]}}
  - name: work
    inputs: {parameters: [{name: lock}, {name: limit}, {name: fails}]}
    timeout: "{{inputs.parameters.limit}}1m"
    synchronization: {mutex: {name: "{{inputs.parameters.lock}}"}}
    retryStrategy: {limit: "{{inputs.parameters.limit}}"}
    container: {image: busybox, command: [sh, -c, "echo $TASK $NODE >>$DIR/runs; mkdir $DIR/in || exit 9; sleep 0.05; rmdir $DIR/in; case $TASK in {{inputs.parameters.fails}}) exit 1;; esac"]}
`, "$DIR", b.dir), argo.Format{})
			b.crashAt(point)
			b.waitAll(1, time.Minute)
			b.checkAll("SUCCEEDED", map[string]int{"moody": 3, "fine": 1})
		})
	}
}
