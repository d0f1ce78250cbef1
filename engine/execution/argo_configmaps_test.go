package execution_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
)

func argoConfigMaps() []argoCase {
	return []argoCase{
		{group: "M2", feature: "configMapKeyRef of workflow arguments, read at the launch; the default applies when it is missing", spec: `
entrypoint: main
arguments:
  parameters:
  - {name: hello, valueFrom: {configMapKeyRef: {name: case-settings, key: greeting}}}
  - {name: gone, valueFrom: {configMapKeyRef: {name: case-settings, key: missing}, default: nothing}}
  - {name: absent, valueFrom: {configMapKeyRef: {name: case-missing, key: x, optional: true}}}
templates:
- name: main
  steps:
  - - {name: use, template: echo, arguments: {parameters: [{name: text, value: "{{workflow.parameters.hello}}, {{workflow.parameters.gone}}{{workflow.parameters.absent}}"}]}}`,
			status: query.Succeeded, outputs: map[string]string{"use" + result: "good morning, nothing"}},
		{group: "M2", feature: "configMapKeyRef of inputs and of a task's arguments, read when the node starts; its name may be a parameter", spec: `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: own, template: say}
    - {name: given, template: say, arguments: {parameters: [{name: text, value: mine}]}}
    - {name: argument, template: echo, arguments: {parameters: [{name: text, valueFrom: {configMapKeyRef: {name: case-settings, key: greeting}}}]}}
    - {name: chosen, template: chosen, arguments: {parameters: [{name: map, value: case-settings}]}}
    - {name: inner, template: inner}
- name: say
  inputs: {parameters: [{name: text, valueFrom: {configMapKeyRef: {name: case-settings, key: greeting}}}]}
  container: {image: busybox, command: [echo, "{{inputs.parameters.text}}"]}
- name: chosen
  inputs: {parameters: [{name: map}, {name: text, valueFrom: {configMapKeyRef: {name: "{{inputs.parameters.map}}", key: which}}}]}
  container: {image: busybox, command: [echo, "{{inputs.parameters.text}}"]}
- name: inner
  inputs: {parameters: [{name: list, valueFrom: {configMapKeyRef: {name: case-settings, key: list}}}]}
  steps:
  - - {name: each, template: echo, withParam: "{{inputs.parameters.list}}", arguments: {parameters: [{name: text, value: "{{item}}"}]}}`,
			status: query.Succeeded, outputs: map[string]string{
				"own" + result: "good morning", "given" + result: "mine", "argument" + result: "good morning", "chosen" + result: "greeting", "inner/each[1]" + result: "b",
			}},
		{group: "M2", feature: "configMapKeyRef: a missing key fails the node with the ConfigMap, the key and the path", spec: `
entrypoint: main
templates:
- name: main
  dag:
    failFast: false
    tasks: [{name: key, template: key}, {name: map, template: map}]
- name: key
  inputs: {parameters: [{name: text, valueFrom: {configMapKeyRef: {name: case-settings, key: missing}}}]}
  container: {image: busybox, command: [echo, "{{inputs.parameters.text}}"]}
- name: map
  inputs: {parameters: [{name: text, valueFrom: {configMapKeyRef: {name: case-missing, key: x}}}]}
  container: {image: busybox, command: [echo, "{{inputs.parameters.text}}"]}`,
			status: query.Failed, states: map[string]dag.State{"key": dag.Failed, "map": dag.Failed},
			messages: map[string]string{
				"key": `The ConfigMap case-settings has no key "missing" (spec.templates[1].inputs.parameters[0].valueFrom.configMapKeyRef)`,
				"map": `There is no ConfigMap "case-missing" in the namespace ff-test (spec.templates[2].`,
			}},
		{group: "M4", feature: "synchronization: the permits of a semaphore come from its ConfigMap", spec: `
entrypoint: main
templates:
- name: main
  dag:
    tasks: [{name: a, template: two}, {name: b, template: two}, {name: c, template: two}]
- name: two
  synchronization: {semaphores: [{configMapKeyRef: {name: case-config, key: rooms}}]}
  container:
    image: busybox
    command: [sh, -c]
    args: ["mkdir $DIR/{{pod.name}}.in; test $(ls -d $DIR/*.in | wc -l) -le 2 || exit 1; n=0; while test $n -lt 100 && ! test -e $DIR/met; do test $(ls -d $DIR/*.in | wc -l) -ge 2 && touch $DIR/met; sleep 0.1; n=$((n+1)); done; rmdir $DIR/{{pod.name}}.in; test -e $DIR/met"]`,
			status: query.Succeeded},
	}
}

const needsConfigMap = `
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: needs-configmap}
spec:
  entrypoint: main
  arguments: {parameters: [{name: a, valueFrom: {configMapKeyRef: {name: missing, key: k}}}]}
  templates:
  - name: main
    inputs: {parameters: [{name: a}, {name: b, valueFrom: {configMapKeyRef: {name: case-settings, key: greeting}}}]}
    container: {image: busybox, command: [echo, "{{inputs.parameters.a}}", "{{inputs.parameters.b}}"]}
`

// TestConfigMapAtLaunch: a missing value is reported at the launch, with its path.
func TestConfigMapAtLaunch(t *testing.T) {
	t.Parallel()
	b := argoSetup(t)
	v := b.register(needsConfigMap)
	_, _, err := b.engine.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: v.Name})
	require.Equal(t, "inputs.a", apperr.FieldsOf(err)[0].Path, "%v", err)
	require.Contains(t, apperr.FieldsOf(err)[0].Message, `There is no ConfigMap "missing" in the namespace ff-test (spec.arguments.parameters[0].valueFrom.configMapKeyRef)`)
	e, _, err := b.engine.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: v.Name, Inputs: map[string]any{"a": "given"}})
	require.NoError(t, err, "a given value needs no ConfigMap")
	require.Equal(t, query.Succeeded, b.finish(e.ID).Status)
}

// TestConfigMapWithoutCluster: without ConfigMaps, a launch that needs one is refused.
func TestConfigMapWithoutCluster(t *testing.T) {
	t.Parallel()
	b := argoSetup(t, func(c *execution.Config) { c.ConfigMap = nil })
	v := b.register(needsConfigMap)
	_, _, err := b.engine.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: v.Name, Inputs: map[string]any{"a": "given"}})
	require.Len(t, apperr.FieldsOf(err), 1, "%v", err)
	require.Contains(t, apperr.FieldsOf(err)[0].Message, "greeting of the ConfigMap case-settings, but this server runs tasks as local processes")
}

// TestConfigMapOfDriver: a process without access to the cluster leaves the ConfigMaps of
// the arguments to the driver of the execution; a missing one ends the execution there.
func TestConfigMapOfDriver(t *testing.T) {
	t.Parallel()
	b := argoSetup(t)
	front, err := execution.New(execution.Config{
		Pool: b.pool, Workflows: b.workflows, Artifacts: b.artifacts, Launcher: b.launcher, Signer: testSigner(t), Quotas: b.quotas,
		Instance: "front", Logger: testLogger(t), Cluster: true,
	})
	require.NoError(t, err)
	v := b.register(needsConfigMap)
	e, _, err := front.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: v.Name})
	require.NoError(t, err)
	e = b.finish(e.ID)
	require.Equal(t, query.Failed, e.Status)
	require.Contains(t, e.Error.Message, `There is no ConfigMap "missing"`)
	v = b.register(argoDocument(argoConfigMaps()[0], 900, t.TempDir()))
	e, _, err = front.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: v.Name})
	require.NoError(t, err)
	e = b.finish(e.ID)
	require.Equal(t, query.Succeeded, e.Status, "%+v", e.Error)
	require.Equal(t, map[string]any{"hello": "good morning", "gone": "nothing", "absent": ""}, e.Inputs)
	tagged := strings.Replace(needsConfigMap, "{name: missing, key: k}}}", `{name: case-settings, key: greeting}}}, {name: c, value: "{{workflow.parameters.a}} {{=sprig.upper(workflow.mainEntrypoint)}}"}`, 1)
	e, _, err = front.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: b.register(tagged).Name})
	require.NoError(t, err)
	require.Equal(t, "good morning MAIN", b.finish(e.ID).Inputs["c"], "tags are replaced when the values are known")
	e, _, err = front.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: v.Name, Inputs: map[string]any{"gone": "{{workflow.parameters.none}}"}})
	require.NoError(t, err)
	e = b.finish(e.ID)
	require.Equal(t, query.Failed, e.Status)
	require.Contains(t, e.Error.Message, "inputs.gone: {{workflow.parameters.none}} has no value at launch")
}

// TestConfigMapsAreReadAgainAfterAFailure: while the cluster does not respond a node waits; it does not fail.
func TestConfigMapsAreReadAgainAfterAFailure(t *testing.T) {
	t.Parallel()
	calls := 0
	b := argoSetup(t, func(c *execution.Config) {
		c.ConfigMap = func(ctx context.Context, project uuid.UUID, name string) (map[string]string, error) {
			if calls++; calls < 3 {
				return nil, apperr.Wrap(apperr.Unavailable, errors.New("refused"), "The cluster is not responding.")
			}
			return caseConfigMap(ctx, project, name)
		}
	})
	id := b.launch(argoDocument(argoConfigMaps()[1], 901, t.TempDir()), nil)
	require.Equal(t, query.Succeeded, b.finish(id).Status)
	require.Greater(t, calls, 2)
}
