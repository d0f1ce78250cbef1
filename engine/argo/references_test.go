package argo_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/argo"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

const library = `
apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: {name: library}
spec:
  entrypoint: main
  arguments: {parameters: [{name: a, value: x}, {name: b, value: y}]}
  templates:
  - {name: main, steps: [[{name: one, template: say, arguments: {parameters: [{name: text, value: "{{workflow.parameters.a}}"}]}}]]}
  - {name: say, inputs: {parameters: [{name: text}]}, container: {image: a, command: [echo, "{{inputs.parameters.text}}"]}}
`

// TestNamesOfKinds: a template keeps its name, which others refer to.
func TestNamesOfKinds(t *testing.T) {
	t.Parallel()
	base, problems := parse(t, library)
	require.Empty(t, problems)
	with := workflow.Surroundings{Types: typeregistry.Builtin(), Find: func(name string) (json.RawMessage, bool) { return base.Document(), name == "library" }}
	const spec = "\nspec: {workflowTemplateRef: {name: library}}"
	for doc, name := range map[string]string{
		"kind: Workflow\nmetadata: {generateName: library-}" + spec:                                                                          "library-run",
		"kind: CronWorkflow\nmetadata: {name: library}\nspec: {schedule: '* * * * *', workflowSpec: {workflowTemplateRef: {name: library}}}": "library-cron",
		"kind: Workflow\nmetadata: {name: other}" + spec:                                                                                     "other",
	} {
		d, problems := argo.Format{}.Parse(decode(t, "apiVersion: argoproj.io/v1alpha1\n"+doc), with)
		require.Empty(t, problems)
		require.Equal(t, name, d.Name)
		again, problems := argo.Format{}.Parse(decode(t, string(d.Document())), workflow.Surroundings{Types: typeregistry.Builtin()})
		require.Empty(t, problems)
		require.Equal(t, name, again.Name)
		require.Equal(t, string(d.Document()), string(again.Document()))
	}
	cron, problems := parse(t, "apiVersion: argoproj.io/v1alpha1\nkind: CronWorkflow\nmetadata: {name: nightly}\nspec: {schedule: '* * * * *', workflowSpec: {entrypoint: main, templates: [{name: main, container: {image: a, command: [b]}}]}}")
	require.Empty(t, problems)
	with.Find = func(name string) (json.RawMessage, bool) { return cron.Document(), name == "nightly" }
	_, problems = argo.Format{}.Parse(decode(t, "apiVersion: argoproj.io/v1alpha1\nkind: WorkflowTemplate\nmetadata: {name: nightly}\nspec: {templates: []}"), with)
	require.Contains(t, problems[0].Message, `A CronWorkflow has the name "nightly"`)
}

// TestReferences: what a document refers to is found once and kept with it.
func TestReferences(t *testing.T) {
	t.Parallel()
	base, problems := parse(t, library)
	require.Empty(t, problems)
	with := workflow.Surroundings{Types: typeregistry.Builtin(), Find: func(name string) (json.RawMessage, bool) { return base.Document(), name == "library" }}
	for kind, spec := range map[string]string{
		"Workflow":     "\nspec: {workflowTemplateRef: {name: library}, arguments: {parameters: [{name: a, value: z}]}}",
		"CronWorkflow": "\nspec: {schedule: '0 5 * * *', timezone: UTC, workflowSpec: {workflowTemplateRef: {name: library}, arguments: {parameters: [{name: a, value: z}]}}}",
		"WorkflowTemplate": `
spec:
  entrypoint: main
  arguments: {parameters: [{name: a, value: z}, {name: b, value: y}]}
  templates:
  - name: main
    steps: [[{name: one, templateRef: {name: library, template: say}, arguments: {parameters: [{name: text, value: "{{workflow.parameters.a}}"}]}}]]`,
	} {
		d, problems := argo.Format{}.Parse(decode(t, "apiVersion: argoproj.io/v1alpha1\nkind: "+kind+"\nmetadata: {name: user}"+spec), with)
		require.Empty(t, problems, kind)
		require.Equal(t, "one", d.Operators[0].Name, kind)
		require.JSONEq(t, `"z"`, string(d.Inputs.Fields[0].Default), kind)
		require.Len(t, d.Inputs.Fields, 2, kind)
		again, problems := argo.Format{}.Parse(decode(t, string(d.Document())), workflow.Surroundings{Types: typeregistry.Builtin()})
		require.Empty(t, problems, kind)
		require.Equal(t, string(d.Document()), string(again.Document()), kind)
		require.Equal(t, d.Operators[0].Code, again.Operators[0].Code, kind)
	}
}

// TestKeptDocumentsLoad: a document that was registered by fewer rules is read all the same.
func TestKeptDocumentsLoad(t *testing.T) {
	t.Parallel()
	doc := decode(t, `
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: x}
spec:
  entrypoint: main
  templates:
  - name: main
    steps: [[{name: a, template: w}, {name: b, template: w, when: "{{steps.a.status}} == Succeeded"}]]
  - {name: w, container: {image: i, command: [c], stdin: true}}`)
	_, problems := argo.Format{}.Parse(doc, workflow.Surroundings{Types: typeregistry.Builtin(), Find: func(string) (json.RawMessage, bool) { return nil, false }})
	require.NotEmpty(t, problems)
	d, problems := argo.Format{}.Parse(doc, workflow.Surroundings{Types: typeregistry.Builtin()})
	require.Empty(t, problems)
	require.Len(t, d.Operators, 2)
}
