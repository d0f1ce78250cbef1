package argo_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTagsInArguments: tags that have no value at launch are refused by name and path. Tags of the
// workflow, expressions and braces of other languages are accepted.
func TestTagsInArguments(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"value: '{{inputs.parameters.a}}'":           "{{inputs.parameters.a}} has no value at launch",
		"value: 'x {{tasks.a.outputs.result}}'":      "{{tasks.a.outputs.result}} has no value at launch",
		"value: '{{=steps.a.status}}'":               "{{=steps.a.status}} has no value at launch",
		"value: '{{pod.name}}'":                      "{{pod.name}} has no value at launch",
		"value: '{{item}}'":                          "{{item}} has no value at launch",
		"value: '{{workflow.status}}'":               "{{workflow.status}} has no value at launch",
		"value: '{{=workflow.duration}}'":            "{{=workflow.duration}} has no value at launch",
		"value: '{{workflow.outputs.parameters.o}}'": "{{workflow.outputs.parameters.o}} has no value at launch",
		"value: '{{workflow.nme}}'":                  "There is no workflow.nme",
		"value: '{{workflow.parameters.x}}'":         `spec.arguments has no parameter "x"`,
		"value: '{{workflow.labels.computed}}'":      "labelsFrom computes this label",
		"value: '{{=workflow.labels.computed}}'":     "labelsFrom computes this label",
		"value: '{{workflow.labels.none}}'":          "no such label",
		"value: '{{=1 +}}'":                          "1 +",
		"value: '{{workflow.parameters.p}}'":         "read each other: p, p",
		"value: '{{workflow.parameters.q}}'":         "read each other: p, q, p",
		"value: '{{workflow.parameters.json}}'":      "read each other: p, p",
		"default: '{{tasks.a.status}}'":              "{{tasks.a.status}} has no value at launch",
		"valueFrom: {default: '{{tasks.a.status}}'}": "{{tasks.a.status}} has no value at launch",
		"value: '{{workflow.name}}-{{workflow.uid}}-{{workflow.creationTimestamp.Y}}-{{workflow.scheduledTime}}'": "",
		"value: '{{workflow.labels.team}} {{workflow.namespace}} {{=workflow.name + sprig.upper(\"a\")}}'":        "",
		"value: '{{=sprig.trim(\" a \")}}'":                                   "",
		"value: '{{ jinja }} {{.Go}} {{ x.y }}'":                              "",
		"value: '{{workflow.parameters.r}}{{=workflow.parameters.r + \"\"}}'": "",
	} {
		found := refusedFields(t, `
entrypoint: main
workflowMetadata: {labels: {team: blue}, labelsFrom: {computed: {expression: "'a'"}}}
arguments: {parameters: [{name: p, `+value+`}, {name: q, value: '{{workflow.parameters.p}}'}, {name: r, value: r}]}
templates:
- {name: main, container: {image: a, command: [b]}}`)
		if want == "" {
			require.Empty(t, found, value)
			continue
		}
		field, _, _ := strings.Cut(value, ":")
		if strings.Contains(value, "{default") {
			field = "valueFrom.default"
		}
		require.Len(t, found, 1, "%s: %v", value, found)
		require.Contains(t, found["spec.arguments.parameters[0]."+field], want, value)
	}
}

// TestPathsOfACronWorkflow: the problems of its workflow have their paths in the document.
func TestPathsOfACronWorkflow(t *testing.T) {
	t.Parallel()
	_, problems := parse(t, `
apiVersion: argoproj.io/v1alpha1
kind: CronWorkflow
metadata: {name: nightly}
spec:
  schedule: nonsense
  workflowSpec:
    entrypoint: main
    arguments: {parameters: [{name: day, value: "{{workflow.scheduledTime}}"}, {name: a, value: "{{tasks.a.status}}"}]}
    templates: [{name: main, container: {image: a, command: [b], tty: true}}]`)
	paths := make([]string, len(problems))
	for i, p := range problems {
		paths[i] = p.Path
	}
	require.ElementsMatch(t, []string{"spec.schedule", "spec.workflowSpec.arguments.parameters[1].value", "spec.workflowSpec.templates[0].container.tty"}, paths)
}
