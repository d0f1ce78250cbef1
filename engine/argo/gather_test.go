package argo_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/argo"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

const settingsMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {greeting: hello, permits: '3'}"

const readsSettings = `
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: reads}
spec:
  entrypoint: main
  arguments: {parameters: [{name: a, valueFrom: {default: x, configMapKeyRef: {name: settings, key: greeting}}}]}
  templates:
  - name: main
    inputs: {parameters: [{name: b, valueFrom: {configMapKeyRef: {name: settings, key: greeting}}}, {name: c, valueFrom: {default: z, configMapKeyRef: {name: settings, key: absent}}}]}
    synchronization: {semaphores: [{configMapKeyRef: {name: settings, key: permits}}]}
    container: {image: a, command: [b], env: [{name: E, valueFrom: {configMapKeyRef: {name: other, key: k}}}]}
`

// TestConfigMapsAreStoredWithTheirReaders, in any order, and not without one.
func TestConfigMapsAreStoredWithTheirReaders(t *testing.T) {
	t.Parallel()
	other := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\ndata: {k: v}"
	docs := workflow.Gather([][]byte{[]byte(settingsMap), []byte(readsSettings), []byte(other)}, argo.Format{})
	require.Nil(t, docs[0])
	require.Equal(t, other, string(docs[2]), "an environment is read in the cluster alone")

	d, problems := parse(t, string(docs[1]))
	require.Empty(t, problems)
	loaded, problems := argo.Format{}.Parse(decode(t, string(d.Document())), workflow.Surroundings{Types: typeregistry.Builtin()})
	require.Empty(t, problems)
	for _, of := range []*workflow.Definition{d, loaded} {
		require.Equal(t, "hello", *of.FromConfigMaps["a"].Default)
		main := of.Operators[0]
		require.Equal(t, 3, main.Locks[0].Permits)
		defaults := map[string]string{}
		for _, in := range main.Inputs {
			defaults[in.Name] = *in.Source.Tagged.Default
		}
		require.Equal(t, map[string]string{"b": "hello", "c": "z"}, defaults, "a key that the ConfigMap lacks has its default")
	}
}

// TestConfigMapsAlone: one that nothing reads is refused with the solution.
func TestConfigMapsAlone(t *testing.T) {
	t.Parallel()
	docs := workflow.Gather([][]byte{[]byte(settingsMap)}, argo.Format{})
	_, problems := parse(t, string(docs[0]))
	require.Len(t, problems, 1)
	require.Contains(t, problems[0].Message, "Register it together with the workflow")
}

// TestConfigMapsOfTemplates: those of a template come with it.
func TestConfigMapsOfTemplates(t *testing.T) {
	t.Parallel()
	library := strings.Replace(readsSettings, "kind: Workflow", "kind: WorkflowTemplate", 1)
	docs := workflow.Gather([][]byte{[]byte(library), []byte(settingsMap)}, argo.Format{})
	d, problems := argo.Format{}.Parse(decode(t, `
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: x}
spec:
  entrypoint: main
  templates:
  - {name: main, steps: [[{name: a, templateRef: {name: reads, template: main}}]]}`),
		workflow.Surroundings{Types: typeregistry.Builtin(), Find: func(string) (json.RawMessage, bool) { return docs[0], true }})
	require.Empty(t, problems)
	require.Equal(t, 3, d.Operators[0].Locks[0].Permits)
}
