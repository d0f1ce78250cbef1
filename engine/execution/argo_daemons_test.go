package execution_test

import (
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// argoDaemons are cases of daemon containers.
func argoDaemons() []argoCase {
	return []argoCase{
		{group: "M5", feature: "daemon: later nodes start once it is ready, and it ends with its template", spec: `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: inner, template: inner}
  - - {name: after, template: look}
- name: inner
  steps:
  - - {name: db, template: db}
  - - {name: use, template: look}
  - - {name: where, template: echo, arguments: {parameters: [{name: text, value: "{{steps.db.ip}} {{steps.db.status}}"}]}}
- name: db
  daemon: true
  container: {image: busybox, command: [sh, -c], args: ["echo $$ > $DIR/pid; exec sleep 1000"]}
- name: look
  container: {image: busybox, command: [sh, -c], args: ["until test -s $DIR/pid; do sleep 0.02; done; kill -0 $(cat $DIR/pid) 2>/dev/null && echo runs || echo gone"]}`,
			status:  query.Succeeded,
			states:  map[string]dag.State{"inner/db": dag.Succeeded},
			outputs: map[string]string{"inner/use" + result: "runs", "inner/where" + result: "127.0.0.1 Running", "after" + result: "gone"}},
		{group: "M5", feature: "daemon: depends reads Daemoned; its own end fails nothing; parallelism does not count it", spec: `
entrypoint: main
parallelism: 1
templates:
- name: main
  dag:
    tasks:
    - {name: short, template: short}
    - {name: seen, template: "true", depends: short.Daemoned || short.Succeeded}
    - {name: db, template: db}
    - {name: use, template: "true", dependencies: [db]}
    - {name: ended, template: "true", depends: db.Succeeded}
- name: short
  daemon: true
  container: {image: busybox, command: [sh, -c], args: ["sleep 0.5; exit 3"]}
- name: db
  daemon: true
  container: {image: busybox, command: [sleep, "1000"]}`,
			status: query.Succeeded,
			states: map[string]dag.State{"short": dag.Succeeded, "seen": dag.Succeeded, "db": dag.Succeeded, "use": dag.Succeeded, "ended": dag.Skipped}},
		{group: "M5", feature: "daemon: its outputs are collected when it is stopped; those that it did not write are left out", spec: `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: db, template: db}
  - - {name: use, template: use}
- name: db
  daemon: true
  outputs: {parameters: [{name: count, valueFrom: {path: $DIR/count}}, {name: absent, valueFrom: {path: $DIR/absent}}]}
  container: {image: busybox, command: [sh, -c], args: ["trap 'echo last > $DIR/count; exit 143' TERM; while :; do sleep 0.05; done"]}
- name: use
  container: {image: busybox, command: [sleep, "0.2"]}`,
			status: query.Succeeded, states: map[string]dag.State{"db": dag.Succeeded}, outputs: map[string]string{"db/count": "last", "db/ip": "127.0.0.1"}},
		{group: "M5", feature: "daemon: one that never starts fails like any other task", spec: `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: db, template: db}
  - - {name: use, template: "true"}
- name: db
  daemon: true
  container: {image: busybox, command: [there-is-no-such-program]}`,
			status: query.Failed,
			states: map[string]dag.State{"db": dag.Failed, "use": dag.Skipped}},
	}
}
