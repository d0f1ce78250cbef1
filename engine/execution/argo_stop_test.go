package execution_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// argoStopped is an Argo document with the given spec, whose tasks of the template sleep run
// until they are stopped.
func argoStopped(name, spec string) string {
	const sleep = "\n- {name: sleep, container: {image: busybox, command: [sleep, \"60\"]}}"
	return "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {generateName: " + name + "-}\nspec:" +
		strings.ReplaceAll(spec+argoWorkers+sleep, "\n", "\n  ")
}

// untilRunning waits until the node called name runs.
func (b *testBundle) untilRunning(id uuid.UUID, names ...string) {
	b.t.Helper()
	b.until(id, strings.Join(names, " and ")+" to run", func(query.Execution) bool {
		for _, name := range names {
			n, err := b.engine.Nodes.Get(b.ctx, id, name)
			if err != nil || n.State != dag.Running {
				return false
			}
		}
		return true
	})
}

// TestCancelRunsExitHooks: as with `argo stop`, the exit hooks of tasks that had begun run,
// also of items and in templates, and then the exit handler.
func TestCancelRunsExitHooks(t *testing.T) {
	t.Parallel()
	b := argoSetup(t)
	id := b.launch(argoStopped("stop", `
entrypoint: main
onExit: "true"
templates:
- name: main
  steps:
  - - {name: done, template: "true", hooks: {exit: {template: echo, arguments: {parameters: [{name: text, value: "{{steps.done.status}}"}]}}}}
  - - {name: a, template: sleep, hooks: {exit: {template: echo, arguments: {parameters: [{name: text, value: "{{steps.a.status}}"}]}}, late: {template: "true", expression: 'steps.a.status == "Failed"'}}}
    - {name: inner, template: inner, onExit: "true"}
    - {name: each, template: sleep, withItems: [x, "y"], hooks: {exit: {template: echo, arguments: {parameters: [{name: text, value: "{{item}}"}]}}}}
  - - {name: after, template: "true", onExit: "true"}
- name: inner
  dag: {tasks: [{name: b, template: sleep, onExit: group}, {name: c, template: "true", depends: b, onExit: "true"}]}
- name: group
  steps: [[{name: first, template: "true"}], [{name: second, template: "true"}]]`), nil)
	b.untilRunning(id, "a", "inner/b", "each[0]", "each[1]")
	require.NoError(t, b.engine.Commands.Cancel(b.ctx, id, "enough"))
	e := b.finish(id)
	require.Equal(t, query.Cancelled, e.Status)
	for name, state := range map[string]dag.State{
		"done-exit": dag.Succeeded, "a": dag.Cancelled, "a-exit": dag.Succeeded, "a-late": dag.Cancelled, "inner/b-exit": dag.Succeeded,
		"inner/b-exit/second": dag.Succeeded, "inner/c": dag.Cancelled, "inner/c-exit": dag.Cancelled, "inner-exit": dag.Succeeded,
		"each-exit[1]": dag.Succeeded, "after": dag.Cancelled, "after-exit": dag.Cancelled, "onExit": dag.Succeeded,
	} {
		require.Equal(t, state, b.node(id, name).State, name)
	}
	require.Equal(t, "Failed", b.node(id, "a-exit").Outputs[execution.ResultPort])
	require.Equal(t, "y", b.node(id, "each-exit[1]").Outputs[execution.ResultPort])
}

// TestCancelEndsExitHandlers: when nothing else is left, the first cancellation does.
func TestCancelEndsExitHandlers(t *testing.T) {
	t.Parallel()
	b := argoSetup(t)
	id := b.launch(argoStopped("handler", `
entrypoint: "true"
onExit: handler
templates:
- name: handler
  steps: [[{name: slow, template: sleep, onExit: "true"}], [{name: next, template: "true"}]]`), nil)
	b.untilRunning(id, "onExit/slow")
	require.NoError(t, b.engine.Commands.Cancel(b.ctx, id, "enough"))
	e := b.finish(id)
	require.Equal(t, query.Cancelled, e.Status)
	require.Equal(t, "The execution was cancelled: enough", e.Error.Message)
	require.Equal(t, dag.Cancelled, b.node(id, "onExit").State)
	require.Equal(t, dag.Cancelled, b.node(id, "onExit/next").State)
	require.Equal(t, "Cancelled by admin: enough", b.node(id, "onExit").Reason.Message)
	require.NoError(t, b.engine.Commands.Cancel(b.ctx, id, ""), "cancelling twice is a success")
}

// TestCancelAgainEndsExitHandlers: the first cancellation lets them run.
func TestCancelAgainEndsExitHandlers(t *testing.T) {
	t.Parallel()
	b := argoSetup(t)
	id := b.launch(argoStopped("again", `
entrypoint: main
onExit: sleep
templates:
- name: main
  dag: {tasks: [{name: a, template: sleep, onExit: sleep}]}`), nil)
	b.untilRunning(id, "a")
	require.NoError(t, b.engine.Commands.Cancel(b.ctx, id, ""))
	b.untilRunning(id, "a-exit")
	require.NoError(t, b.engine.Commands.Cancel(b.ctx, id, ""))
	b.untilRunning(id, "onExit")
	require.Equal(t, dag.Cancelled, b.node(id, "a-exit").State)
	require.NoError(t, b.engine.Commands.Cancel(b.ctx, id, ""))
	require.Equal(t, query.Cancelled, b.finish(id).Status)
	require.Equal(t, dag.Cancelled, b.node(id, "onExit").State)
	require.Len(t, kindsOf(b.kinds(id), "execution.cancel_requested"), 1)
}

func kindsOf(kinds []string, kind string) []string {
	var found []string
	for _, k := range kinds {
		if k == kind {
			found = append(found, k)
		}
	}
	return found
}
