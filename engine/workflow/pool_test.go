package workflow

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/typeregistry"
)

const pooled = `
name: pooled
version: 1.0.0
operators:
  - name: train
    type: shell
    pool: gpu-lab
    labels: {zone: a}
    code: {script: "true"}
`

// The pool and its labels are part of a version, and conflict with what only pods have.
func TestPools(t *testing.T) {
	t.Parallel()
	d := mustParse(t, pooled)
	require.Equal(t, "gpu-lab", d.Operators[0].Pool)
	require.Equal(t, map[string]string{"zone": "a"}, d.Operators[0].PoolLabels)
	data, _, err := d.Canonical()
	require.NoError(t, err)
	require.Contains(t, string(data), `"pool":"gpu-lab","labels":{"zone":"a"}`)
	for what, c := range map[string]struct{ old, replacement, path string }{
		"a bad name":     {"pool: gpu-lab", "pool: GPU lab", "operators[0].pool"},
		"a bad label":    {"{zone: a}", "{zone: \"a b\"}", "operators[0].labels.zone"},
		"labels alone":   {"    pool: gpu-lab\n", "", "operators[0].labels"},
		"a warm pod":     {"    labels:", "    resident: true\n    labels:", "operators[0].resident"},
		"a gang":         {"    labels:", "    resources: {pods: 2}\n    labels:", "operators[0].resources.pods"},
		"an image":       {"{script: \"true\"}", "{image: alpine, script: \"true\"}", "operators[0].code.image"},
		"fields of pods": {"    labels:", "    pod: {nodeSelector: {a: b}}\n    labels:", "operators[0].pod"},
	} {
		_, problems := Parse([]byte(strings.Replace(pooled, c.old, c.replacement, 1)), typeregistry.Builtin())
		var paths []string
		for _, p := range problems {
			paths = append(paths, p.Path)
		}
		require.Contains(t, paths, c.path, what)
	}
}
