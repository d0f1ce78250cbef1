package argo_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/argo"
	"github.com/flowforge/flowforge/engine/protect"
)

const typedSpec = `{"name": "pipeline", "description": "of the request", "dag_spec": {"version": "1.0", "entrypoint": "main", "templates": {
	"main": {"dag": {"tasks": [{"name": "a", "template": "work", "description": "first"},
		{"name": "b", "template": "work", "dependencies": [{"task": "a", "type": "%type"}], "when": "{{tasks.a.outputs.success}} == true"}]}},
	"work": {"description": "works", "container": {"image": "x", "command": ["y"]}, "retryStrategy": {"limit": 2, "retryPolicy": "%policy"}}}}}`

func typed(kind, policy string) string {
	return strings.NewReplacer("%type", kind, "%policy", policy).Replace(typedSpec)
}

// TestDagSpecRules: what a dag_spec may say beyond Argo's files, and how it reads again.
func TestDagSpecRules(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]protect.Policy{"OnTransient": protect.OnTransient, "OnError": protect.OnError, "Always": protect.Always, "Never": protect.Never} {
		d, problems := parse(t, typed("completion", policy))
		require.Empty(t, problems, policy)
		require.Equal(t, want, d.Operators[0].Retry.Policy, policy)
		require.Nil(t, d.Operators[0].Retry.Condition, policy)
		require.True(t, d.Operators[0].KeepsAll())
		require.Equal(t, "of the request", d.Description)
		require.Contains(t, d.Operators[1].Depends, "a.Failed")
		again, problems := parse(t, string(d.Document()))
		require.Empty(t, problems)
		require.Equal(t, string(d.Document()), string(again.Document()))
		require.True(t, again.Operators[0].KeepsAll())
		spec, ok := argo.DagSpec(d.Document())
		require.True(t, ok)
		require.Contains(t, spec["templates"], "work")
	}
	for doc, want := range map[string][2]string{
		typed("sucess", "Always"):      {"dag_spec.templates.main.dag.tasks[1].dependencies[0].type", `Did you mean "success"?`},
		typed("success", "OnTransint"): {"dag_spec.templates.work.retryStrategy.retryPolicy", `Did you mean "OnTransient"?`},
		strings.Replace(typed("failure", "Never"), `"entrypoint": "main"`, `"entrypoint": "main", "onExit": "wrk"`, 1): {"dag_spec.onExit", `There is no template "wrk". Did you mean "work"? Add it to templates, or omit onExit; the templates are main, work.`},
		strings.Replace(typed("failure", "Never"), `"1.0"`, `"2.0"`, 1):                                                {"dag_spec.version", `"1.0"`},
	} {
		_, problems := parse(t, doc)
		require.NotEmpty(t, problems, doc)
		require.Equal(t, want[0], problems[0].Path)
		require.Contains(t, problems[0].Message, want[1])
	}
}

// TestArgoHasNoTypedDependencies: Argo's own files keep Argo's rules.
func TestArgoHasNoTypedDependencies(t *testing.T) {
	t.Parallel()
	_, problems := parse(t, `
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: typed}
spec:
  entrypoint: main
  templates:
  - name: main
    dag: {tasks: [{name: a, template: work}, {name: b, template: work, dependencies: [{task: a, type: failure}], arguments: {parameters: [{name: x, value: "{{tasks.a.outputs.success}}"}]}}]}
  - {name: work, container: {image: x, command: [y]}}`)
	require.Len(t, problems, 2)
	require.Contains(t, problems[0].Message+problems[1].Message, "A dependency must be the name of a task")
}
