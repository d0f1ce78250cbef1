package e2e

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// A reader in one pod has the first row before its writer, in another, has ended.
func TestStreamBetweenPods(t *testing.T) {
	t.Parallel()
	s, c := onCluster(t)
	s.register(t, `
name: streams.pods
version: 1.0.0
outputs:
  - {name: first, type: Float, from: read.first}
  - {name: last, type: Float, from: make.last}
  - {name: total, type: Integer, from: read.total}
operators:
  - name: make
    type: python
    outputs: [{name: rows, type: File, storage: streaming}, {name: last, type: Float}]
    code:
      script: |
        import time
        from flowforge import client
        with client.writer("rows") as rows:
            for n in range(40):
                rows.write({"n": n})
                time.sleep(0.25)
        client.output("last", time.time())
  - name: read
    type: python
    inputs: [{name: rows, from: make.rows}]
    outputs: [{name: first, type: Float}, {name: total, type: Integer}]
    code:
      script: |
        import time
        from flowforge import client
        first, total = None, 0
        for row in client.items("rows"):
            first = first or time.time()
            total += row["n"]
        client.output("first", first)
        client.output("total", total)
`)
	id := s.launch(t, "streams.pods", nil)
	e := s.wait(t, id, ended)
	require.Equal(t, "SUCCEEDED", e.Status, "%+v", e)
	require.Equal(t, 780.0, e.Outputs["total"])
	require.Less(t, e.Outputs["first"], e.Outputs["last"], "seconds: both pods are on one machine")
	require.Contains(t, s.came(t, id), "from make.rows, STREAMING: it is read while it is written")
	withoutPods(t, c, id)
}

// What a pod saved before it failed is there for the pod of a resume.
func TestResumeInPodsGoesOnFromACheckpoint(t *testing.T) {
	t.Parallel()
	s, c := onCluster(t)
	s.register(t, `
name: resume.pods
version: 1.0.0
inputs: [{name: good, type: Boolean, default: false}]
outputs: [{name: steps, type: List<Integer>, from: train.steps}]
operators:
  - name: train
    type: python
    inputs: [{name: good, from: inputs.good}]
    outputs: [{name: steps, type: List<Integer>}]
    code:
      script: |
        from flowforge import client
        steps = client.get_checkpoint() or []
        for n in range(len(steps), 6):
            if n == 3 and not client.inputs["good"]:
                raise SystemExit("no luck")
            steps.append(n if client.inputs["good"] else -n)
            client.checkpoint(steps)
        client.output("steps", steps)
`)
	failed := s.launch(t, "resume.pods", nil)
	require.Equal(t, "FAILED", s.wait(t, failed, ended).Status)
	var resumed executionView
	s.api(t, http.MethodPost, "/executions/"+failed+"/resume", map[string]any{"override_inputs": map[string]any{"good": true}}, &resumed)
	e := s.wait(t, resumed.ID, ended)
	require.Equal(t, "SUCCEEDED", e.Status, "%+v", e)
	require.Equal(t, []any{0.0, -1.0, -2.0, 3.0, 4.0, 5.0}, e.Outputs["steps"])
	withoutPods(t, c, resumed.ID)
}
