package argo_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/argo"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
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

// refusedFields returns what is wrong with a workflow of one template alongside main.
func refusedFields(t *testing.T, spec string) map[string]string {
	t.Helper()
	_, problems := parse(t, "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: x}\nspec:"+strings.ReplaceAll(spec, "\n", "\n  "))
	found := map[string]string{}
	for _, p := range problems {
		found[p.Path] = p.Message
	}
	return found
}

// TestEntryInputsAreDeclared: the launch form has the required inputs of the entry point.
func TestEntryInputsAreDeclared(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{"container: {image: a, command: [echo, '{{inputs.parameters.who}}', '{{workflow.scheduledTime}}']}", "steps: [[{name: a, template: w}]]"} {
		d, problems := parse(t, `
apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: {name: x}
spec:
  entrypoint: main
  workflowMetadata: {labels: {team: blue}}
  templates:
  - {name: main, inputs: {parameters: [{name: who, description: whom to greet}, {name: how, default: gently}]}, `+entry+`}
  - {name: w, container: {image: a, command: [b]}}`)
		require.Empty(t, problems)
		require.Equal(t, "who", d.Inputs.Fields[0].Name)
		require.Equal(t, "whom to greet", d.Inputs.Fields[0].Description)
		require.Nil(t, d.Inputs.Fields[0].Default)
		require.Equal(t, "blue", d.Constants["workflow.labels.team"])
	}
}

// TestUnknownTemplateKind: a template may read parameters that a launch provides.
func TestUnknownTemplateKind(t *testing.T) {
	t.Parallel()
	doc := `
apiVersion: argoproj.io/v1alpha1
kind: %s
metadata: {name: x}
spec:
  entrypoint: main
  arguments: {parameters: [{name: salutation, value: hello}]}
  templates: [{name: main, container: {image: a, command: [echo, "{{workflow.parameters.salutation}} {{workflow.parameters.who}}"], args: ["{{workflow.parameters.who}}"]}}]`
	d, problems := parse(t, fmt.Sprintf(doc, "WorkflowTemplate"))
	require.Empty(t, problems)
	require.Len(t, d.Inputs.Fields, 2)
	require.Equal(t, "who", d.Inputs.Fields[1].Name)
	_, problems = parse(t, fmt.Sprintf(doc, "Workflow"))
	require.NotEmpty(t, problems)
}

// TestForeignBraces: what has the braces of another language stays as it is.
func TestForeignBraces(t *testing.T) {
	t.Parallel()
	const doc = "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: x}\nspec:\n  entrypoint: main\n  templates: [{name: main, container: {image: a, command: [b], args: [%q]}}]"
	for _, text := range []string{"docker ps --format '{{.Names}}'", "{{ jinja }}", "${{ github.ref }}", "{{% raw %}}", "{{ user.name | upper }}"} {
		d, problems := parse(t, fmt.Sprintf(doc, text))
		require.Empty(t, problems, text)
		require.Equal(t, []string{text}, d.Operators[0].Code.Args)
	}
	_, problems := parse(t, fmt.Sprintf(doc, "{{input.parameters.x}}"))
	require.Contains(t, problems[0].Message, `Did you mean "inputs"?`)
}

// TestSuccessCondition: a condition is the status codes with which it holds.
func TestSuccessCondition(t *testing.T) {
	t.Parallel()
	codes := func(condition string) []int {
		d, problems := parse(t, fmt.Sprintf("apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: x}\nspec:\n  entrypoint: main\n  templates: [{name: main, http: {url: 'http://x', successCondition: %q}}]", condition))
		require.Empty(t, problems)
		return d.Operators[0].HTTP.Success
	}
	require.Equal(t, []int{201}, codes("response.statusCode == 201"))
	require.Len(t, codes("response.statusCode >= 200 && response.statusCode < 400"), 200)
	require.Len(t, codes("true == true"), 500, "as Metaflow writes it")
	require.Len(t, codes(`response.body contains "x"`), 500, "the response decides")
	for condition, says := range map[string]string{`response.cookies contains "x"`: "not response.cookies", "response.statusCode == 99": "No status code", "1 +": "1 +"} {
		found := refusedFields(t, fmt.Sprintf("\nentrypoint: main\ntemplates: [{name: main, http: {url: 'http://x', successCondition: %q}}]", condition))
		require.Contains(t, found["spec.templates[0].http.successCondition"], says)
	}
}

// TestEachProblemOnce: a template that several tasks run has its problems once, and an object
// of another kind is none of FlowForge's own form.
func TestEachProblemOnce(t *testing.T) {
	t.Parallel()
	_, problems := parse(t, `
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: x}
spec:
  entrypoint: main
  templates:
  - {name: main, steps: [[{name: a, template: w}, {name: b, template: w}]]}
  - {name: w, resource: {action: create}}`)
	require.Len(t, problems, 1)
	_, problems = parse(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: b}")
	require.Len(t, problems, 1)
	require.Contains(t, problems[0].Message, `not "ConfigMap"`)
}

// TestRefusals: each fault is named with its place and what to do.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string][2]string{
		"\nentrypoint: main\ntemplates:\n- {name: main, container: {image: a, command: [b], argz: [c]}}":                                                                                                                                  {"spec.templates[0].container.argz", `Did you mean "args"?`},
		"\nentrypoint: main\ntemplates:\n- {name: main, script: {image: a, source: b}}":                                                                                                                                                   {"spec.templates[0].script.command", "interpreter of the script"},
		"\nentrypoint: nain\ntemplates:\n- {name: main, container: {image: a, command: [b]}}":                                                                                                                                             {"spec.entrypoint", `Did you mean "main"?`},
		"\nentrypoint: main\ntemplates:\n- {name: main, daemon: true, suspend: {}}":                                                                                                                                                       {"spec.templates[0].daemon", "Only a container or a script"},
		"\nentrypoint: main\nonExit: main\ntemplates:\n- {name: main, daemon: true, container: {image: a, command: [b]}}":                                                                                                                 {"spec.onExit", "cannot be a daemon"},
		"\nentrypoint: main\ntemplates:\n- {name: main, steps: [[{name: a, template: w, withItems: [1]}]]}\n- {name: w, daemon: true, container: {image: a, command: [b]}}":                                                               {"spec.templates[0].steps[0][0]", "runs only once"},
		"\nentrypoint: main\ntemplates:\n- {name: main, steps: [[{name: a, template: w}], [{name: b, template: w, when: '{{steps.a.ip}} == x'}]]}\n- {name: w, container: {image: a, command: [b]}}":                                      {"spec.templates[0].steps[1][0].when", "Only daemon tasks"},
		"\nentrypoint: main\ntemplates:\n- {name: main, resource: {action: create}}":                                                                                                                                                      {"spec.templates[0].resource", "does not support this field"},
		"\nentrypoint: main\ntemplates:\n- {name: main, container: {image: a, command: [b], args: ['{{inputs.parameters.x}}']}}":                                                                                                          {"spec.templates[0].container.args[0]", "no input parameters.x"},
		"\nentrypoint: main\ntemplates:\n- {name: main, container: {image: a, command: [b], args: ['{{workflow.parameters.x}}']}}":                                                                                                        {"spec.templates[0].container.args[0]", "no parameter"},
		"\nentrypoint: main\ntemplates:\n- {name: main, container: {image: a, command: [b], args: ['{{= 1 + }}']}}":                                                                                                                       {"spec.templates[0].container.args[0]", "1 +"},
		"\nentrypoint: main\ntemplates:\n- {name: main, dag: {tasks: [{name: a, template: w, depends: b}]}}\n- {name: w, container: {image: a, command: [b]}}":                                                                            {"spec.templates[0].dag.tasks[0].depends", `no task "b"`},
		"\nentrypoint: main\ntemplates:\n- {name: main, dag: {tasks: [{name: a, template: w, dependencies: [b]}, {name: b, template: w, dependencies: [a]}]}}\n- {name: w, container: {image: a, command: [b]}}":                          {"spec.templates[0].dag.tasks[0]", "depend on each other"},
		"\nentrypoint: main\ntemplates:\n- {name: main, steps: [[{name: a, template: w}]]}\n- {name: w, inputs: {parameters: [{name: p}]}, container: {image: a, command: [b]}}":                                                          {"spec.templates[0].steps[0][0].arguments.parameters", `needs the parameter "p"`},
		"\nentrypoint: main\ntemplates:\n- {name: main, steps: [[{name: a, template: w, when: 'a b c'}]]}\n- {name: w, container: {image: a, command: [b]}}":                                                                              {"spec.templates[0].steps[0][0].when", "quotes"},
		"\nentrypoint: main\ntemplates:\n- {name: main, steps: [[{name: a, templateRef: {name: l, template: t}}]]}":                                                                                                                       {"spec.templates[0].steps[0][0].templateRef.name", "apply it first"},
		"\nentrypoint: main\ntemplates:\n- {name: main, steps: [[{name: a, template: w, arguments: {parameters: [{name: p, value: '{{item}}'}]}}]]}\n- {name: w, inputs: {parameters: [{name: p}]}, container: {image: a, command: [b]}}": {"spec.templates[0].steps[0][0].arguments.parameters[0].value", "withItems"},
		"\nentrypoint: main\ntemplates:\n- {name: main, dag: {tasks: [{name: a, template: w}, {name: b, template: w, when: '{{tasks.a.status}} == Succeeded'}]}}\n- {name: w, container: {image: a, command: [b]}}":                       {"spec.templates[0].dag.tasks[1].when", "does not depend on it"},
		"\nentrypoint: main\ntemplates:\n- {name: main, steps: [[{name: a, template: w}, {name: b, template: w, when: '{{steps.a.status}} == Succeeded'}]]}\n- {name: w, container: {image: a, command: [b]}}":                            {"spec.templates[0].steps[0][1].when", "does not depend on it"},
		"\nentrypoint: main\ntemplates:\n- {name: main, retryStrategy: {retryPolicy: Often}, container: {image: a, command: [b]}}":                                                                                                        {"spec.templates[0].retryStrategy.retryPolicy", "OnFailure"},
		"\nentrypoint: main\ntemplates:\n- {name: main, timeout: soon, container: {image: a, command: [b]}}":                                                                                                                              {"spec.templates[0].timeout", "2h"},
		"\nentrypoint: main\ntemplates:\n- {name: main, container: {image: a, command: [b], resources: {limits: {amd.com/gpu: 1}}}}":                                                                                                      {"spec.templates[0].container.resources.limits.amd.com/gpu", "podSpecPatch"},
	} {
		found := refusedFields(t, spec)
		require.Contains(t, found[want[0]], want[1], "%s\n%v", spec, found)
	}
}

const dagSpec = `{"name": "pipeline", "labels": {"a": "b"}, "parameters": {"env": "x"}, "dag_spec": {"version": "1.0", "entrypoint": "main", "templates": {
	"main": {"dag": {"tasks": [{"name": "one", "template": "work", "arguments": {"parameters": [{"name": "script", "value": "a.py"}]}}]}},
	"work": {"container": {"image": "python:3", "command": ["python"], "args": ["{{inputs.parameters.script}}", "{{workflow.parameters.env}}"]%s}, "inputs": {"parameters": [{"name": "script"}]}}}}}`

func TestDagSpec(t *testing.T) {
	t.Parallel()
	d, problems := parse(t, strings.ReplaceAll(dagSpec, "%s", ""))
	require.Empty(t, problems)
	require.Equal(t, "pipeline", d.Name)
	require.Equal(t, "b", d.Constants["workflow.labels.a"])
	require.Equal(t, "env", d.Inputs.Fields[0].Name)
	_, problems = parse(t, strings.ReplaceAll(dagSpec, "%s", `, "tty": true`))
	require.Len(t, problems, 1)
	require.Equal(t, "dag_spec.templates.work.container.tty", problems[0].Path)
}

// TestPodFields: what a template says of its pod reaches the launcher under its names.
func TestPodFields(t *testing.T) {
	t.Parallel()
	d, problems := parse(t, `
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: x}
spec:
  entrypoint: main
  serviceAccountName: runner
  nodeSelector: {disk: ssd}
  volumes: [{name: v, emptyDir: {}}]
  podMetadata: {labels: {a: "1"}}
  templates:
  - name: main
    nodeSelector: {zone: z1}
    metadata: {annotations: {b: "2"}}
    sidecars: [{name: db, image: redis, mirrorVolumeMounts: true}]
    initContainers: [{name: first, image: busybox, command: [sh, -c, "true"]}]
    container:
      image: busybox
      command: ["true"]
      imagePullPolicy: Always
      volumeMounts: [{name: v, mountPath: /v}]
      env: [{name: PASSWORD, valueFrom: {secretKeyRef: {name: s, key: k}}}, {name: PLAIN, value: x}]
      resources: {requests: {cpu: 500m, memory: 1Gi}, limits: {memory: 2Gi, nvidia.com/gpu: 1}}
`)
	require.Empty(t, problems)
	op := d.Operators[0]
	require.Equal(t, workflow.Resources{CPUMillis: 500, MemoryMiB: 2048, GPUs: 1}, op.Resources)
	require.Equal(t, map[string]string{"PLAIN": "x"}, op.Environment)
	require.JSONEq(t, `{"serviceAccountName": "runner", "nodeSelector": {"disk": "ssd", "zone": "z1"}, "labels": {"a": "1"}, "annotations": {"b": "2"},
		"volumes": [{"name": "v", "emptyDir": {}}], "volumeMounts": [{"name": "v", "mountPath": "/v"}], "imagePullPolicy": "Always",
		"sidecars": [{"name": "db", "image": "redis", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}],
		"initContainers": [{"name": "first", "image": "busybox", "command": ["sh", "-c", "true"]}],
		"podSpecPatch": "{\"containers\":[{\"env\":[{\"name\":\"PASSWORD\",\"valueFrom\":{\"secretKeyRef\":{\"key\":\"k\",\"name\":\"s\"}}}],\"name\":\"task\"}]}"}`, string(op.Pod))
}

// FuzzParse: no document makes the format fail, and what it takes reads as itself.
func FuzzParse(f *testing.F) {
	f.Add(hello)
	f.Add(measured)
	f.Add(strings.ReplaceAll(dagSpec, "%s", ""))
	f.Fuzz(func(t *testing.T, doc string) {
		data, err := yaml.YAMLToJSON([]byte(doc))
		if err != nil {
			return
		}
		var tree map[string]any
		d := json.NewDecoder(strings.NewReader(string(data)))
		d.UseNumber()
		if d.Decode(&tree) != nil || tree == nil || !(argo.Format{}).Reads(tree) {
			return
		}
		found, problems := argo.Format{}.Parse(tree, workflow.Surroundings{Types: typeregistry.Builtin(), Find: func(string) (json.RawMessage, bool) { return nil, false }})
		if len(problems) > 0 {
			return
		}
		again, problems := parse(t, string(found.Document()))
		require.Empty(t, problems)
		require.Equal(t, string(found.Document()), string(again.Document()))
	})
}

// TestKindsSayWhatToDo: each kind of object that FlowForge does not run is refused with a way to
// make it.
func TestKindsSayWhatToDo(t *testing.T) {
	t.Parallel()
	for kind, says := range map[string]string{
		"ConfigMap": "Register it together with", "PersistentVolumeClaim": "with kubectl", "WorkflowEventBinding": "POST /api/v1/executions",
		"WorkflowTaskSet": "Omit it", "Deployment": "Apply it with kubectl",
	} {
		_, problems := parse(t, "apiVersion: v1\nkind: "+kind+"\nmetadata: {name: x}\nspec: {}")
		require.Len(t, problems, 1, kind)
		require.Equal(t, "kind", problems[0].Path)
		require.Contains(t, problems[0].Message, says)
	}
}
