package execution_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/argo"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// argoSetup is setup for Argo documents, whose commands run on this machine.
func argoSetup(t testing.TB, options ...option) *testBundle {
	t.Helper()
	host := func(c *execution.Config) { c.HostImages, c.ConfigMap = true, caseConfigMap }
	b := setup(t, append([]option{host}, options...)...)
	b.workflows.ReadWith(argo.Format{})
	return b
}

// caseConfigMap returns the ConfigMaps of the cases.
func caseConfigMap(_ context.Context, _ uuid.UUID, name string) (map[string]string, error) {
	values, ok := map[string]map[string]string{
		"case-settings": {"greeting": "good morning", "list": `["a", "b"]`, "which": "greeting"},
		"case-config":   {"room": "1", "rooms": "2"},
	}[name]
	if !ok {
		return nil, apperr.New(apperr.NotFound, "There is no ConfigMap %q in the namespace ff-test.", name)
	}
	return values, nil
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
	require.Equal(t, query.Succeeded, e.Status, "%+v", e.Error)
	require.Equal(t, map[string]any{"outputs.result": "hi again"}, b.node(id, "b").Outputs)
}

// TestArgoNeedsImages: without a cluster each operator is refused once, with a solution.
func TestArgoNeedsImages(t *testing.T) {
	t.Parallel()
	b := argoSetup(t, func(c *execution.Config) { c.HostImages = false })
	version := b.register(argoHello)
	_, _, err := b.engine.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: version.Name, Priority: query.Normal})
	var failed *apperr.Error
	require.ErrorAs(t, err, &failed)
	paths := make([]string, len(failed.Fields))
	for k, f := range failed.Fields {
		paths[k] = f.Path
		require.Contains(t, f.Message, "FLOWFORGE_LOCAL_IMAGES=host")
	}
	require.Equal(t, []string{"spec.templates[1].container.image", "spec.templates[1].container.image"}, paths)
}

// TestArgoPathsAreOfTheDocument: a launch that is refused names fields of the document, not of
// the operators that were made of it.
func TestArgoPathsAreOfTheDocument(t *testing.T) {
	t.Parallel()
	b := argoSetup(t)
	version := b.register(argoStopped("paths", `
entrypoint: main
templates:
- name: main
  steps: [[{name: a, template: plain}, {name: b, template: large}]]
- name: plain
  container: {image: hello-world}
- name: large
  container: {image: busybox, command: ["true"], resources: {requests: {cpu: "4000"}}}`))
	_, _, err := b.engine.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: version.Name, Priority: query.Normal})
	fields := apperr.FieldsOf(err)
	require.NotEmpty(t, fields)
	paths := make([]string, len(fields))
	for k, f := range fields {
		paths[k] = f.Path
	}
	require.Contains(t, paths, "spec.templates[1].container.command")
	for _, path := range paths {
		require.Regexp(t, `^spec\.templates\[`, path)
	}
}
