package artifacts

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
)

// TestInputsOfTheLineageAreLinks: a dataset, a feature set, a model and an artifact lead to their pages.
func TestInputsOfTheLineageAreLinks(t *testing.T) {
	t.Parallel()
	const id = "0192f0c4-7a6e-7cc1-9a51-3f6f8a1f2b11"
	field := func(name string, kind typeregistry.Kind) typeregistry.Field {
		return typeregistry.Field{Name: name, Type: &typeregistry.Type{Kind: typeregistry.KindOptional, Elem: &typeregistry.Type{Kind: kind}}}
	}
	entry := func(ref string) any { return map[string]any{"$catalogue": ref} }
	steps := inputSteps(map[string]any{
		"train": entry("letters@3"), "signals": entry("signals@1"), "base": entry("digits@7"), "warm": entry(id),
		"earlier": map[string]any{"$artifact": id}, "rate": 0.1,
	}, []typeregistry.Field{
		field("train", typeregistry.KindDataset), field("signals", typeregistry.KindFeatureSet), field("base", typeregistry.KindModel),
		field("warm", typeregistry.KindModel), field("earlier", typeregistry.KindDataset), field("rate", typeregistry.KindFloat),
	})
	urls := map[string]string{}
	for _, s := range steps {
		urls[s.What] = s.URL
	}
	require.Equal(t, map[string]string{
		"Input train": "/datasets/letters?version=3", "Input signals": "/feature-sets/signals?version=1", "Input base": "/models/digits?version=7",
		"Input warm": views.ArtifactURL(id), "Input earlier": views.ArtifactURL(id),
	}, urls)
}
