package execution_test

import (
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
)

func argoDatabaseLocks() []argoCase {
	return []argoCase{
		{group: "M4", feature: "synchronization in a database: FlowForge's own, where an administrator sets the permits", spec: `
entrypoint: main
templates:
- name: main
  dag: {tasks: [{name: a, template: alone}, {name: b, template: alone}]}
- name: alone
  synchronization: {mutex: {name: db-door, database: true}, semaphores: [{database: {key: db-room}}]}
  container: {image: busybox, command: [sh, -c], args: ["mkdir $DIR/in && sleep 0.1 && rmdir $DIR/in"]}`,
			status: query.Succeeded},
	}
}

func argoGroupRetries() []argoCase {
	return []argoCase{
		{group: "M1", feature: "retryStrategy of a template of steps: its policy and expression read the failure in it", spec: `
entrypoint: main
templates:
- name: main
  dag:
    failFast: false
    tasks: [{name: declined, template: declined}, {name: other, template: other}, {name: again, template: again}]
- name: declined
  retryStrategy: {limit: 3, retryPolicy: OnError}
  steps: [[{name: work, template: work, arguments: {parameters: [{name: at, value: declined}]}}]]
- name: other
  retryStrategy: {limit: 3, expression: "asInt(lastRetry.exitCode) == 4"}
  steps: [[{name: inner, template: inner}]]
- name: inner
  steps: [[{name: work, template: work, arguments: {parameters: [{name: at, value: other}]}}]]
- name: again
  retryStrategy: {limit: 3, retryPolicy: OnFailure, expression: "asInt(lastRetry.exitCode) == 3"}
  steps: [[{name: work, template: work, arguments: {parameters: [{name: at, value: again}]}}]]
- name: work
  inputs: {parameters: [{name: at}]}
  container: {image: busybox, command: [sh, -c], args: ["echo x >> $DIR/{{inputs.parameters.at}}; test $(wc -l < $DIR/{{inputs.parameters.at}}) -ge 3 || exit 3"]}`,
			status: query.Failed, states: map[string]dag.State{"declined": dag.Failed, "other": dag.Failed, "again": dag.Succeeded},
			messages: map[string]string{"declined": "Its retry policy OnError retries errors around the command", "other": "Its retry expression is false."}},
	}
}
