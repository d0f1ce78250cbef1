package workflow

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/typeregistry"
)

// TestApprovalsListTheirOptions: an approval is answered by another user than the launcher, so its form
// has no options from outside of the definition.
func TestApprovalsListTheirOptions(t *testing.T) {
	t.Parallel()
	parse := func(options string) map[string]string {
		_, problems := Parse([]byte("name: asked\nversion: 1.0.0\noperators:\n  - {name: ask, type: approval, approval: {form: [{name: stage, type: String, options: "+options+"}]}}\n"), typeregistry.Builtin())
		out := map[string]string{}
		for _, p := range problems {
			out[p.Path] = p.Message
		}
		return out
	}
	require.Empty(t, parse("[test, production]"))
	require.Contains(t, parse("{from: models}")["operators[0].approval.form[0].options"], "Options of stage come from a query.")
	require.Contains(t, parse(`{http: "https://x.example/"}`)["operators[0].approval.form[0].options"], "an endpoint")
}
