package forms_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/launchfile"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/forms/formtest"
)

// yamlAndBack writes inputs as a launch file and reads them again.
func yamlAndBack(t *testing.T, schema typeregistry.Schema, inputs map[string]any) map[string]any {
	t.Helper()
	text := launchfile.File{Workflow: "w", Inputs: forms.Given(schema, inputs)}.YAML()
	file, _, problems := launchfile.Parse(text)
	require.Empty(t, problems, text)
	return file.Inputs
}

// TestYAMLAndBack: every example survives the conversion from the form to YAML and back.
func TestYAMLAndBack(t *testing.T) {
	t.Parallel()
	for _, e := range forms.Examples() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			schema := schemaOf(t, field("it", e.Expression))
			sent := formtest.Submit(draw(t, forms.Config{Schema: schema, Values: schema.EncodeForm(map[string]any{"it": decodeJSON(t, e.Value)}, forms.Prefix), Today: today}))
			inputs, problems := schema.DecodeForm(typeregistry.Form{Values: sent}, forms.Prefix)
			require.Empty(t, problems)

			values, problems := forms.ToForm(schema, yamlAndBack(t, schema, inputs))
			require.Empty(t, problems)
			again, problems := schema.DecodeForm(typeregistry.Form{Values: formtest.Submit(draw(t, forms.Config{Schema: schema, Values: values, Today: today}))}, forms.Prefix)
			require.Empty(t, problems)
			a, _ := schema.CheckAll(inputs, typeregistry.Env{})
			b, _ := schema.CheckAll(again, typeregistry.Env{})
			require.JSONEq(t, encodeJSON(t, a), encodeJSON(t, b))
		})
	}
}

func TestYAMLKeepsNonsense(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t, field("epochs", "Integer"), field("tags", "List<String>"))
	inputs, _ := schema.DecodeForm(typeregistry.Form{Values: url.Values{"inputs.epochs": {"many"}, "inputs.tags.0": {"a"}}}, forms.Prefix)
	values, problems := forms.ToForm(schema, yamlAndBack(t, schema, inputs))
	require.Empty(t, problems)
	require.Equal(t, "many", values.Get("inputs.epochs"))
}

func TestValuesThatTheFormCannotShow(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t, field("tags", "List<String>"), field("w", "Map<String, Integer>"))
	for text, path := range map[string]string{
		`{"tags": "a"}`: "tags", `{"tags": {"a": 1}}`: "tags", `{"w": [1]}`: "w", `{"colour": 1}`: "colour",
	} {
		_, problems := forms.ToForm(schema, decodeJSON(t, text).(map[string]any))
		require.Len(t, problems, 1, text)
		require.Equal(t, path, problems[0].Path)
		require.NotEmpty(t, problems[0].Message)
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t,
		map[string]any{"name": "epochs", "type": "Integer", "default": 20}, field("name", "String"), field("layers", "List<Integer>"), field("data", "Dataset"))
	defaults := forms.Defaults(schema, typeregistry.Env{})
	inputs := map[string]any{"epochs": decodeJSON(t, "20"), "name": "it's \"5\"", "layers": decodeJSON(t, "[1,2]"), "data": decodeJSON(t, `{"$catalogue": "m@1"}`)}

	link := forms.Link(schema, inputs, defaults)
	require.False(t, link.Has("input.epochs"), "defaults are left out")
	parsed, err := url.ParseQuery(link.Encode())
	require.NoError(t, err)
	back, unknown := forms.FromLink(schema, parsed)
	require.Empty(t, unknown)
	delete(inputs, "epochs")
	a, _ := schema.CheckAll(inputs, typeregistry.Env{})
	b, problems := schema.CheckAll(back, typeregistry.Env{})
	require.Empty(t, problems)
	require.JSONEq(t, encodeJSON(t, a), encodeJSON(t, b))

	_, unknown = forms.FromLink(schema, url.Values{"input.gone": {"1"}, "version": {"1.0.0"}})
	require.Equal(t, []string{"gone"}, unknown)
}

func TestParticular(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t, map[string]any{"name": "epochs", "type": "Integer", "default": 20}, map[string]any{"name": "rate", "type": "Float", "default": 0.1})
	defaults := forms.Defaults(schema, typeregistry.Env{})
	require.Equal(t, "All defaults", forms.Particular(schema, defaults, defaults))
	require.Equal(t, "Epochs 5", forms.Particular(schema, map[string]any{"epochs": decodeJSON(t, "5"), "rate": decodeJSON(t, "0.1")}, defaults))
}
