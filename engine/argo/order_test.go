package argo_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/argo"
	"github.com/flowforge/flowforge/engine/workflow"
)

// TestInOrder: what a document refers to is registered before it, whatever the order.
func TestInOrder(t *testing.T) {
	t.Parallel()
	head := func(kind, name, spec string) []byte {
		return []byte("apiVersion: argoproj.io/v1alpha1\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec: " + spec)
	}
	refers := func(to string) string {
		return "{templates: [{name: main, steps: [[{name: a, templateRef: {name: " + to + ", template: main}}]]}]}"
	}
	docs := [][]byte{
		head("Workflow", "user", "{workflowTemplateRef: {name: first}}"),
		[]byte("name: parent\nversion: 1.0.0\noperators: [{name: a, type: workflow, workflow: child@1.0.0}]"),
		head("WorkflowTemplate", "first", refers("second, clusterScope: true")),
		head("WorkflowTemplate", "second", refers("nothing-here")),
		[]byte("name: child\nversion: 1.0.0\noperators: [{name: a, type: noop}]"),
		head("ClusterWorkflowTemplate", "second", refers("second")),
		[]byte(": not YAML {"),
	}
	require.Equal(t, []int{3, 5, 2, 0, 4, 1, 6}, workflow.InOrder(docs, argo.Format{}))
	circle := [][]byte{head("WorkflowTemplate", "a", refers("b")), head("WorkflowTemplate", "b", refers("a"))}
	require.Equal(t, []int{1, 0}, workflow.InOrder(circle, argo.Format{}))
}
