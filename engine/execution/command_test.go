package execution_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// command sends a command to a node by its name.
func (b *testBundle) command(id uuid.UUID, node string, c execution.NodeCommand) error {
	b.t.Helper()
	return b.engine.Commands.CommandNode(b.ctx, execution.TaskRef{Execution: id, Node: b.node(id, node).Index}, c)
}

func (b *testBundle) untilNode(id uuid.UUID, name string, state dag.State) {
	b.t.Helper()
	require.Eventually(b.t, func() bool { return b.node(id, name).State == state }, 20*time.Second, 5*time.Millisecond, "%s does not become %s", name, state)
}

func TestPauseKeepsBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stop := t.TempDir() + "/go"
	id := b.launch(fmt.Sprintf(`
name: pause
version: 1.0.0
operators:
  - {name: first, type: shell, code: {script: 'while [ ! -e %s ]; do sleep 0.02; done'}}
  - {name: second, type: shell, depends_on: [first], code: {script: 'true'}}
  - {name: third, type: noop, depends_on: [first]}
`, stop), nil)
	b.untilNode(id, "first", dag.Running)
	require.NoError(t, b.engine.Commands.Pause(b.ctx, id, "look"))
	b.until(id, "pause", func(e query.Execution) bool { return e.Status == query.Paused })
	touch(t, stop)
	b.untilNode(id, "first", dag.Succeeded)
	require.Eventually(t, func() bool { return !b.leased(id) }, 20*time.Second, 5*time.Millisecond, "the loop has nothing left to do")
	require.Equal(t, dag.Pending, b.node(id, "second").State)
	require.Equal(t, dag.Pending, b.node(id, "third").State)
	require.NoError(t, b.engine.Commands.Unpause(b.ctx, id, ""))
	require.Equal(t, query.Succeeded, b.finish(id).Status)
	require.Contains(t, b.kinds(id), "execution.unpaused")
	require.True(t, apperr.Is(b.engine.Commands.Pause(b.ctx, id, ""), apperr.Conflict))
}

const approvals = `
name: ask
version: 1.0.%d
outputs: [{name: rate, type: Float, from: ask.rate}]
operators:
  - name: ask
    type: approval
    timeout: %s
    approval:
      message: Which rate?
      form: [{name: rate, type: "Float(min=0, max=1)", required: true}]
      %s
  - {name: after, type: noop, depends_on: [ask]}
`

const approvalInGraph = `
name: awaits
version: 1.0.0
graphs:
  checks:
    operators:
      - {name: ask, type: approval}
      - {name: after, type: noop, depends_on: [ask]}
operators:
  - {name: review, type: graph, graph: checks}
  - {name: other, type: approval}
`

// TestAnExecutionThatOnlyAwaitsApproval: the graph with an approval runs, but the execution does not.
func TestAnExecutionThatOnlyAwaitsApproval(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launch(approvalInGraph, nil)
	for _, node := range []string{"other", "review", "review/ask"} {
		b.untilNode(id, node, dag.Running)
	}
	lists := func(f query.Filter) bool {
		page, err := b.engine.Reader.List(b.ctx, f)
		require.NoError(t, err)
		return len(page.Executions) == 1
	}
	running := []query.State{query.Running}
	e, err := b.engine.Reader.Get(b.ctx, id)
	require.NoError(t, err)
	require.True(t, e.AwaitsApproval)
	require.True(t, lists(query.Filter{Status: running}))
	require.True(t, lists(query.Filter{Status: running, Approval: query.OnlyAwaiting}))
	require.False(t, lists(query.Filter{Status: running, Approval: query.NotAwaiting}))

	for _, node := range []string{"other", "review/ask"} {
		require.NoError(t, b.command(id, node, execution.NodeCommand{Command: execution.CommandApprove}))
	}
	e = b.finish(id)
	require.Equal(t, query.Succeeded, e.Status)
	require.False(t, e.AwaitsApproval)
	require.False(t, lists(query.Filter{Approval: query.OnlyAwaiting}))
}

func TestApproval(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launch(fmt.Sprintf(approvals, 0, "1h", ""), nil)
	b.untilNode(id, "ask", dag.Running)
	require.Equal(t, execution.ReasonApproval, b.node(id, "ask").Reason.Code)
	waits, err := b.engine.Reader.Get(b.ctx, id)
	require.NoError(t, err)
	require.Equal(t, query.Counts{Total: 2, AwaitingApproval: 1, Pending: 1}, waits.Counts, "a node that waits for a user does not run")
	require.True(t, waits.AwaitsApproval)
	for state, want := range map[string]int{execution.ReasonApproval: 1, "RUNNING": 0} {
		nodes, _, err := b.engine.Reader.Nodes.List(b.ctx, id, query.NodeFilter{States: []dag.State{dag.State(state)}})
		require.NoError(t, err)
		require.Len(t, nodes, want, state)
	}
	page, err := b.engine.Reader.List(b.ctx, query.Filter{Approval: query.OnlyAwaiting, Limit: 10})
	require.NoError(t, err)
	require.Len(t, page.Executions, 1)
	err = b.command(id, "ask", execution.NodeCommand{Command: execution.CommandApprove, Values: map[string]any{"rate": json.Number("7")}})
	require.Equal(t, "answer.rate", apperr.FieldsOf(err)[0].Path)
	require.NoError(t, b.command(id, "ask", execution.NodeCommand{Command: execution.CommandApprove, Values: map[string]any{"rate": json.Number("0.5")}}))
	e := b.finish(id)
	require.Equal(t, query.Succeeded, e.Status, "%+v", e.Error)
	require.Equal(t, json.Number("0.5"), e.Outputs["rate"])
	require.Equal(t, query.Counts{Total: 2, Succeeded: 2}, e.Counts)
	require.Contains(t, b.node(id, "ask").Reason.Message, "Approved by")

	id = b.launch(fmt.Sprintf(approvals, 1, "1h", ""), nil)
	b.untilNode(id, "ask", dag.Running)
	require.NoError(t, b.command(id, "ask", execution.NodeCommand{Command: execution.CommandReject, Reason: "too dear"}))
	e = b.finish(id)
	require.Equal(t, query.Failed, e.Status)
	require.Equal(t, "rejected", e.Error.Code)
	require.Contains(t, e.Error.Message, "too dear")

	id = b.launch(fmt.Sprintf(approvals, 2, "200ms", "default: {rate: 0.25}"), nil)
	e = b.finish(id)
	require.Equal(t, json.Number("0.25"), e.Outputs["rate"])
	id = b.launch(fmt.Sprintf(approvals, 3, "200ms", ""), nil)
	require.Equal(t, "timeout", b.finish(id).Error.Code)
}

// TestTheMessageOfAnApproval: the user sees the values about which they decide, not the tags.
func TestTheMessageOfAnApproval(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const document = `
name: release
version: 1.0.0
inputs: [{name: model, type: String, required: true}, {name: note, type: "Optional<String>"}]
operators:
  - {name: measure, type: shell, outputs: [{name: loss, type: Float}], code: {script: echo 0.25}}
  - name: ask
    type: approval
    inputs: [{name: model, from: inputs.model}, {name: note, from: inputs.note}, {name: loss, from: measure.loss}, {name: worst, type: List<Integer>, value: [3, 5]}, {name: limit, type: Integer, value: 0}]
    approval: {message: "Release {{model}}? Loss {{ loss * 2 }}, worst {{worst}}.{{note}}%s"}
`
	id := b.launch(fmt.Sprintf(document, ""), map[string]any{"model": "digits@2"})
	b.untilNode(id, "ask", dag.Running)
	const message = "Release digits@2? Loss 0.5, worst [3,5]."
	require.Equal(t, message, b.node(id, "ask").Reason.Message)
	list, err := b.engine.Reader.Approvals.OfExecution(b.ctx, id)
	require.NoError(t, err)
	require.Equal(t, message, list[0].Message)
	require.NoError(t, b.command(id, "ask", execution.NodeCommand{Command: execution.CommandApprove}))
	require.Equal(t, query.Succeeded, b.finish(id).Status)

	id = b.launch(strings.ReplaceAll(fmt.Sprintf(document, " {{ int(model) }}"), "1.0.0", "1.0.1"), map[string]any{"model": "digits@2"})
	e := b.finish(id)
	require.Equal(t, query.Failed, e.Status)
	require.Contains(t, e.Error.Message, "The message of the approval cannot be written. ")
}

func TestSkipSucceedRetryHold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dir := t.TempDir()
	id := b.launch(fmt.Sprintf(`
name: hands
version: 1.0.0
outputs: [{name: v, type: Integer, from: given.v}]
operators:
  - {name: wait, type: shell, code: {script: 'while [ ! -e %[1]s/go ]; do sleep 0.02; done'}}
  - {name: given, type: shell, depends_on: [wait], code: {script: 'sleep 60'}, outputs: [{name: v, type: Integer}]}
  - {name: long, type: shell, code: {script: 'sleep 60'}}
  - {name: after-long, type: noop, depends: "long.Skipped"}
  - {name: bad, type: shell, retry: {fail_fast: false}, code: {script: 'test -e %[1]s/fixed'}}
  - {name: after-bad, type: noop, depends_on: [bad]}
  - {name: kept, type: noop, depends_on: [wait]}
`, dir), nil)
	b.untilNode(id, "long", dag.Running)
	b.untilNode(id, "after-bad", dag.Skipped)
	require.NoError(t, b.command(id, "kept", execution.NodeCommand{Command: execution.CommandHold}))
	require.NoError(t, b.command(id, "long", execution.NodeCommand{Command: execution.CommandSkip, Reason: "no time"}))
	b.untilNode(id, "after-long", dag.Succeeded)
	var stopping string
	require.NoError(t, b.pool.QueryRow(b.ctx, `SELECT message FROM events JOIN nodes n USING (execution_id, node_index)
		WHERE execution_id = $1 AND n.name = 'long' AND kind = 'node.stopping'`, id).Scan(&stopping))
	require.Contains(t, stopping, "no time", "the event says who skipped the node, not that the execution failed")
	touch(t, dir+"/fixed")
	require.NoError(t, b.command(id, "bad", execution.NodeCommand{Command: execution.CommandRetry}))
	b.untilNode(id, "after-bad", dag.Succeeded)
	err := b.command(id, "given", execution.NodeCommand{Command: execution.CommandSucceed})
	require.Equal(t, "outputs.v", apperr.FieldsOf(err)[0].Path)
	touch(t, dir+"/go")
	b.untilNode(id, "given", dag.Running)
	require.NoError(t, b.command(id, "given", execution.NodeCommand{Command: execution.CommandSucceed, Values: map[string]any{"v": json.Number("9")}}))
	b.untilNode(id, "given", dag.Succeeded)
	b.untilNode(id, "kept", dag.Ready)
	require.Equal(t, execution.ReasonHeld, b.node(id, "kept").Reason.Code)
	require.NoError(t, b.command(id, "kept", execution.NodeCommand{Command: execution.CommandRelease}))
	e := b.finish(id)
	require.Equal(t, query.Succeeded, e.Status, "%+v", e.Error)
	require.Equal(t, json.Number("9"), e.Outputs["v"])
	require.Nil(t, e.Error)
	require.Equal(t, 2, b.node(id, "bad").Attempt)
}

func TestTimeoutOfAnExecution(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.finish(b.launch(`
name: late
version: 1.0.0
timeout: 300ms
operators:
  - {name: long, type: shell, code: {script: 'sleep 60'}}
on_exit:
  - {name: tell, type: noop}
`, nil))
	require.Equal(t, query.Failed, e.Status)
	require.Equal(t, "timeout", e.Error.Code)
	require.Equal(t, 1, e.Counts.Succeeded)
}
