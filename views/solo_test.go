package views_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// TestErrorPageNamesTheFields: a field is listed unless its message is the sentence of the page.
func TestErrorPageNamesTheFields(t *testing.T) {
	t.Parallel()
	failure := views.Failure{Status: 422, Message: "The request has invalid values.", Fields: []ui.Fact{
		{Name: "of", Value: "Enter a value: it is required."}, {Name: "depth", Value: "The request has invalid values."},
	}}
	var page bytes.Buffer
	require.NoError(t, views.ErrorPage(views.Page{}, failure).Render(t.Context(), &page))
	require.Contains(t, page.String(), "<li><code>of</code>: Enter a value: it is required.</li>")
	require.NotContains(t, page.String(), "<code>depth</code>")
}
