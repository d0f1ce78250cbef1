package execution_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
)

func argoLaunched() []argoCase {
	return []argoCase{
		{group: "M1", feature: "workflowMetadata.labelsFrom: labels that the launch computes, in tags and expressions", spec: `
entrypoint: main
arguments: {parameters: [{name: foo, value: bar}]}
workflowMetadata: {labels: {team: green}, labelsFrom: {foo: {expression: workflow.parameters.foo + '-' + workflow.namespace}, app.kubernetes.io/name: {expression: workflow.parameters.foo}}}
templates:
- name: main
  steps:
  - - {name: tag, template: echo, arguments: {parameters: [{name: text, value: "{{workflow.labels.foo}} {{workflow.labels.app.kubernetes.io/name}} {{workflow.labels.team}}"}]}}
    - {name: all, template: echo, arguments: {parameters: [{name: text, value: "{{=workflow.labels['foo']}} {{workflow.labels.json}}"}]}}`,
			status: query.Succeeded, outputs: map[string]string{
				"tag" + result: "bar-default bar green",
				"all" + result: `bar-default {"app.kubernetes.io/name":"bar","foo":"bar-default","team":"green"}`,
			}},
		{group: "M1", feature: "workflowMetadata.labelsFrom: a label without a text has no value", spec: `
entrypoint: main
arguments: {parameters: [{name: foo, value: bar}]}
workflowMetadata: {labelsFrom: {foo: {expression: "1 + 2"}}}
templates:
- name: main
  steps: [[{name: tag, template: echo, arguments: {parameters: [{name: text, value: "{{workflow.labels.foo}}"}]}}]]`,
			status: query.Failed, messages: map[string]string{"tag": "workflow.labels.foo"}},
	}
}

// anotherServer waits until the node wait of an execution waits for an approval, changes the row
// as set says, and approves: as if another server drove the execution from then on.
func (b *testBundle) anotherServer(id uuid.UUID, set string) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		n, err := b.engine.Node(b.ctx, id, "wait")
		return err == nil && n.State == dag.Running && !b.leased(id)
	}, 20*time.Second, 20*time.Millisecond)
	_, err := b.pool.Exec(b.ctx, "UPDATE executions SET owner_epoch = owner_epoch + 1"+set+" WHERE id = $1", id)
	require.NoError(b.t, err)
	require.NoError(b.t, b.tell(id, "wait", execution.NodeCommand{Command: execution.CommandApprove}))
	require.Equal(b.t, query.Succeeded, b.finish(id).Status)
}

// TestComputedLabelsStayTheSame: a label whose expression has another value each time has the
// same value in every process that drives the execution.
func TestComputedLabelsStayTheSame(t *testing.T) {
	t.Parallel()
	b := argoSetup(t)
	id := b.launch(argoStopped("labels", `
entrypoint: main
workflowMetadata: {labelsFrom: {id: {expression: "sprig.uuidv4()"}}}
templates:
- name: main
  steps:
  - - {name: before, template: echo, arguments: {parameters: [{name: text, value: "{{workflow.labels.id}}"}]}}
  - - {name: wait, template: wait}
  - - {name: after, template: echo, arguments: {parameters: [{name: text, value: "{{workflow.labels.id}}"}]}}
- name: wait
  suspend: {}`), nil)
	b.anotherServer(id, "")
	require.Len(t, b.node(id, "before").Outputs["outputs.result"], 36)
	require.Equal(t, b.node(id, "before").Outputs, b.node(id, "after").Outputs)
}

// TestLabelsOfAnEarlierVersion: the row of an execution that an earlier version launched has no
// labels; they are computed when they are needed.
func TestLabelsOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	b := argoSetup(t)
	id := b.launch(argoStopped("earlier", `
entrypoint: main
arguments: {parameters: [{name: foo, value: bar}]}
workflowMetadata: {labelsFrom: {foo: {expression: workflow.parameters.foo + '!'}}}
templates:
- name: main
  steps:
  - - {name: wait, template: wait}
  - - {name: after, template: echo, arguments: {parameters: [{name: text, value: "{{workflow.labels.foo}}"}]}}
- name: wait
  suspend: {}`), nil)
	b.anotherServer(id, ", labels = NULL")
	require.Equal(t, "bar!", b.node(id, "after").Outputs["outputs.result"])
}

// TestArgoPriority: 0, the default in Argo, is FlowForge's normal priority. A launch with a
// priority of its own has that.
func TestArgoPriority(t *testing.T) {
	t.Parallel()
	b := argoSetup(t)
	for priority, want := range map[string]query.Priority{"": 50, "priority: 0": 50, "priority: 10": 60, "priority: -5": 45, "priority: 1000": 100, "priority: -1000": 0} {
		v := b.register(argoStopped("priority", "\nentrypoint: \"true\"\n"+priority+"\ntemplates:"))
		e, _, err := b.engine.Launch(b.ctx, execution.LaunchRequest{Workflow: v.Name, Priority: query.Declared})
		require.NoError(t, err)
		require.Equal(t, want, e.Priority, priority)
		b.finish(e.ID)
		e, _, err = b.engine.Launch(b.ctx, execution.LaunchRequest{Workflow: v.Name, Priority: query.High})
		require.NoError(t, err)
		require.Equal(t, query.High, e.Priority, priority)
		b.finish(e.ID)
	}
}
