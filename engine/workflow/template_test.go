package workflow

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
)

const scale = `
name: scale
version: 1.2.0
description: Multiplies.
type: shell
inputs: [{name: n, type: Integer}, {name: by, type: Integer, description: The factor}]
outputs: [{name: product, type: Integer}]
resources: {cpu: 1}
code: {script: "true"}
`

func TestTemplatesFillOperators(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s, ctx := b.service, b.ctx
	made, created, err := s.RegisterTemplate(ctx, []byte(scale), false)
	require.NoError(t, err)
	require.True(t, created)
	require.Equal(t, "1.2.0", made.Version)
	_, created, err = s.RegisterTemplate(ctx, []byte(scale), false)
	require.NoError(t, err)
	require.False(t, created)
	_, _, err = s.RegisterTemplate(ctx, []byte(scale+"timeout: 1m\n"), false)
	require.True(t, apperr.Is(err, apperr.Conflict), "%v", err)

	v, _, err := s.Register(ctx, []byte(`
name: uses
version: 1.0.0
inputs: [{name: n, type: Integer}]
operators:
  - {name: twice, template: scale, resources: {cpu: 2}, inputs: [{name: n, from: inputs.n}, {name: by, value: 2}]}
`))
	require.NoError(t, err)
	op := v.Definition.Operators[0]
	require.Equal(t, "scale@1.2.0", op.MadeOf)
	require.Equal(t, 2000, op.Resources.CPUMillis)
	require.Equal(t, "Integer", op.Inputs[1].Type.String())
	require.Equal(t, "The factor", op.Inputs[1].Description)
	require.Len(t, op.Outputs, 1)

	_, _, err = s.Register(ctx, []byte("name: uses\nversion: 1.0.1\noperators: [{name: x, template: scale@9.0.0}]"))
	require.Equal(t, "operators[0].template", apperr.FieldsOf(err)[0].Path)
	_, _, err = s.RegisterTemplate(ctx, []byte("name: bad\nversion: 1.0.0\ntype: shell\ninputs: [{name: n, type: Integer, from: inputs.n}]\ncode: {script: x}"), false)
	require.Equal(t, "inputs[0].from", apperr.FieldsOf(err)[0].Path)
}
