package space_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/sweep/space"
)

func TestUnknownPathsSuggestOne(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"epoch":        `There is no input "epoch". Did you mean "epochs"?`,
		"width":        `There is no input "width". Did you mean "model.width"?`,
		"momentum":     `There is no input "momentum". Enter one of: lr, epochs, optimizer, key, seed, day, model.`,
		"model.with":   `model has no "with". Did you mean "width"?`,
		"model.height": `model has no "height". Enter one of: width, rate, layers.`,
	} {
		_, message := space.TypeAt(schema(t), path)
		require.Equal(t, want, message)
	}
}
