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

// TestTemplatesOfTheClusterHaveTheirOwnNames: both kinds may have one name, and clusterScope says
// which of them is meant.
func TestTemplatesOfTheClusterHaveTheirOwnNames(t *testing.T) {
	t.Parallel()
	registered := map[string]json.RawMessage{}
	with := workflow.Surroundings{Types: typeregistry.Builtin(), Find: func(name string) (json.RawMessage, bool) {
		doc, ok := registered[name]
		return doc, ok
	}}
	for kind, image := range map[string]string{"WorkflowTemplate": "mine", "ClusterWorkflowTemplate": "everyones"} {
		doc := strings.NewReplacer("kind: WorkflowTemplate", "kind: "+kind, "image: a", "image: "+image).Replace(library)
		d, problems := argo.Format{}.Parse(decode(t, doc), with)
		require.Empty(t, problems)
		registered[d.Name] = d.Document()
		again, problems := argo.Format{}.Parse(decode(t, string(d.Document())), workflow.Surroundings{Types: typeregistry.Builtin()})
		require.Empty(t, problems)
		require.Equal(t, d.Name, again.Name)
	}
	require.Len(t, registered, 2)
	const user = "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: user}\nspec: "
	image := func(spec string) string {
		d, problems := argo.Format{}.Parse(decode(t, user+spec), with)
		require.Empty(t, problems)
		d, problems = argo.Format{}.Parse(decode(t, string(d.Document())), workflow.Surroundings{Types: typeregistry.Builtin()})
		require.Empty(t, problems)
		for _, op := range d.EveryOperator() {
			if op.Code.Image != "" {
				return op.Code.Image
			}
		}
		return ""
	}
	require.Equal(t, "mine", image("{workflowTemplateRef: {name: library}}"))
	require.Equal(t, "everyones", image("{workflowTemplateRef: {name: library, clusterScope: true}}"))
	const step = "{entrypoint: main, arguments: {parameters: [{name: a, value: z}]}, templates: [{name: main, steps: [[{name: a, templateRef: {name: library, template: say%s}, arguments: {parameters: [{name: text, value: b}]}}]]}]}"
	require.Equal(t, "mine", image(strings.Replace(step, "%s", "", 1)))
	require.Equal(t, "everyones", image(strings.Replace(step, "%s", ", clusterScope: true", 1)))
	delete(registered, "library")
	_, problems := argo.Format{}.Parse(decode(t, user+"{workflowTemplateRef: {name: library}}"), with)
	require.Contains(t, problems[0].Message, "Set clusterScope: true")
}

// TestAllProblemsAtOnce: what cannot be read does not hide what is wrong elsewhere.
func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	_, problems := parse(t, `
apiVersion: argoproj.io/v1alpha
kind: Workflow
metadata: {name: x}
spec:
  entrypoint: mian
  paralelism: 3
  templates:
  - name: main
    steps: [[{name: a, template: nowhere}, {name: b, template: w, arguments: {parameters: [{name: text, value: "{{inputs.parameters.none}}"}]}}]]
  - {name: w, inputs: {parameters: [{name: text}]}, container: {image: [i], comand: [c]}}`)
	paths := make([]string, len(problems))
	for k, p := range problems {
		paths[k] = p.Path
	}
	require.ElementsMatch(t, []string{
		"apiVersion", "spec.entrypoint", "spec.paralelism", "spec.templates[0].steps[0][0].template", "spec.templates[0].steps[0][1].arguments.parameters[0].value",
		"spec.templates[1].container.comand", "spec.templates[1].container.image",
	}, paths, "%v", problems)
	require.Contains(t, problems[0].Message, `argoproj.io/v1alpha1, not "argoproj.io/v1alpha"`)
}

// TestMisspeltAPIVersion: one of Argo's documents is read as such, to say what is misspelt.
func TestMisspeltAPIVersion(t *testing.T) {
	t.Parallel()
	doc := decode(t, "apiversion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: x}\nspec: {entrypoint: main, templates: [{name: main, container: {image: a, command: [b]}}]}")
	require.True(t, argo.Format{}.Reads(doc))
	_, problems := argo.Format{}.Parse(doc, workflow.Surroundings{Types: typeregistry.Builtin(), Find: func(string) (json.RawMessage, bool) { return nil, false }})
	require.Len(t, problems, 2)
	require.Contains(t, problems[0].Message, `Did you mean "apiVersion"?`)
}
