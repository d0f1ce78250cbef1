package argo_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/argo"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/workflow"
)

// decode reads YAML as the service does.
func decode(t testing.TB, doc string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(doc))
	require.NoError(t, err)
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	var tree map[string]any
	require.NoError(t, d.Decode(&tree))
	return tree
}

func parse(t testing.TB, doc string) (*workflow.Definition, []apperr.Field) {
	t.Helper()
	return argo.Format{}.Parse(decode(t, doc), workflow.Surroundings{Types: typeregistry.Builtin(), Find: func(string) (json.RawMessage, bool) { return nil, false }})
}

const hello = `
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
        arguments: {parameters: [{name: text, value: "{{tasks.a.outputs.result}}"}]}
  - name: echo
    inputs: {parameters: [{name: text}]}
    container: {image: busybox, command: [echo], args: ["{{inputs.parameters.text}}"]}
`

func TestHello(t *testing.T) {
	t.Parallel()
	d, problems := parse(t, hello)
	require.Empty(t, problems)
	require.Equal(t, "hello-world", d.Name)
	require.Len(t, d.Operators, 2)
	again, problems := parse(t, string(d.Document()))
	require.Empty(t, problems)
	require.Equal(t, d.Document(), again.Document(), "what is kept reads as itself")
}
