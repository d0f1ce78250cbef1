package stored_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/execution/stored"
)

func TestOneValue(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"5", " 5 ", "5\n"} {
		v, err := stored.Value(text)
		require.NoError(t, err, text)
		require.Equal(t, json.Number("5"), v)
	}
	for _, text := range []string{"5}", "5]", "5 6", "[1]]", "5,"} {
		_, err := stored.Value(text)
		require.ErrorContains(t, err, "more than one JSON value", text)
	}
}
