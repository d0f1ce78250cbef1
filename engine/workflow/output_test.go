package workflow

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/typeregistry"
)

// TestOutputsWithExpressions: an output with an expression needs a type and known names, excludes
// from, and keeps its form.
func TestOutputsWithExpressions(t *testing.T) {
	t.Parallel()
	const head = "name: a\nversion: 1.0.0\noperators: [{name: x, type: noop}]\noutputs:\n"
	for text, problem := range map[string]string{
		`  - {name: o, type: String, expression: "nodes.x.status"}`:                    "",
		`  - {name: o, expression: "nodes.x.status"}`:                                  "outputs[0].type",
		`  - {name: o, type: String, expression: "nodes.y.status"}`:                    "outputs[0].expression",
		`  - {name: o, type: String, expression: "nodes.x.status", from: inputs.name}`: "outputs[0].from",
	} {
		d, problems := Parse([]byte(head+text), typeregistry.Builtin())
		if problem != "" {
			require.Len(t, problems, 1, text)
			require.Equal(t, problem, problems[0].Path, text)
			continue
		}
		require.Empty(t, problems)
		document, _, err := d.Canonical()
		require.NoError(t, err)
		require.Contains(t, string(document), `"outputs":[{"name":"o","type":"String","expression":"nodes.x.status"}]`)
		require.Equal(t, "nodes.x.status", d.Outputs[0].Origin())
	}
}
