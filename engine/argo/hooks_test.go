package argo_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFailFastIsHonouredOrRefused: where a template cannot fail fast it says so.
func TestFailFastIsHonouredOrRefused(t *testing.T) {
	t.Parallel()
	found := refusedFields(t, `
entrypoint: main
templates:
- name: main
  failFast: true
  dag:
    tasks:
    - {name: a, template: one}
    - {name: b, template: one, depends: a.Failed}
    - {name: c, template: one, depends: "a.Succeeded && !b.Skipped"}
- name: one
  failFast: true
  container: {image: a, command: [b]}`)
	require.Equal(t, map[string]string{
		"spec.templates[0].dag.tasks[1].depends": "With the template's failFast, nothing starts after a failure; remove one of the two.",
	}, found)

	d, problems := parse(t, `
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: x}
spec:
  entrypoint: main
  templates:
  - {name: main, failFast: true, steps: [[{name: a, template: one, continueOn: {failed: true}, onExit: one}], [{name: b, template: one}]]}
  - {name: one, failFast: false, container: {image: a, command: [b]}}`)
	require.Empty(t, problems)
	a, exit, b := d.Operators[0], d.Operators[1], d.Operators[2]
	require.True(t, a.Drain && !a.AllowFailure && b.Drain)
	require.NotContains(t, b.Depends, "Failed")
	require.True(t, exit.Watches && exit.Late && exit.AllowFailure && !exit.Drain)
}

// TestHooksOfLoops: {{item}} has a meaning in the exit hook of a loop, and nowhere else
// alongside the task itself.
func TestHooksOfLoops(t *testing.T) {
	t.Parallel()
	const spec = `
entrypoint: main
templates:
- name: main
  steps:
  - - name: each
      template: one
      withItems: [a]
      hooks:
        exit: {template: one, expression: 'item == "a"', arguments: {parameters: [{name: text, value: "{{item}}"}]}}
        late: {template: one, expression: 'steps.each.status == "Failed"', arguments: {parameters: [{name: text, value: "{{item}}"}]}}
  - - name: alone
      template: one
      hooks: {exit: {template: one, arguments: {parameters: [{name: text, value: "{{item}}"}]}}}
- {name: one, inputs: {parameters: [{name: text, default: x}]}, container: {image: a, command: [b]}}`
	const only = "Items are available only in the arguments and condition of a task with withItems, withParam or withSequence; pass the item as a parameter."
	require.Equal(t, map[string]string{
		"spec.templates[0].steps[0][0].hooks.late.arguments.parameters[0].value": only,
		"spec.templates[0].steps[1][0].hooks.exit.arguments.parameters[0].value": only,
	}, refusedFields(t, spec))
}

// TestOneExitHandler: Argo would run one of two.
func TestOneExitHandler(t *testing.T) {
	t.Parallel()
	found := refusedFields(t, `
entrypoint: main
onExit: one
hooks: {exit: {template: one}}
templates:
- {name: main, steps: [[{name: a, template: one, onExit: one, hooks: {exit: {template: one}}}]]}
- {name: one, container: {image: a, command: [b]}}`)
	require.Contains(t, found["spec.onExit"], "either onExit or hooks.exit")
	require.Contains(t, found["spec.templates[0].steps[0][0].onExit"], "either onExit or hooks.exit")
}
