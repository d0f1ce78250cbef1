package quota

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

func TestParseGPUs(t *testing.T) {
	t.Parallel()
	devices, err := ParseGPUs(" A100:2, H100:1 ")
	require.NoError(t, err)
	require.Equal(t, []fair.Device{{Index: 0, Type: "A100"}, {Index: 1, Type: "A100"}, {Index: 2, Type: "H100"}}, devices)
	for _, none := range []string{"", "none", " "} {
		devices, err = ParseGPUs(none)
		require.NoError(t, err)
		require.Empty(t, devices)
	}
	for _, bad := range []string{"A100", "A100:0", "A100:x", ":4", "A100:2000", "A 100:1", "A100:1,,"} {
		_, err := ParseGPUs(bad)
		require.True(t, apperr.Is(err, apperr.Invalid), bad)
	}
}

func TestNvidiaNames(t *testing.T) {
	t.Parallel()
	devices := parseNvidia("1, NVIDIA H100 80GB HBM3\n0, NVIDIA A100-SXM4-80GB\n2, Tesla V100-PCIE-16GB\n3, NVIDIA GeForce RTX 4090\n4, NVIDIA L40S\nrubbish\n")
	var types []string
	for i, d := range devices {
		require.Equal(t, i, d.Index)
		types = append(types, d.Type)
	}
	require.Equal(t, []string{"A100", "H100", "V100", "RTX-4090", "L40S"}, types)
}
