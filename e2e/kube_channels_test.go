package e2e

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/compute/launcher/kube/kubetest"
	"github.com/flowforge/flowforge/platform/freeport"
)

// gate answers pods at /wait after one of them has called /seen.
func gate(t *testing.T) (url string) {
	t.Helper()
	seen := make(chan struct{})
	var once sync.Once
	mux := http.NewServeMux()
	mux.HandleFunc("/seen", func(http.ResponseWriter, *http.Request) { once.Do(func() { close(seen) }) })
	mux.HandleFunc("/wait", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-seen:
		case <-r.Context().Done():
		}
	})
	l, err := net.Listen("tcp", freeport.AddressOn(t, kubetest.Host))
	require.NoError(t, err)
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: mux}}
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// TestStreamBetweenPods: the writer in one pod ends only after its reader in another has
// seen the first row. Both end, because rows are transferred while the writer runs.
func TestStreamBetweenPods(t *testing.T) {
	t.Parallel()
	s, c := onCluster(t)
	s.register(t, strings.ReplaceAll(`
name: streams.pods
version: 1.0.0
outputs:
  - {name: total, type: Integer, from: read.total}
operators:
  - name: make
    type: python
    outputs: [{name: rows, type: File, storage: streaming}]
    code:
      script: |
        from urllib.request import urlopen
        from flowforge import client
        with client.writer("rows") as rows:
            for n in range(40):
                rows.write({"n": n})
                if n == 0:
                    urlopen("GATE/wait").close()
  - name: read
    type: python
    inputs: [{name: rows, from: make.rows}]
    outputs: [{name: total, type: Integer}]
    code:
      script: |
        from urllib.request import urlopen
        from flowforge import client
        total = 0
        for row in client.items("rows"):
            if row["n"] == 0:
                urlopen("GATE/seen").close()
            total += row["n"]
        client.output("total", total)
`, "GATE", gate(t)))
	id := s.launch(t, "streams.pods", nil)
	e := s.wait(t, id, ended)
	require.Equal(t, "SUCCEEDED", e.Status, "%+v", e)
	require.Equal(t, 780.0, e.Outputs["total"])
	require.Contains(t, s.channelOf(t, id), "from make.rows, stream: it is read while it is being written")
	withoutPods(t, c, id)
}

// TestResumeInPodsGoesOnFromACheckpoint: the pod of a resumed execution gets the
// checkpoint that a pod saved before it failed.
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
