package execution_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
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
		{group: "M1", feature: "arguments: tags and expressions of the workflow, replaced at launch; they can read each other in any order", spec: `
entrypoint: main
workflowMetadata: {labelsFrom: {of: {expression: workflow.parameters.expression}}}
arguments:
  parameters:
  - {name: both, value: "{{workflow.parameters.name}} {{workflow.parameters.expression}} {{ jinja }}"}
  - {name: name, value: "{{workflow.labels.team}} in {{workflow.namespace}} at {{workflow.priority}}"}
  - {name: expression, value: "{{=sprig.upper(workflow.parameters.which) + string(1 + 1)}}"}
  - {name: which, default: both}
  - {name: nested, value: "{{workflow.parameters.{{workflow.parameters.which}}}}!"}
  - {name: map, valueFrom: {configMapKeyRef: {name: case-settings, key: greeting}}}
  - {name: greeting, value: "{{workflow.parameters.map}}, {{workflow.parameters.which}}"}
templates:
- name: main
  inputs: {parameters: [{name: both}]}
  steps:
  - - {name: both, template: echo, arguments: {parameters: [{name: text, value: "{{workflow.parameters.both}} = {{inputs.parameters.both}}"}]}}
    - {name: nested, template: echo, arguments: {parameters: [{name: text, value: "{{workflow.parameters.nested}} {{workflow.labels.of}} {{workflow.parameters.greeting}}"}]}}`,
			status: query.Succeeded, outputs: map[string]string{
				"both" + result:   "blue in default at 50 BOTH2 {{ jinja }} = blue in default at 50 BOTH2 {{ jinja }}",
				"nested" + result: "blue in default at 50 BOTH2 {{ jinja }}! BOTH2 good morning, both",
			}},
	}
}

const argoTagged = `
entrypoint: main
arguments:
  parameters:
  - {name: path, value: "out/{{workflow.name}}/{{workflow.uid}}/{{workflow.scheduledTime}}"}
  - {name: id, value: "{{=sprig.uuidv4()}}"}
  - {name: a, value: a}
templates:
- name: main
  steps:
  - - {name: say, template: echo, arguments: {parameters: [{name: text, value: "{{workflow.parameters.path}} {{workflow.parameters.id}}"}]}}`

// TestTagsInInputs: the launch replaces the tags in its inputs once, as in the default values.
func TestTagsInInputs(t *testing.T) {
	t.Parallel()
	b := argoSetup(t)
	v := b.register(argoStopped("tagged", argoTagged))
	at := time.Date(2026, 7, 1, 5, 0, 0, 0, time.UTC)
	request := execution.LaunchRequest{Workflow: v.Name, Inputs: map[string]any{"a": "{{workflow.parameters.id}}"}, ScheduledAt: &at, IdempotencyKey: "once"}
	e, _, err := b.engine.Launches.Launch(b.ctx, request)
	require.NoError(t, err)
	id, _ := e.Inputs["id"].(string)
	require.Len(t, id, 36)
	require.Equal(t, "out/tagged-"+e.ID.String()[28:]+"/"+e.ID.String()+"/2026-07-01T05:00:00Z", e.Inputs["path"])
	require.Equal(t, id, e.Inputs["a"])
	require.Equal(t, query.Succeeded, b.finish(e.ID).Status)
	require.Equal(t, e.Inputs["path"].(string)+" "+id, b.node(e.ID, "say").Outputs["outputs.result"])

	again, created, err := b.engine.Launches.Launch(b.ctx, request)
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, e.ID, again.ID)
	resumed, _, err := b.engine.Resumption.Resume(b.ctx, execution.ResumeRequest{Of: e.ID, From: "say", Inputs: map[string]any{"id": nil}})
	require.NoError(t, err)
	require.Equal(t, e.Inputs["path"], resumed.Inputs["path"], "it keeps its inputs")
	require.Len(t, resumed.Inputs["id"], 36)
	require.NotEqual(t, id, resumed.Inputs["id"], "its default is computed again")
	b.finish(resumed.ID)
}

// TestTagsInInputsWithoutAValue: a launch is refused, and its error names the input and the tag.
func TestTagsInInputsWithoutAValue(t *testing.T) {
	t.Parallel()
	b := argoSetup(t)
	v := b.register(argoStopped("tagged", argoTagged))
	for text, want := range map[string]string{
		"{{tasks.say.outputs.result}}":                                     "{{tasks.say.outputs.result}} has no value at launch",
		"{{workflow.parameters.none}}":                                     "{{workflow.parameters.none}} has no value at launch",
		"{{workflow.{{=workflow.parameters.path == '' ? '' : 'status'}}}}": "{{workflow.status}} has no value at launch",
		"{{workflow.parameters.a}}":                                        "read the value itself",
		"{{=workflow.parameters.a + 'x'}}":                                 "read the value itself",
		"{{=workflow.parameters.path * 2}}":                                "*",
	} {
		request := execution.LaunchRequest{Workflow: v.Name, Inputs: map[string]any{"a": text}}
		_, _, err := b.engine.Launches.Launch(b.ctx, request)
		fields := apperr.FieldsOf(err)
		require.Len(t, fields, 1, "%s: %v", text, err)
		require.Equal(t, "inputs.a", fields[0].Path)
		require.Contains(t, fields[0].Message, want, text)
		check, err := b.engine.Launches.Check(b.ctx, request)
		require.NoError(t, err)
		require.Equal(t, fields, check.Problems, "of the dry run")
	}
}

// anotherServer waits until the node wait of an execution waits for an approval, changes the row
// as set says, and approves: as if another server drove the execution from then on.
func (b *testBundle) anotherServer(id uuid.UUID, set string) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		n, err := b.engine.Nodes.Get(b.ctx, id, "wait")
		return err == nil && n.State == dag.Running && !b.leased(id)
	}, 20*time.Second, 20*time.Millisecond)
	_, err := b.pool.Exec(b.ctx, "UPDATE executions SET owner_epoch = owner_epoch + 1"+set+" WHERE id = $1", id)
	require.NoError(b.t, err)
	require.NoError(b.t, b.command(id, "wait", execution.NodeCommand{Command: execution.CommandApprove}))
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
		e, _, err := b.engine.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: v.Name, Priority: query.Declared})
		require.NoError(t, err)
		require.Equal(t, want, e.Priority, priority)
		b.finish(e.ID)
		e, _, err = b.engine.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: v.Name, Priority: query.High})
		require.NoError(t, err)
		require.Equal(t, query.High, e.Priority, priority)
		b.finish(e.ID)
	}
}
