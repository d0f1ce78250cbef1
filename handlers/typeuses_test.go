package handlers_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestATypeNamesItsWorkflows: and says when it did not search all of them.
func TestATypeNamesItsWorkflows(t *testing.T) {
	t.Parallel()
	b := setup(t)
	add := func(name, kind string) {
		b.register(t, fmt.Sprintf("name: %s\nversion: 1.0.0\ninputs: [{name: picture, type: %s}]\noperators: [{name: a, type: noop}]", name, kind))
	}
	read := func() string {
		page := b.member.get(t, "/types/Image")
		require.Equal(t, http.StatusOK, page.status, page.body)
		return page.body
	}
	require.Contains(t, read(), "No workflow uses this type yet.")
	add("flow.000", "Image")
	for i := 1; i < 100; i++ {
		add(fmt.Sprintf("flow.%03d", i), "String")
	}
	full := read()
	require.Contains(t, full, `href="/workflows/flow.000"`)
	require.NotContains(t, full, "were searched")
	add("flow.100", "Image")
	cut := read()
	require.Contains(t, cut, "Only the first 100 workflows, by name, were searched.")
	require.NotContains(t, cut, "flow.100")
}
