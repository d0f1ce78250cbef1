package typeregistry_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/typeregistry"
)

// TestProblemInAListOfAUnion: the path of a problem is its path in the JSON, and maps to
// the control in the form.
func TestProblemInAListOfAUnion(t *testing.T) {
	t.Parallel()
	schema, problems := typeregistry.Builtin().ParseSchema([]any{map[string]any{"name": "layers", "type": "Union<widths: List<Integer> | names: List<String>>"}}, "inputs")
	require.Empty(t, problems)
	form := typeregistry.Form{Values: url.Values{
		"inputs.layers.$type": {"widths"}, "inputs.layers.widths.$n": {"2"}, "inputs.layers.widths.0": {"8"}, "inputs.layers.widths.1": {"abc"},
	}}
	values, found := schema.DecodeForm(form, "inputs")
	require.Empty(t, found)
	_, found = schema.CheckAll(values, typeregistry.Env{})
	require.Len(t, found, 1)
	require.Equal(t, "layers.value.1", found[0].Path)
	require.Equal(t, "inputs.layers.widths.1", schema.Control(form, "inputs", found[0].Path))
}
