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

func TestTheSignatureLeavesOutWhatOnlyTheFormShows(t *testing.T) {
	t.Parallel()
	for annotation, want := range map[string]string{
		"int": "int",
		`Annotated[Dataset, Format("csv"), Label("Training, data"), Section("Data"), Order(1)]`:                        `Annotated[Dataset, Format("csv")]`,
		`Annotated[Literal["mlp", "softmax"], Section("Model and training"), Order(1), Advanced()]`:                    `Literal["mlp", "softmax"]`,
		`Annotated[float, flowforge.Range(1e-4, 1, log=True), "The \"size\", of a step", flowforge.Hidden()]`:          `Annotated[float, flowforge.Range(1e-4, 1, log=True)]`,
		`Annotated[Optional[int], Range(1, 50), RequiredIf("kind == 'forest'"), ShowIf('kind == "forest"'), Order(2)]`: `Annotated[Optional[int], Range(1, 50), RequiredIf("kind == 'forest'"), ShowIf('kind == "forest"')]`,
	} {
		require.Equal(t, want, typeOf(annotation))
	}
}
