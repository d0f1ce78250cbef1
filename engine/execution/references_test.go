package execution_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution"
)

// TestReferencesAreChecked: references of a launch must exist and have the right kind.
func TestReferencesAreChecked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	blob, err := b.artifacts.Upload(b.ctx, strings.NewReader("a,b\n1,2\n"))
	require.NoError(t, err)
	doc := "name: reads\nversion: 1.0.0\ninputs: [{name: file, type: File}]\noperators: [{name: a, type: noop}]"
	b.finish(b.launch(doc, map[string]any{"file": map[string]any{"$file": blob.SHA256, "name": "x.csv", "size": json.Number("8")}}))
	for name, value := range map[string]any{
		"bytes":    map[string]any{"$file": strings.Repeat("0", 64), "name": "x.csv"},
		"artifact": map[string]any{"$artifact": "01900000-0000-7000-8000-000000000009"},
	} {
		_, _, err := b.engine.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "reads", Inputs: map[string]any{"file": value}})
		require.True(t, apperr.Is(err, apperr.Invalid), name)
		require.Equal(t, "inputs.file", apperr.FieldsOf(err)[0].Path)
	}
}

func TestWhatThisMachineLacksIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *execution.Config) { c.DataDir = t.TempDir() })
	v := b.register(`
name: greedy
version: 1.0.0
operators:
  - {name: gpu, type: shell, code: {script: "true"}, resources: {gpu: 8}}
  - {name: disk, type: shell, code: {script: "true"}, resources: {storage: 900000Gi}}
  - {name: image, type: shell, code: {script: "true", image: "python:3"}}
`)
	_, _, err := b.engine.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: v.Name})
	require.True(t, apperr.Is(err, apperr.Invalid))
	var paths []string
	for _, f := range apperr.FieldsOf(err) {
		paths = append(paths, f.Path)
	}
	require.Equal(t, []string{"operators.gpu.resources.gpu", "operators.disk.resources.storage", "operators.image.code.image"}, paths)
}
