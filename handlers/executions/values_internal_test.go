package executions

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
)

// TestFilesOfValues: a composite value links to the files in it, by their places.
func TestFilesOfValues(t *testing.T) {
	t.Parallel()
	typ, err := typeregistry.Builtin().Parse("List<Struct{title: String, image: Image}>")
	require.NoError(t, err)
	const id = "01a20ed6-0642-7cf9-a767-37d43b5c9263"
	entry := func() any {
		return map[string]any{"title": "loss", "image": map[string]any{"$artifact": id}}
	}
	value := valueOf("plots", typ, []any{entry(), entry()})
	require.Equal(t, []views.Value{
		{URL: views.ArtifactURL(id), Artifact: id, Text: "[0].image"},
		{URL: views.ArtifactURL(id), Artifact: id, Text: "[1].image"},
	}, value.Files)
	require.Contains(t, value.Code, `"title"`)

	many := make([]any, filesShown+3)
	for i := range many {
		many[i] = entry()
	}
	value = valueOf("plots", typ, many)
	require.Len(t, value.Files, filesShown)
	require.Equal(t, "and 3 more", value.MoreFiles)
	require.True(t, strings.HasPrefix(value.Code, "["))
}
