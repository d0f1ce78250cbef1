package catalogue

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/typeregistry"
)

func TestAnObjectWhoseFieldsHaveDefaultsIsNotRequired(t *testing.T) {
	t.Parallel()
	raw, err := typeregistry.DecodeJSON([]byte(`{"fields": [
		{"name": "params", "type": "HyperparameterSet{lr: Float = 0.1}"},
		{"name": "other", "type": "HyperparameterSet{lr: Float}"}]}`))
	require.NoError(t, err)
	schema, problems := typeregistry.Builtin().ParseSchema(raw, "input_schema")
	require.Empty(t, problems)
	rows := inputRows(schema)
	require.Equal(t, "lr = 0.1", rows[0].Default)
	require.Empty(t, rows[1].Default)
	require.True(t, rows[1].Required)
}
