package amount

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/quota/fair"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		resource fair.Resource
		typed    string
		want     int64
	}{
		{fair.CPU, "0.5", 500}, {fair.CPU, "500m", 500}, {fair.CPU, "2 cores", 2000}, {fair.Memory, "16", 16 << 10}, {fair.Memory, "512 MiB", 512},
		{fair.Storage, "1.5 TiB", 3 << 19}, {fair.OfType("A100"), " 12 ", 12}, {fair.OfType("A100"), "12 A100", 12}, {fair.Executions, "1,000", 1000},
	} {
		got, message := Parse(test.resource, test.typed)
		require.Empty(t, message, test.typed)
		require.Equal(t, test.want, got, test.typed)
	}
	for typed, resource := range map[string]fair.Resource{
		"a few": fair.GPU, "": fair.GPU, "1.5": fair.Pods, "-1": fair.CPU, "3 litres": fair.Memory, "1e9": fair.GPU, "1,5": fair.CPU, "99999999999999": fair.GPU, "2 H100": fair.OfType("A100"),
	} {
		_, message := Parse(resource, typed)
		require.NotEmpty(t, message, typed)
	}
}
