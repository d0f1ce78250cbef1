package execution_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/argo"
	"github.com/flowforge/flowforge/execution"
)

// argoSetup is setup for documents of Argo's, whose commands run on this machine.
func argoSetup(t testing.TB) *testBundle {
	t.Helper()
	b := setup(t, func(c *execution.Config) { c.HostImages = true })
	b.workflows.ReadWith(argo.Format{})
	return b
}

const argoHello = `
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: hello-world-}
spec:
  entrypoint: main
  arguments: {parameters: [{name: message, value: hello}]}
  templates:
  - name: main
    dag:
      tasks:
      - name: a
        template: echo
        arguments: {parameters: [{name: text, value: "{{workflow.parameters.message}}"}]}
      - name: b
        depends: a
        template: echo
        arguments: {parameters: [{name: text, value: "{{tasks.a.outputs.result}} again"}]}
  - name: echo
    inputs: {parameters: [{name: text}]}
    container: {image: busybox, command: [echo], args: ["{{inputs.parameters.text}}"]}
`

func TestArgoHello(t *testing.T) {
	t.Parallel()
	b := argoSetup(t)
	id := b.launch(argoHello, map[string]any{"message": "hi"})
	e := b.finish(id)
	require.Equal(t, execution.Succeeded, e.Status, "%+v", e.Error)
	require.Equal(t, map[string]any{"outputs.result": "hi again"}, b.node(id, "b").Outputs)
}
