package workflow

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestYAMLOfKubernetes: an object of Kubernetes is read as its own parser reads it, other
// documents by the rules of YAML 1.2.
func TestYAMLOfKubernetes(t *testing.T) {
	t.Parallel()
	const scalars = "a: [yes, On, n, 010, 0o10, 1_000, 1.10, 1e3, 08, 1:30, 2001-01-01, true, +1]\n" +
		"quoted: ['yes', \"010\", '1.10']\nblock: |\n  yes\non: key\n010: eight\nanchored: &x off\nagain: *x\nwords: yes and no\n"
	v, err := decodeYAML([]byte("apiVersion: argoproj.io/v1alpha1\n" + scalars))
	require.NoError(t, err)
	object, _ := v.(map[string]any)
	require.Equal(t, []any{
		true, true, false, json.Number("8"), json.Number("8"), json.Number("1000"), json.Number("1.1"), json.Number("1000"), json.Number("8"), "1:30", "2001-01-01", true, json.Number("1"),
	}, object["a"])
	require.Equal(t, []any{"yes", "010", "1.10"}, object["quoted"])
	require.Equal(t, "yes\n", object["block"])
	require.Equal(t, "key", object["true"])
	require.Equal(t, "eight", object["8"])
	require.Equal(t, false, object["again"])
	require.Equal(t, "yes and no", object["words"])

	v, err = decodeYAML([]byte(scalars))
	require.NoError(t, err)
	object, _ = v.(map[string]any)
	require.Equal(t, []any{"yes", "On", "n"}, object["a"].([]any)[:3]) //nolint:forcetypeassert // the literal above
	require.Equal(t, "key", object["on"])
}
