package forms

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDeepNamesAreSkipped: each level of a name is a name of its own, so a name of a few hundred
// kilobytes would fill the memory.
func TestDeepNamesAreSkipped(t *testing.T) {
	t.Parallel()
	names, rows := index(url.Values{
		"inputs" + strings.Repeat(".a", 100_000): {"1"},
		"inputs." + strings.Repeat("a", 100_000): {"1"},
		"inputs.rates.1":                         {"1"}, "inputs.rates.0": {"1"},
	})
	require.Equal(t, map[string]bool{"inputs": true, "inputs.rates": true, "inputs.rates.0": true, "inputs.rates.1": true}, names)
	require.Equal(t, map[string][]int{"inputs.rates": {0, 1}}, rows)
}
