package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/platform/freeport"
)

// TestMetricsOfWorkflowsAreScraped: metrics of workflows appear at /metrics of the
// server, also after the server was killed.
func TestMetricsOfWorkflowsAreScraped(t *testing.T) {
	t.Parallel()
	address := freeport.Address(t)
	s := ownServer(t, "FLOWFORGE_LOCAL_IMAGES=host", "FLOWFORGE_METRICS_ADDR="+address)
	s.register(t, `
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: told}
spec:
  entrypoint: main
  metrics: {prometheus: [{name: told_seconds, help: How long it took, gauge: {value: "{{workflow.duration}}"}}]}
  templates:
  - name: main
    steps: [[{name: each, template: each, withSequence: {count: "5"}, arguments: {parameters: [{name: "n", value: "{{item}}"}]}}]]
  - name: each
    inputs: {parameters: [{name: "n"}]}
    metrics:
      prometheus:
      - {name: told_total, help: What came out, labels: [{key: status, value: "{{status}}"}], counter: {value: "1"}}
      - {name: told_size, help: What it said, when: "{{status}} == Succeeded", histogram: {buckets: [1, 2], value: "{{outputs.parameters.size}}"}}
    container: {image: busybox, command: [sh, -c], args: ["test {{inputs.parameters.n}} -lt 3"]}
    outputs: {parameters: [{name: size, valueFrom: {path: "/tmp/told-{{inputs.parameters.n}}", default: "{{inputs.parameters.n}}"}}]}
`)
	require.Equal(t, "FAILED", s.wait(t, s.launch(t, "told", nil), ended).Status)
	check := func() {
		res, err := http.Get("http://" + address + "/metrics")
		require.NoError(t, err)
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		exported := "\n" + linesWith(string(body), "argo_")
		const place = `project="local/default",`
		for _, line := range []string{
			`argo_workflows_told_total{` + place + `status="Succeeded",tenant="local"} 3`,
			`argo_workflows_told_total{` + place + `status="Failed",tenant="local"} 2`,
			`argo_workflows_told_size_bucket{` + place + `tenant="local",le="1"} 2`,
			`argo_workflows_told_size_count{` + place + `tenant="local"} 3`,
			`argo_workflows_told_seconds{` + place + `tenant="local"} `,
		} {
			require.Contains(t, exported, "\n"+line)
		}
	}
	check()
	s.kill()
	s.restart(t)
	check()
}

// linesWith returns the lines of text that begin with prefix.
func linesWith(text, prefix string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, prefix) {
			fmt.Fprint(&b, line)
		}
	}
	return b.String()
}
