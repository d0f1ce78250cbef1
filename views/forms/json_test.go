package forms_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views/forms"
)

func TestJSONKeepsNonsense(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t, field("epochs", "Integer"), field("tags", "List<String>"))
	inputs, _ := schema.DecodeForm(typeregistry.Form{Values: url.Values{"inputs.epochs": {"many"}, "inputs.tags.0": {"a"}}}, forms.Prefix)
	text := forms.WriteJSON(schema, inputs)
	require.Equal(t, "{\n  \"epochs\": \"many\",\n  \"tags\": [\n    \"a\"\n  ]\n}", text)
	read, problems := forms.ReadJSON(text)
	require.Empty(t, problems)
	values, problems := forms.ToForm(schema, read)
	require.Empty(t, problems)
	require.Equal(t, "many", values.Get("inputs.epochs"))
	_, problems = forms.ReadJSON("{\n  \"a\": 1,\n  nope\n}")
	require.Len(t, problems, 1)
	require.Contains(t, problems[0].Message, "Line 3")
	_, problems = forms.ReadJSON("[1]")
	require.Len(t, problems, 1)
}
