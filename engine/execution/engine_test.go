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

func TestNoopDiamond(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launch(`
name: diamond
version: 1.0.0
operators:
  - {name: a, type: noop}
  - {name: b, type: noop, depends_on: [a]}
  - {name: c, type: noop, depends_on: [a]}
  - {name: d, type: noop, depends_on: [b, c]}
`, nil)
	e := b.finish(id)
	require.Equal(t, query.Succeeded, e.Status)
	require.Equal(t, query.Counts{Total: 4, Succeeded: 4}, e.Counts)
	require.Equal(t, 3, e.LevelsDone)
	require.Equal(t, []string{
		"execution.launched", "execution.started", "node.succeeded", "node.succeeded", "node.succeeded", "node.succeeded", "execution.succeeded",
	}, b.kinds(id))
}

func TestProcessesPassOutputs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launch(`
name: sums
version: 1.0.0
inputs:
  - {name: n, type: Integer, default: 20}
outputs:
  - {name: total, type: Integer, from: double.total}
operators:
  - name: count
    type: shell
    inputs: [{name: n, type: Integer, from: inputs.n}]
    outputs: [{name: value, type: Integer}]
    code: {script: 'echo "$INPUTS" | sed "s/.*\"n\":\([0-9]*\).*/\1/"'}
  - name: double
    type: python
    inputs: [{name: value, type: Integer, from: count.value}]
    outputs: [{name: total, type: Integer}]
    code: {script: 'import json, os; i = json.loads(os.environ["INPUTS"]); assert i["count_output"]["value"] == i["value"] and i["count_results"][0]["data"] == 21; print(2 * i["value"])'}
`, map[string]any{"n": json.Number("21")})
	e := b.finish(id)
	require.Equal(t, query.Succeeded, e.Status, "%+v", e.Error)
	require.Equal(t, map[string]any{"total": json.Number("42")}, e.Outputs)
	n := b.node(id, "double")
	require.Equal(t, dag.Succeeded, n.State)
	require.Equal(t, map[string]any{"value": json.Number("21")}, n.Inputs)
	require.Len(t, n.Attempts, 1)
	require.Equal(t, "SUCCEEDED", n.Attempts[0].Outcome)
	require.Equal(t, "test", n.Attempts[0].Host)
	require.NotNil(t, n.Attempts[0].StartedAt)
	for task, starts := range b.launcher.starts {
		require.Equal(t, 1, starts, task)
	}
}

func TestOutputsAreChecked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launch(`
name: bad-outputs
version: 1.0.0
operators:
  - {name: missing, type: shell, code: {script: "true"}, outputs: [{name: v, type: Integer}], retry: {fail_fast: false}}
  - {name: wrong, type: shell, code: {script: "echo '\"text\"'"}, outputs: [{name: v, type: Integer}], retry: {fail_fast: false}}
`, nil)
	e := b.finish(id)
	require.Equal(t, query.Failed, e.Status)
	missing, wrong := b.node(id, "missing"), b.node(id, "wrong")
	require.Equal(t, "output", missing.Error.Code)
	require.Contains(t, missing.Error.Message, "Output v is missing.")
	require.Equal(t, "OUTPUT_FAILED", missing.Attempts[0].Outcome)
	require.Equal(t, "output", wrong.Error.Code)
	require.Contains(t, wrong.Error.Message, "Output v")
}

func TestRetriesThenSucceeds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	marker := t.TempDir() + "/tries"
	id := b.launch(fmt.Sprintf(`
name: flaky
version: 1.0.0
operators:
  - name: flaky
    type: shell
    code: {script: 'echo x >> %s; test $(wc -l < %s) -ge 3'}
    retry: {limit: 3, initial_delay: 50ms, factor: 2, jitter: 0}
`, marker, marker), nil)
	e := b.finish(id)
	require.Equal(t, query.Succeeded, e.Status)
	n := b.node(id, "flaky")
	require.Equal(t, 3, n.Attempt)
	require.Equal(t, 2, n.Retries)
	require.Len(t, n.Attempts, 3)
	require.Equal(t, "FAILED", n.Attempts[0].Outcome)
	require.Equal(t, 1, *n.Attempts[0].ExitCode)
	require.GreaterOrEqual(t, n.Attempts[1].QueuedAt.Sub(*n.Attempts[0].FinishedAt).Milliseconds(), int64(50))
	require.GreaterOrEqual(t, n.Attempts[2].QueuedAt.Sub(*n.Attempts[1].FinishedAt).Milliseconds(), int64(100))
	require.Contains(t, b.kinds(id), "node.retrying")
}

const failing = `
name: %s
version: 1.0.0
operators:
  - {name: bad, type: shell, code: {script: "exit 3"}, retry: {fail_fast: %t}}
  - {name: after, type: noop, depends_on: [bad]}
  - {name: later, type: noop, depends_on: [after]}
  - {name: slow, type: shell, code: {script: "trap 'exit 143' TERM; i=0; while [ $i -lt %d ]; do sleep 0.05; i=$((i+1)); done"}}
  - {name: next, type: noop, depends_on: [slow]}
`

func TestFailFast(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launch(fmt.Sprintf(failing, "fast", true, 1200), nil)
	e := b.finish(id)
	require.Equal(t, query.Failed, e.Status)
	require.Equal(t, "bad", e.Error.Node)
	require.Equal(t, 3, *e.Error.ExitCode)
	require.Equal(t, query.Counts{Total: 5, Failed: 1, Skipped: 2, Cancelled: 2}, e.Counts)
	require.Equal(t, dag.Cancelled, b.node(id, "slow").State)
	require.Equal(t, "CANCELLED", b.node(id, "slow").Attempts[0].Outcome)
	require.Equal(t, "UPSTREAM_FAILED", b.node(id, "later").Reason.Code)
}

func TestOthersGoOnWithoutFailFast(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launch(fmt.Sprintf(failing, "slowly", false, 4), nil)
	e := b.finish(id)
	require.Equal(t, query.Failed, e.Status)
	require.Equal(t, query.Counts{Total: 5, Failed: 1, Skipped: 2, Succeeded: 2}, e.Counts)
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launch(`
name: late
version: 1.0.0
operators:
  - {name: late, type: shell, code: {script: "sleep 60"}, timeout: 100ms}
`, nil)
	e := b.finish(id)
	require.Equal(t, query.Failed, e.Status)
	require.Equal(t, "timeout", e.Error.Code)
}

func TestCancel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launch(`
name: long
version: 1.0.0
operators:
  - {name: first, type: shell, code: {script: "sleep 60"}}
  - {name: second, type: shell, code: {script: "true"}, depends_on: [first]}
`, nil)
	b.until(id, "running", func(e query.Execution) bool { return e.Counts.Running == 1 })
	require.NoError(t, b.engine.Commands.Cancel(b.ctx, id, "no longer needed"))
	require.NoError(t, b.engine.Commands.Cancel(b.ctx, id, "twice is success"))
	e := b.finish(id)
	require.Equal(t, query.Cancelled, e.Status)
	require.Contains(t, e.Error.Message, "no longer needed")
	require.Equal(t, query.Counts{Total: 2, Cancelled: 2}, e.Counts)
	require.NoError(t, b.engine.Commands.Cancel(b.ctx, id, ""))
	require.Contains(t, b.kinds(id), "execution.cancel_requested")

	done := b.launch("name: quick\nversion: 1.0.0\noperators: [{name: a, type: noop}]", nil)
	b.finish(done)
	require.True(t, apperr.Is(b.engine.Commands.Cancel(b.ctx, done, ""), apperr.Conflict))
}

func TestCapacityIsRespected(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dir := t.TempDir()
	// Each task counts the concurrently running ones: mkdir is atomic.
	script := fmt.Sprintf(`mkdir %s/$NODE; ls %s | wc -l >> %s.most; sleep 0.05; rmdir %s/$NODE`, dir, dir, dir, dir)
	var doc strings.Builder
	doc.WriteString("name: crowd\nversion: 1.0.0\noperators:\n")
	for i := range 12 {
		fmt.Fprintf(&doc, "  - {name: n%d, type: shell, resources: {cpu: 1500m}, code: {script: '%s'}}\n", i, script)
	}
	id := b.launch(doc.String(), nil)
	b.until(id, "waiting", func(e query.Execution) bool { return e.Counts.Ready > 0 && e.Counts.Queued+e.Counts.Running > 0 })
	waiting, err := b.engine.Waits.Nodes(b.ctx, 10)
	require.NoError(t, err)
	if len(waiting) > 0 {
		require.Equal(t, "CPU_UNAVAILABLE", waiting[0].Reason.Code)
		require.EqualValues(t, 1500, waiting[0].Reason.Requested)
		require.EqualValues(t, 4000, waiting[0].Reason.Capacity)
		require.NotNil(t, waiting[0].Reason.Level)
	}
	e := b.finish(id)
	require.Equal(t, query.Succeeded, e.Status)
	require.Equal(t, 12, e.Counts.Succeeded)
	most := readLines(t, dir+".most")
	for _, n := range most {
		require.Contains(t, []string{"1", "2"}, strings.TrimSpace(n), "4000m fit two tasks of 1500m")
	}
}

func TestNeverFits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := b.register(`
name: huge
version: 1.0.0
operators: [{name: a, type: shell, code: {script: "true"}, resources: {memory: 64Gi}}]
`)
	_, _, err := b.engine.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: v.Name})
	require.True(t, apperr.Is(err, apperr.Invalid))
	require.Contains(t, apperr.FieldsOf(err)[0].Message, "64 GiB")
	fit, err := b.engine.Forecasts.Fits(b.ctx, v.ID)
	require.NoError(t, err)
	require.False(t, fit.OK)
}
