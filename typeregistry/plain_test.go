package typeregistry_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/typeregistry"
)

// TestPlainly: a type that is made of its kind alone checks values like a parsed one.
func TestPlainly(t *testing.T) {
	t.Parallel()
	for _, kind := range []typeregistry.Kind{typeregistry.KindJSON, typeregistry.KindFile, typeregistry.KindDirectory} {
		require.NotNil(t, typeregistry.Plainly(kind), kind)
	}
	v, problems := typeregistry.Plainly(typeregistry.KindJSON).Normalize(map[string]any{"rows": true})
	require.Empty(t, problems)
	require.Equal(t, map[string]any{"rows": true}, v)
	require.Nil(t, typeregistry.Plainly("Nothing"))
}
