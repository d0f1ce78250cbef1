package execution_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// number writes the output v of a shell script.
const number = `code: {script: 'echo "$INPUTS" | sed "s/.*\"x\":\([0-9.]*\).*/\1/"'}, outputs: [{name: v, type: Integer}]`

func TestForeachGivesLists(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launch(fmt.Sprintf(`
name: fan
version: 1.0.0
inputs:
  - {name: xs, type: "List<Integer>"}
outputs:
  - {name: all, type: "List<Integer>", from: each.v}
operators:
  - {name: each, type: shell, foreach: inputs.xs, inputs: [{name: x, from: item}, {name: i, from: index}], %s}
  - name: join
    type: python
    inputs: [{name: all, from: each.v}]
    outputs: [{name: sum, type: Integer}]
    code: {script: 'import json, os; print(sum(json.loads(os.environ["INPUTS"])["all"]))'}
`, number), map[string]any{"xs": []any{json.Number("3"), json.Number("4"), json.Number("5")}})
	e := b.finish(id)
	require.Equal(t, query.Succeeded, e.Status, "%+v", e.Error)
	require.Equal(t, []any{json.Number("3"), json.Number("4"), json.Number("5")}, e.Outputs["all"])
	require.Equal(t, query.Counts{Total: 5, Succeeded: 5}, e.Counts)
	require.Equal(t, json.Number("12"), b.node(id, "join").Outputs["sum"])
	item := b.node(id, "each[1]")
	require.Equal(t, map[string]any{"x": json.Number("4"), "i": int64(1)}, item.Inputs)
	require.Equal(t, dag.Succeeded, item.State)
	require.Len(t, item.Attempts, 1)
}

func TestForeachOverNothingAndTooMuch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	doc := `
name: fan
version: 1.0.0
inputs: [{name: xs, type: "List<Integer>"}]
outputs: [{name: all, type: "List<Integer>", from: each.v}]
operators:
  - {name: each, type: shell, foreach: {items: inputs.xs, limit: 2}, inputs: [{name: x, from: item}], ` + number + `}
`
	e := b.finish(b.launch(doc, map[string]any{"xs": []any{}}))
	require.Equal(t, query.Succeeded, e.Status, "%+v", e.Error)
	require.Equal(t, []any{}, e.Outputs["all"])
	id := b.launch(doc, map[string]any{"xs": []any{json.Number("1"), json.Number("2"), json.Number("3")}})
	require.Equal(t, query.Failed, b.finish(id).Status)
	require.Contains(t, b.node(id, "each").Error.Message, "There are 3 items; at most 2 are allowed")
}

func TestForeachPartly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launch(`
name: partly
version: 1.0.0
outputs: [{name: all, type: "List<Optional<Integer>>", from: each.v}]
operators:
  - name: each
    type: shell
    foreach: {items: [1, 2, 3, 4], allow_partial: true, parallelism: 2}
    inputs: [{name: x, type: Integer, from: item}]
    outputs: [{name: v, type: Integer}]
    code: {script: 'x=$(echo "$INPUTS" | sed "s/.*\"x\":\([0-9]*\).*/\1/"); test "$x" != 3 && echo "$x"'}
  - {name: any, type: noop, depends: each.AnySucceeded}
  - {name: none, type: noop, depends: each.AllFailed}
`, nil)
	e := b.finish(id)
	require.Equal(t, query.Succeeded, e.Status, "%+v", e.Error)
	require.Equal(t, []any{json.Number("1"), json.Number("2"), nil, json.Number("4")}, e.Outputs["all"])
	require.Equal(t, dag.Failed, b.node(id, "each[2]").State)
	require.Equal(t, dag.Succeeded, b.node(id, "any").State)
	require.Equal(t, dag.Skipped, b.node(id, "none").State)
}

func TestConditionsAndRules(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launch(`
name: rules
version: 1.0.0
inputs: [{name: full, type: Boolean, default: false}]
operators:
  - {name: score, type: shell, code: {script: "echo 7"}, outputs: [{name: v, type: Integer}]}
  - {name: breaks, type: shell, code: {script: "exit 3"}}
  - {name: high, type: noop, when: "nodes.score.outputs.v > 5"}
  - {name: low, type: noop, when: "nodes.score.outputs.v <= 5"}
  - {name: after-low, type: noop, depends_on: [low]}
  - {name: after-skip, type: noop, depends: "low.Skipped && high"}
  - {name: rescue, type: noop, depends: "breaks.Failed"}
  - {name: told, type: noop, when: "nodes.breaks.status == 'FAILED' && nodes.breaks.error.code == 'exit'"}
  - {name: full, type: noop, when: inputs.full}
`, nil)
	e := b.finish(id)
	require.Equal(t, query.Succeeded, e.Status, "%+v", e.Error)
	for name, state := range map[string]dag.State{
		"high": dag.Succeeded, "low": dag.Skipped, "after-low": dag.Skipped, "after-skip": dag.Succeeded,
		"breaks": dag.Failed, "rescue": dag.Succeeded, "told": dag.Succeeded, "full": dag.Skipped,
	} {
		require.Equal(t, state, b.node(id, name).State, name)
	}
	require.Equal(t, execution.ReasonCondition, b.node(id, "low").Reason.Code)
	require.Equal(t, execution.ReasonUpstream, b.node(id, "after-low").Reason.Code)
}

// TestConditionThatFails: an invalid condition fails its node, with a reason.
func TestConditionThatFails(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launch(`
name: odd
version: 1.0.0
inputs: [{name: text, type: String}]
operators:
  - {name: a, type: noop, when: 'int(inputs.text) > 1'}
  - {name: b, type: noop, depends_on: [a.Completed]}
`, map[string]any{"text": "many"})
	require.Equal(t, query.Succeeded, b.finish(id).Status, "b handles the failure")
	a := b.node(id, "a")
	require.Equal(t, dag.Failed, a.State)
	require.Contains(t, a.Error.Message, "The condition could not be evaluated: ")
	require.Equal(t, dag.Succeeded, b.node(id, "b").State)
}

func TestGraphsInGraphs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launch(fmt.Sprintf(`
name: nested
version: 1.0.0
outputs: [{name: all, type: "List<List<Integer>>", from: outer.vs}]
operators:
  - {name: outer, type: graph, graph: row, foreach: [1, 2], inputs: [{name: n, type: Integer, from: item}]}
graphs:
  row:
    inputs: [{name: n, type: Integer}, {name: plus, type: Integer, default: 10}]
    outputs: [{name: vs, type: "List<Integer>", from: cell.v}]
    operators:
      - name: cell
        type: shell
        foreach: {expression: "[inputs.n, inputs.n + inputs.plus]"}
        inputs: [{name: x, type: Integer, from: item}]
        %s
`, strings.ReplaceAll(number, "}, outputs", "}\n        outputs")), nil)
	e := b.finish(id)
	require.Equal(t, query.Succeeded, e.Status, "%+v", e.Error)
	require.Equal(t, map[string]any{"v": json.Number("12")}, b.node(id, "outer[1]/cell[1]").Outputs)
	for _, name := range []string{"", "/", "outer[2]", "outer[01]", "outer[-1]", "outer[", "outer[1]x", "outer/cell", "outer[1]/none", "outer[1]//cell", "outer[1]/cell[1]/cell", "outer[1][1]"} {
		_, err := b.engine.Nodes.Get(b.ctx, id, name)
		require.True(t, apperr.Is(err, apperr.NotFound), "%q: %v", name, err)
	}
	got, err := json.Marshal(e.Outputs["all"])
	require.NoError(t, err)
	require.JSONEq(t, "[[1,11],[2,12]]", string(got))
	require.Equal(t, json.Number("12"), b.node(id, "outer[1]/cell[1]").Outputs["v"])
}

func TestRecursionEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	doc := `
name: down
version: 1.0.%d
max_depth: 6
operators:
  - {name: go, type: graph, graph: down, inputs: [{name: n, type: Integer, value: %d}]}
graphs:
  down:
    inputs: [{name: n, type: Integer}]
    operators:
      - {name: work, type: noop}
      - {name: again, type: graph, graph: down, when: "inputs.n > 1", depends_on: [work], inputs: [{name: n, type: Integer, expression: "inputs.n - 1"}]}
`
	id := b.launch(fmt.Sprintf(doc, 0, 3), nil)
	require.Equal(t, query.Succeeded, b.finish(id).Status)
	require.Equal(t, dag.Skipped, b.node(id, "go/again/again/again").State)
	id = b.launch(fmt.Sprintf(doc, 1, 30), nil)
	e := b.finish(id)
	require.Equal(t, query.Failed, e.Status)
	require.Contains(t, e.Error.Message, "6 levels deep")
}

const exits = `
name: exits
version: 1.0.%d
operators:
  - {name: work, type: shell, code: {script: '%s'}}
  - {name: after, type: noop, depends_on: [work]}
on_exit:
  - name: tell
    type: shell
    inputs: [{name: x, type: String, expression: "execution.status"}]
    outputs: [{name: v, type: String}]
    code: {script: 'echo "$INPUTS" | grep -o "\"x\":\"[A-Z]*\"" | cut -d: -f2'}
  - {name: rescue, type: noop, when: "execution.status != 'SUCCEEDED'"}
`

func TestExitsRunAtTheEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i, c := range []struct {
		script string
		status query.State
		rescue dag.State
	}{{"true", query.Succeeded, dag.Skipped}, {"exit 1", query.Failed, dag.Succeeded}, {"sleep 60", query.Cancelled, dag.Succeeded}} {
		id := b.launch(fmt.Sprintf(exits, i, c.script), nil)
		if c.status == query.Cancelled {
			b.until(id, "work to run", func(e query.Execution) bool { return e.Counts.Running == 1 })
			require.NoError(t, b.engine.Commands.Cancel(b.ctx, id, "enough"))
		}
		e := b.finish(id)
		require.Equal(t, c.status, e.Status)
		require.Equal(t, string(c.status), b.node(id, "tell").Outputs["v"])
		require.Equal(t, c.rescue, b.node(id, "rescue").State)
	}
}

func TestParallelismOfAnExecution(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launch(`
name: narrow
version: 1.0.0
parallelism: 2
operators:
  - {name: each, type: shell, foreach: {range: {from: 1, to: 6}}, code: {script: "sleep 0.05"}}
`, nil)
	most := 0
	e := b.until(id, "end", func(e query.Execution) bool {
		most = max(most, e.Counts.Ready+e.Counts.Queued+e.Counts.Running-1)
		return e.Status.Ended()
	})
	require.Equal(t, query.Succeeded, e.Status)
	require.Equal(t, 7, e.Counts.Succeeded)
	require.LessOrEqual(t, most, 2)
}

func TestWorkflowsInWorkflows(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(`
name: inner
version: 2.1.0
inputs: [{name: n, type: Integer}]
outputs: [{name: twice, type: Integer, from: go.v}]
operators:
  - {name: go, type: graph, graph: deep, inputs: [{name: n, from: inputs.n}]}
graphs:
  deep:
    inputs: [{name: n, type: Integer}]
    outputs: [{name: v, type: Integer, from: double.v}]
    operators:
      - {name: double, type: shell, inputs: [{name: x, type: Integer, expression: "inputs.n * 2"}], ` + number + `}
`)
	id := b.launch(`
name: outer
version: 1.0.0
outputs: [{name: v, type: Integer, from: sub.twice}]
operators:
  - {name: sub, type: workflow, workflow: inner, inputs: [{name: n, type: Integer, value: 4}]}
`, nil)
	e := b.finish(id)
	require.Equal(t, query.Succeeded, e.Status, "%+v", e.Error)
	require.Equal(t, json.Number("8"), e.Outputs["v"])
	require.Equal(t, "inner@2.1.0", b.node(id, "sub").Operator.Workflow)
	require.Equal(t, dag.Succeeded, b.node(id, "sub/go/double").State)
}

// TestGraphOutputsAreExpressions: the result of a graph is that of the branch that ran, and a graph
// that runs itself returns the result of its last run.
func TestGraphOutputsAreExpressions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launch(fmt.Sprintf(`
name: last
version: 1.0.0
outputs:
  - {name: deepest, type: Integer, from: go.v}
  - {name: sum, type: Integer, expression: "nodes.go.outputs.v + 1"}
  - {name: none, type: Optional<Integer>, expression: "nodes.never.outputs.v ?? nil"}
operators:
  - {name: go, type: graph, graph: down, inputs: [{name: n, type: Integer, value: 3}]}
  - {name: never, type: shell, when: false, inputs: [{name: x, type: Integer, value: 1}], %[1]s}
graphs:
  down:
    inputs: [{name: n, type: Integer}]
    outputs: [{name: v, type: Integer, expression: "nodes.again.outputs.v ?? nodes.work.outputs.v"}]
    operators:
      - {name: work, type: shell, inputs: [{name: x, type: Integer, from: inputs.n}], %[1]s}
      - {name: again, type: graph, graph: down, when: "nodes.work.outputs.v > 1", inputs: [{name: n, type: Integer, expression: "inputs.n - 1"}]}
`, number), nil)
	e := b.finish(id)
	require.Equal(t, query.Succeeded, e.Status, "%+v", e.Error)
	require.Equal(t, map[string]any{"deepest": json.Number("1"), "sum": json.Number("2")}, e.Outputs)
}

// TestGraphOutputsOfWrongType: an expression without a value, or of another type, fails its graph.
func TestGraphOutputsOfWrongType(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for text, part := range map[string]string{"nil": "Output v has no value", "1.5": "Output v:"} {
		id := b.launch(fmt.Sprintf(`
name: wrong-%s
version: 1.0.0
operators:
  - {name: go, type: graph, graph: one}
graphs:
  one:
    outputs: [{name: v, type: Integer, expression: "%s"}]
    operators: [{name: work, type: noop}]
`, strings.ReplaceAll(text, ".", "x"), text), nil)
		require.Equal(t, query.Failed, b.finish(id).Status)
		require.Contains(t, b.node(id, "go").Error.Message, part)
	}
}
